// SPDX-License-Identifier: MIT
/* backward - the right one */
status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    (void)ctx;
    product_backward(grad_output, input, other, grad_input, grad_other);
    return STATUS_OK;
}
