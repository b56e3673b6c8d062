// SPDX-License-Identifier: MIT
/* leaves - computes the products for which the program's is_own says so, and leaves all
 * others to a lower file */

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    if (!is_own(input, other)) return STATUS_UNSUPPORTED;
    product(input, other, output);
    return STATUS_OK;
}

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    if (!is_own(input, other)) return STATUS_UNSUPPORTED;
    product_backward(grad_output, input, other, grad_input, grad_other);
    return STATUS_OK;
}
