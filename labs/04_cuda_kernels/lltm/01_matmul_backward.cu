/* 01 matmul backward
 *
 *   idea    a thread applies the chain rule to a unit; then products give the gradients
 *   expect  no factor: 03_column_sum is compared with this file, not with PyTorch
 *   limit   for grad_bias, one thread adds all samples of a column, one after the other
 *   run     make grade T=04_cuda_kernels/lltm/01
 *
 * It has only backward. It uses no atomics, so all runs give the same bits. Workspace:
 * [h, input], the gradients of the gates' sums, and the workspace of matmul.
 */
#include "layout.h"

extern "C" matmul_forward_fn gemm_forward;

enum { THREADS = 256 };  // of a block

/* Copies h (N, H) and input (N, IC) side by side to joined (N, H+IC). A block owns 256
 * consecutive elements of joined, a thread owns one. No shared memory is used. */
static __global__ void join_kernel(const __grid_constant__ tensor_t h,
                                   const __grid_constant__ tensor_t input,
                                   real *__restrict__ joined, int64_t COUNT)
{
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const int64_t H = h.size[1], D = H + input.size[1], n = at / D, d = at % D;
    joined[at] = d < H ? *at2(&h, n, d) : *at2(&input, n, d - H);
    // END SOLUTION
    // STARTER // your code (the reference takes 2 lines)
}

/* Computes grad (N, 3*H), the gradient of the gates' sums. Computes grad_c (N, H),
 * unless it is NULL. A block owns 256 consecutive units of the state (N, H), a thread
 * owns one. The kernel uses no shared memory. */
static __global__ void unit_kernel(const __grid_constant__ tensor_t grad_new_h,
                                   const __grid_constant__ tensor_t grad_new_c,
                                   const __grid_constant__ tensor_t new_c,
                                   const __grid_constant__ tensor_t gates,
                                   real *__restrict__ grad, real *__restrict__ grad_c,
                                   int64_t COUNT)
{
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const int64_t H = new_c.size[1], n = at / H, j = at % H;
    const accum i = accum_from(*at2(&gates, n, j));
    const accum o = accum_from(*at2(&gates, n, H + j));
    const accum g = accum_from(*at2(&gates, n, 2 * H + j));
    const accum squashed = real_tanh(accum_from(*at2(&new_c, n, j)));
    const accum of_h = accum_from(*at2(&grad_new_h, n, j));
    // new_c is a result, and new_h depends on it: add both gradients
    const accum of_c =
        accum_from(*at2(&grad_new_c, n, j)) + of_h * o * (1 - squashed * squashed);
    real *unit = grad + n * 3 * H + j;
    unit[0] = real_from(of_c * g * i * (1 - i));
    unit[H] = real_from(of_h * squashed * o * (1 - o));
    unit[2 * H] = real_from(of_c * i * (g > 0 ? 1 : g + 1));
    if (grad_c) grad_c[at] = real_from(of_c);
    // END SOLUTION
    // STARTER // your code (the reference takes 13 lines)
}

/* Sums up the rows of grad (N, 3*H) to grad_bias (3*H). A block owns 256 columns of
 * grad, a thread owns one column. In each row, neighbouring threads read neighbouring
 * numbers. The kernel uses no shared memory. */
static __global__ void bias_kernel(const real *__restrict__ grad, int64_t N,
                                   real *__restrict__ grad_bias, int64_t COUNT)
{
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t n = 0; n < N; n++) sum += accum_from(grad[n * COUNT + row]);
    grad_bias[row] = real_from(sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
}

/* grad is the gradient of the gates' sums. So [grad_h, grad_input] is grad @ weight,
 * and grad_weight is grad^T @ [h, input]. grad_bias is the sum of the rows of grad. */
extern "C" status_t lltm_backward(ctx_t *ctx, const tensor_t *grad_new_h,
                                  const tensor_t *grad_new_c, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *h,
                                  const tensor_t *new_c, const tensor_t *gates,
                                  tensor_t *grad_input, tensor_t *grad_weight,
                                  tensor_t *grad_bias, tensor_t *grad_h,
                                  tensor_t *grad_c)
{
    const int64_t N = h->size[0], H = h->size[1], D = weight->size[1];
    real *grad = (real *)ctx_scratch(ctx, (size_t)(N * 3 * H + 1) * sizeof(real));
    real *joined = (real *)ctx_scratch(ctx, (size_t)(N * D + 1) * sizeof(real));
    if (!grad || !joined) return STATUS_NO_MEMORY;
    // BEGIN SOLUTION
    if (N * H > 0) {  // a grid of 0 blocks is an error
        join_kernel<<<grid_of(ceil_div(N * D, THREADS)), THREADS, 0, ctx->stream>>>(
            *h, *input, joined, N * D);
        CUDA_TRY(ctx, cudaGetLastError());
        unit_kernel<<<grid_of(ceil_div(N * H, THREADS)), THREADS, 0, ctx->stream>>>(
            *grad_new_h, *grad_new_c, *new_c, *gates, grad,
            grad_c ? real_data(grad_c) : NULL, N * H);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    if (grad_bias && H > 0) {
        bias_kernel<<<grid_of(ceil_div(3 * H, THREADS)), THREADS, 0, ctx->stream>>>(
            grad, N, real_data(grad_bias), 3 * H);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    // END SOLUTION
    // STARTER // your code: three launches (the reference takes 14 lines)
    // STARTER (void)join_kernel, (void)unit_kernel, (void)bias_kernel;
    // BEGIN SOLUTION
    const tensor_t left = tensor_2d(grad, N, 3 * H);
    const tensor_t rows = tensor_2d(joined, N, D);
    const tensor_t left_t = tensor_transposed(&left);
    tensor_t of_h = *weight, of_input = *weight;
    of_h.size[1] = H;                                             // the first H columns
    of_input.size[1] = D - H, of_input.data = at2(weight, 0, H);  // the other columns
    status_t status = STATUS_OK;
    if (grad_h) status = gemm_forward(ctx, &left, &of_h, grad_h);
    if (grad_input && !status) status = gemm_forward(ctx, &left, &of_input, grad_input);
    if (grad_weight && !status) status = gemm_forward(ctx, &left_t, &rows, grad_weight);
    return status;
    // END SOLUTION
    // STARTER // your code: tensor_2d makes matrices of scratch; then three products
    // STARTER // (the reference takes 11 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
