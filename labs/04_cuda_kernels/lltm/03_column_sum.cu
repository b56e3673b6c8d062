/* 03 column sum
 *
 *   idea    the threads that compute the gates' gradients also sum them for grad_bias
 *   expect  12 bytes less per unit than 01_matmul_backward; more threads for grad_bias
 *   limit   the products for grad_h, grad_input and grad_weight
 *   run     make grade T=04_cuda_kernels/lltm/03
 *
 * This file has only backward. It uses no atomics, so each run adds in the same order.
 * Workspace: as in 01_matmul_backward, and up to PARTS sums for each bias.
 */
#include "layout.h"

extern "C" matmul_forward_fn gemm_forward;

enum { WIDTH = 32, HEIGHT = 8, THREADS = WIDTH * HEIGHT };  // of a block
enum { PARTS = 64, LEAST = 4 * HEIGHT };  // up to PARTS parts of LEAST or more samples

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

/* Computes grad (N, 3*H), the gradient of the gates' sums. Each row of sums (parts,
 * 3*H) is the sum of ROWS rows of grad. A block owns 32 units of ROWS samples. Thread
 * (ty, tx) owns unit tx of every 8th sample. Then the thread with ty = 0 adds up the 8
 * sums of its unit. blockIdx.x numbers the blocks: all units of the first samples, then
 * of the next. Shared memory: a block needs 3 x 8 x 32 sums, 3072 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    unit_kernel(const __grid_constant__ tensor_t grad_new_h,
                const __grid_constant__ tensor_t grad_new_c,
                const __grid_constant__ tensor_t new_c,
                const __grid_constant__ tensor_t gates, real *__restrict__ grad,
                real *__restrict__ grad_c, accum *__restrict__ sums, int64_t ROWS)
{
    const int64_t N = new_c.size[0], H = new_c.size[1], COLUMNS = ceil_div(H, WIDTH);
    const int tx = threadIdx.x % WIDTH, ty = threadIdx.x / WIDTH;
    const int64_t j = blockIdx.x % COLUMNS * WIDTH + tx, part = blockIdx.x / COLUMNS;
    const int64_t end = (part + 1) * ROWS < N ? (part + 1) * ROWS : N;

    [[maybe_unused]] accum sum[3] = {0, 0, 0};
    for (int64_t n = part * ROWS + ty; n < end; n += HEIGHT) {
        if (j >= H) break;  // the last block may be partly empty
        // BEGIN SOLUTION
        const accum i = accum_from(*at2(&gates, n, j));
        const accum o = accum_from(*at2(&gates, n, H + j));
        const accum g = accum_from(*at2(&gates, n, 2 * H + j));
        const accum squashed = real_tanh(accum_from(*at2(&new_c, n, j)));
        const accum of_h = accum_from(*at2(&grad_new_h, n, j));
        const accum of_c =
            accum_from(*at2(&grad_new_c, n, j)) + of_h * o * (1 - squashed * squashed);
        if (grad_c) grad_c[n * H + j] = real_from(of_c);
        const accum of_gate[3] = {of_c * g * i * (1 - i), of_h * squashed * o * (1 - o),
                                  of_c * i * (g > 0 ? 1 : g + 1)};
        for (int gate = 0; gate < 3; gate++) {
            grad[(n * 3 + gate) * H + j] = real_from(of_gate[gate]);
            sum[gate] += of_gate[gate];
        }
        // END SOLUTION
        // STARTER // your code: the chain rule of 01, and the three sums
        // STARTER // (the reference takes 14 lines)
    }
    // BEGIN SOLUTION
    __shared__ accum partial[3][HEIGHT][WIDTH];
    for (int gate = 0; gate < 3; gate++) partial[gate][ty][tx] = sum[gate];
    __syncthreads();  // all 8 sums of a column are written before one thread reads them
    if (ty > 0 || j >= H) return;
    for (int gate = 0; gate < 3; gate++) {
        for (int y = 1; y < HEIGHT; y++) sum[gate] += partial[gate][y][tx];
        sums[(part * 3 + gate) * H + j] = sum[gate];
    }
    // END SOLUTION
    // STARTER // your code: add up 8 threads into `sums` (the reference takes 8 lines)
}

/* Adds up the rows of sums (MANY, 3*H), in their order, to grad_bias (3*H). A block
 * owns 256 columns, a thread owns one column. No shared memory is used. */
static __global__ void bias_kernel(const accum *__restrict__ sums, int64_t MANY,
                                   real *__restrict__ grad_bias, int64_t COUNT)
{
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t part = 0; part < MANY; part++) sum += sums[part * COUNT + row];
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
    const int64_t share = ceil_div(N, PARTS);
    const int64_t ROWS = share < LEAST ? (int64_t)LEAST : share;
    const int64_t COUNT = ceil_div(N, ROWS);  // the number of parts, 0 if N is 0
    const size_t bytes = (size_t)(COUNT * 3 * H + 1) * sizeof(accum);
    accum *sums = (accum *)ctx_scratch(ctx, bytes);
    if (!grad || !joined || !sums) return STATUS_NO_MEMORY;
    // BEGIN SOLUTION
    if (N * H > 0) {  // a grid of 0 blocks is an error
        join_kernel<<<grid_of(ceil_div(N * D, THREADS)), THREADS, 0, ctx->stream>>>(
            *h, *input, joined, N * D);
        CUDA_TRY(ctx, cudaGetLastError());
        const unsigned blocks = grid_of(ceil_div(H, WIDTH) * COUNT);
        unit_kernel<<<blocks, THREADS, 0, ctx->stream>>>(
            *grad_new_h, *grad_new_c, *new_c, *gates, grad,
            grad_c ? real_data(grad_c) : NULL, sums, ROWS);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    if (grad_bias && H > 0) {
        bias_kernel<<<grid_of(ceil_div(3 * H, THREADS)), THREADS, 0, ctx->stream>>>(
            sums, COUNT, real_data(grad_bias), 3 * H);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    // END SOLUTION
    // STARTER // your code: three launches (the reference takes 15 lines)
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
