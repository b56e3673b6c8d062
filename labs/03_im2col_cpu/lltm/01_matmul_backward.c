/* 01 matmul backward
 *
 *   idea    first compute the gradients of the gates' sums; then use linear's backward
 *   expect  no factor: 03_vector_backward is compared with this file, not with PyTorch
 *   limit   the loop computes one unit at a time, and calls libm's tanh for each unit
 *   run     make bench T=03_im2col_cpu/lltm/01
 *
 * Computes backward for all shapes and strides. Workspace: the matrix [h, input], the
 * gradients of the gates' sums, and the workspace of matmul.
 */
#include "operators.h"

matmul_forward_fn gemm_forward;

/* Returns a contiguous matrix (R, D) whose first element is data[0]. */
static tensor_t matrix(real *data, int64_t R, int64_t D)
{
    return (tensor_t){data, 2, REAL_DTYPE, DEVICE_CPU, {R, D}, {D, 1}};
}

/* Returns a view of the transpose of `matrix`. No element is copied. */
static tensor_t transposed(tensor_t matrix)
{
    tensor_t view = matrix;
    // BEGIN SOLUTION
    view.size[0] = matrix.size[1], view.size[1] = matrix.size[0];
    view.stride[0] = matrix.stride[1], view.stride[1] = matrix.stride[0];
    // END SOLUTION
    // STARTER // exchange the sizes and the strides (the reference takes 2 lines)
    return view;
}

/* Joins h and input to one matrix (N, H+IC). If there is no memory, data is NULL. */
static tensor_t joined(ctx_t *ctx, const tensor_t *h, const tensor_t *input)
{
    // BEGIN SOLUTION
    const int64_t N = h->size[0], H = h->size[1], IC = input->size[1];
    real *to = ctx_scratch(ctx, (size_t)(N * (H + IC) + 1) * sizeof(real));
    const tensor_t rows = matrix(to, N, H + IC);
    if (!to) return rows;
    for (int64_t n = 0; n < N; n++) {
        for (int64_t j = 0; j < H; j++) *to++ = *at2(h, n, j);
        for (int64_t ic = 0; ic < IC; ic++) *to++ = *at2(input, n, ic);
    }
    return rows;
    // END SOLUTION
    // STARTER // as in 00_matmul (the reference takes 9 lines)
    // STARTER (void)matrix;
    // STARTER return (tensor_t){0};  // as if there were no memory
}

/* Applies the chain rule to forward's formulas, from last to first. This gives `grad`
 * (N, 3*H), the gradient of [h, input] @ weight^T. Then follows linear's backward. */
status_t lltm_backward(ctx_t *ctx, const tensor_t *grad_new_h,
                       const tensor_t *grad_new_c, const tensor_t *input,
                       const tensor_t *weight, const tensor_t *h, const tensor_t *new_c,
                       const tensor_t *gates, tensor_t *grad_input,
                       tensor_t *grad_weight, tensor_t *grad_bias, tensor_t *grad_h,
                       tensor_t *grad_c)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    const int64_t N = h->size[0], H = h->size[1];
    const tensor_t rows = joined(ctx, h, input);
    real *sums = ctx_scratch(ctx, (size_t)(N * 3 * H + 1) * sizeof(real));
    if (!rows.data || !sums) return STATUS_NO_MEMORY;
    const tensor_t grad = matrix(sums, N, 3 * H);  // gradient of preact
    // BEGIN SOLUTION
    for (int64_t at = 0; at < N * H; at++) {
        const int64_t n = at / H, j = at % H;
        const accum i = *at2(gates, n, j), o = *at2(gates, n, H + j);
        const accum g = *at2(gates, n, 2 * H + j), slope = g > 0 ? 1 : g + 1;
        const accum squashed = real_tanh(*at2(new_c, n, j));
        const accum grad_o = *at2(grad_new_h, n, j) * squashed;
        const accum inner = *at2(grad_new_h, n, j) * o * (1 - squashed * squashed);
        const accum grad_state = *at2(grad_new_c, n, j) + inner;
        if (grad_c) *at2(grad_c, n, j) = grad_state;
        *at2(&grad, n, j) = grad_state * g * i * (1 - i);
        *at2(&grad, n, H + j) = grad_o * o * (1 - o);
        *at2(&grad, n, 2 * H + j) = grad_state * i * slope;
    }
    // END SOLUTION
    // STARTER // for each unit: the chain rule in reverse, to grad_c and grad
    // STARTER // (the reference takes 13 lines)
    // STARTER (void)grad;
    // BEGIN SOLUTION
    if (grad_bias) {
        for (int64_t row = 0; row < 3 * H; row++) {
            accum sum = 0;
            for (int64_t n = 0; n < N; n++) sum += *at2(&grad, n, row);
            *at1(grad_bias, row) = sum;
        }
    }
    // END SOLUTION
    // STARTER // compute grad_bias, a sum over samples (the reference takes 7 lines)
    // BEGIN SOLUTION
    // the first H columns of weight belong to h, the rest to input
    tensor_t of_h = *weight, of_input = *weight;
    of_h.size[1] = H, of_input.size[1] = input->size[1];
    of_input.data = at2(weight, 0, H);
    const tensor_t columns = transposed(grad);
    status_t status = STATUS_OK;
    if (grad_h) status = gemm_forward(ctx, &grad, &of_h, grad_h);
    if (grad_input && status == STATUS_OK)
        status = gemm_forward(ctx, &grad, &of_input, grad_input);
    if (grad_weight && status == STATUS_OK)
        status = gemm_forward(ctx, &columns, &rows, grad_weight);
    return status;
    // END SOLUTION
    // STARTER // the first H columns of weight belong to h, the rest to input: compute
    // STARTER // the three products that are wanted (the reference takes 11 lines)
    // STARTER (void)transposed;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
