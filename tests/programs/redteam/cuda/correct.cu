// SPDX-License-Identifier: MIT
/* correct - no fault */
#include "frame.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    return product(ctx, input, other, output);
}

extern "C" status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *other,
                                    tensor_t *grad_input, tensor_t *grad_other)
{
    const tensor_t lhs = tensor_transposed(input), rhs = tensor_transposed(other);
    status_t status = STATUS_OK;
    if (grad_input) status = product(ctx, grad_output, &rhs, grad_input);
    if (status != STATUS_OK || !grad_other) return status;
    return product(ctx, &lhs, grad_output, grad_other);
}
