/* 00 matmul
 *
 *   idea    multiply input by weight^T, which is a view; then add the bias to each row
 *   expect  no factor: 01_fused_bias is compared with this file, not with PyTorch
 *   limit   the product takes the time; with few input features, adding the bias does
 *   run     make bench T=03_im2col_cpu/linear/00
 *
 * Covers all shapes and strides. Workspace: the workspace of matmul, and a copy of each
 * operand whose rows are not a constant stride apart.
 */
#include "operators.h"

matmul_forward_fn gemm_forward;

/* Joins all axes of t but the last, and returns a matrix (R, D). Copies t if no single
 * stride leads from row to row. If there is no memory for the copy, data is NULL. */
static tensor_t rows_of(ctx_t *ctx, const tensor_t *t)
{
    const int32_t last = t->ndim - 1;
    tensor_t rows = {.data = t->data,
                     .ndim = 2,
                     .size = {tensor_count(t, last), t->size[last]},
                     .stride = {0, t->stride[last]}};
    // BEGIN SOLUTION
    int64_t next = -1;  // the stride that the next axis must have
    for (int32_t d = last - 1; d >= 0; d--) {
        if (t->size[d] == 1) continue;
        if (next >= 0 && t->stride[d] != next) {
            rows.data = (real *)tensor_contiguous(ctx, t);
            rows.stride[0] = t->size[last], rows.stride[1] = 1;
            return rows;
        }
        if (next < 0) rows.stride[0] = t->stride[d];
        next = t->stride[d] * t->size[d];
    }
    // END SOLUTION
    // STARTER // from the inner axis outwards: copy if an axis does not continue them
    // STARTER // (the reference takes 11 lines)
    return rows;
}

/* Returns a view of the transpose: exchanges sizes and strides, copies no element. */
static tensor_t transposed(tensor_t matrix)
{
    tensor_t view = matrix;
    // BEGIN SOLUTION
    view.size[0] = matrix.size[1], view.size[1] = matrix.size[0];
    view.stride[0] = matrix.stride[1], view.stride[1] = matrix.stride[0];
    // END SOLUTION
    // STARTER // your code (the reference takes 2 lines)
    return view;
}

/* output[r,oc] = bias[oc] + sum over ic of input[r,ic] * weight[oc,ic] */
status_t linear_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, tensor_t *output)
{
    if (tensor_numel(output) == 0) return STATUS_OK;
    // BEGIN SOLUTION
    const tensor_t lhs = rows_of(ctx, input),
                   rhs = transposed(*weight);  // (R, IC) (IC, OC)
    tensor_t sums = rows_of(ctx, output);      // (R, OC)
    if (!lhs.data && tensor_numel(input) > 0) return STATUS_NO_MEMORY;

    const status_t status = gemm_forward(ctx, &lhs, &rhs, &sums);
    if (!bias) return status;
    for (int64_t r = 0; r < sums.size[0]; r++) {
        for (int64_t oc = 0; oc < sums.size[1]; oc++)
            *at2(&sums, r, oc) += *at1(bias, oc);
    }
    return status;
    // END SOLUTION
    // STARTER // one product, then the bias for each row (the reference takes 11 lines)
    // STARTER (void)rows_of, (void)transposed;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* grad_input = grad_output @ weight, grad_weight = grad_output^T @ input,
 * grad_bias = sum of the rows of grad_output */
status_t linear_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, tensor_t *grad_input,
                         tensor_t *grad_weight, tensor_t *grad_bias)
{
    const tensor_t grad = rows_of(ctx, grad_output), rows = rows_of(ctx, input);
    const int none = tensor_numel(grad_output) == 0 || tensor_numel(input) == 0;
    if (!none && (!grad.data || !rows.data)) return STATUS_NO_MEMORY;

    // BEGIN SOLUTION
    status_t status = STATUS_OK;
    if (grad_input) {
        tensor_t sums = rows_of(ctx, grad_input);  // (R, IC)
        status = gemm_forward(ctx, &grad, weight, &sums);
    }
    if (grad_weight && status == STATUS_OK) {
        const tensor_t columns = transposed(grad);  // (OC, R)
        status = gemm_forward(ctx, &columns, &rows, grad_weight);
    }
    if (!grad_bias) return status;
    real *restrict sums = real_data(grad_bias);  // (OC)
    for (int64_t oc = 0; oc < grad.size[1]; oc++) sums[oc] = 0;
    for (int64_t r = 0; r < grad.size[0]; r++) {
        for (int64_t oc = 0; oc < grad.size[1]; oc++) sums[oc] += *at2(&grad, r, oc);
    }
    return status;
    // END SOLUTION
    // STARTER // compute two products and a sum of rows (the reference takes 16 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
