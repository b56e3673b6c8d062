/* 03 half
 *
 *   idea    tensor cores multiply halves; the sums are float and start at the bias
 *   expect  it needs 3.2 instructions for each mma (nvcc 13); no time is measured yet
 *   limit   mma.sync reaches two thirds of the tensor cores' peak
 *   run     make grade T=04_cuda_kernels/linear/03
 *
 * The bias is part of the sum, so each output is rounded to half only once. The file
 * covers f16, and rows of whole packs: 8 neighbouring halves.
 */
#include "packs.h"
#include "ptx.h"

enum { BM = 128, BN = 128, BK = 32, WM = 64, WN = 64, WARP = 32, STAGES = 4 };
enum { THREADS = BM / WM * (BN / WN) * WARP, BLOCKS_PER_SM = 2 };
enum { TILE = BK * BM, BYTES = STAGES * 2 * TILE * sizeof(__half) };
typedef packs_t<__half, true, BK, THREADS> packs;  // packs of both operands run along k
typedef float sums[WM / 16][WN / 8][4];            // of a thread, see mma in ptx.h

/* Starts to copy the next tile: `count` columns of a matrix, and zeros outside of them.
 * A thread copies COPIES packs of 16 bytes that are APART rows of the tile apart. */
static __device__ void fetch(source_t<__half> *from, int count, __half *tile)
{
    // BEGIN SOLUTION
#pragma unroll
    for (int i = 0; i < packs::COPIES; i++) {
        __half *to = tile + from->to + i * packs::APART * packs::PITCH;
        const bool inside = from->k < count && i * packs::APART < from->rows;
        ptx::cp_async_zfill<16>(to, from->next + i * from->apart, inside ? 16 : 0);
    }
    from->next += BK;
    // END SOLUTION
    // STARTER // your code: cp_async_zfill in a loop (the reference takes 6 lines)
}

/* Adds to sum the input tile's rows from wm on, times the weight tile's rows from wn
 * on. ldmatrix loads four blocks of 8 x 8 numbers. Lane l gives the address of row l %
 * 8 of block l / 8. mma needs block 1 of input below block 0, and block 1 of weight to
 * the right of block 0. */
static __device__ void multiply(sums &sum, const __half *tiles, int wm, int wn)
{
    // BEGIN SOLUTION
    const int half = threadIdx.x / 8 % 2 * 8, other = threadIdx.x / 16 % 2 * 8;
    const int m = wm + threadIdx.x % 8 + half, n = wn + threadIdx.x % 8 + other;
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
        unsigned a[WM / 16][4], b[WN / 16][4];
        for (int i = 0; i < WM / 16; i++)
            ptx::ldmatrix(a[i], tiles + packs::place(m + 16 * i, k + other));
        for (int j = 0; j < WN / 16; j++)
            ptx::ldmatrix(b[j], tiles + TILE + packs::place(n + 16 * j, k + half));
        for (int i = 0; i < WM / 16; i++) {
            for (int j = 0; j < WN / 8; j++) {
                const unsigned *of = b[j / 2] + j % 2 * 2;
                ptx::mma_f16(sum[i][j], a[i], {of[0], of[1]}, sum[i][j]);
            }
        }
    }
    // END SOLUTION
    // STARTER // your code: as multiply in matmul/12 (the reference takes 15 lines)
}

/* Sets the sums of column n to bias[n], or to 0 if bias is NULL or n >= columns. */
static __device__ void begin(sums &sum, const real *bias, int64_t stride,
                             int64_t columns)
{
    // BEGIN SOLUTION
    for (int j = 0; j < WN / 4; j++) {
        const int n = j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2;
        const float start = bias && n < columns ? accum_from(bias[n * stride]) : 0;
        for (int i = 0; i < WM / 16; i++)
            sum[i][j / 2][j % 2] = sum[i][j / 2][j % 2 + 2] = start;
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
}

/* Computes output (R, OC) = input (R, IC) @ weight (OC, IC)^T + bias (OC). A block owns
 * 128 x 128 outputs, a warp 64 x 64 of them. A thread owns 4 of each 16 x 8.
 * Shared memory: a block needs 4 stages of 2 tiles of 128 x 32 halves, 65536 bytes. */
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    linear_kernel(matrix_t input, matrix_t weight, const real *__restrict__ bias,
                  int64_t bias_stride, __half *__restrict__ output)
{
    extern __shared__ __align__(128) __half shared[];
    const int64_t R = input.rows, OC = weight.rows, IC = input.columns;
    const tile_place_t at =
        place_of_tile(blockIdx.x, ceil_div(R, BM), ceil_div(OC, BN));
    const int64_t m0 = at.row * BM, n0 = at.column * BN;
    source_t<__half> left = packs::source(&input, m0);
    source_t<__half> right = packs::source(&weight, n0);
    const int warp = threadIdx.x / WARP;
    const int wm = warp / (BN / WN) * WM, wn = warp % (BN / WN) * WN;
    const int64_t rows = R - m0 - wm, columns = OC - n0 - wn;  // the rest of the matrix
    const bool is_outside = rows <= 0 || columns <= 0;
    const int STEPS = (int)ceil_div(IC, BK);
    const int LAST = (int)(IC - (STEPS - 1) * (int64_t)BK);  // k of the last step
    sums sum;
    begin(sum, bias ? bias + (n0 + wn) * bias_stride : NULL, bias_stride, columns);
    // BEGIN SOLUTION
    int stage = 0;  // the next copies go to this stage; stage + 1 has the oldest tiles
    for (int step = 1 - STAGES; step < STEPS; step++) {
        ptx::cp_async_wait<STAGES - 2>();  // this thread's copies for the step are done
        __syncthreads();  // all copies for the step are done, and no thread reads stage
        const int next = step + STAGES - 1, count = next < STEPS - 1 ? BK : LAST;
        __half *to = shared + stage * 2 * TILE;
        if (next < STEPS) fetch(&left, count, to);
        if (next < STEPS) fetch(&right, count, to + TILE);
        ptx::cp_async_commit();  // a group in each step, even if it is empty
        stage = (stage + 1) % STAGES;
        if (step < 0 || is_outside) continue;
        multiply(sum, shared + stage * 2 * TILE, wm, wn);
    }
    // END SOLUTION
    // STARTER // your code: wait, barrier, fetch ahead, commit, multiply
    // STARTER // (the reference takes 13 lines)
    // STARTER (void)fetch, (void)multiply, (void)left, (void)right, (void)shared;
    // STARTER (void)is_outside, (void)LAST;
    store(output + (m0 + wm) * OC + n0 + wn, OC, rows, columns, sum);
}

/* Computes output (R, OC) = input (R, IC) @ weight (OC, IC)^T + bias (OC). */
extern "C" status_t linear_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    tensor_t rows = *input;            // joins all axes but the last
    rows.ndim = 2, rows.size[0] = COUNT / OC, rows.stride[0] = IC;
    rows.size[1] = IC, rows.stride[1] = 1;
    const bool along_k = tensor_is_contiguous(input) && !tensor_is_down(weight);
    const bool packed = tensor_is_packed(&rows) && tensor_is_packed(weight);
    if (REAL_DTYPE != DTYPE_F16 || !along_k || !packed || OC % 8 != 0)
        return STATUS_UNSUPPORTED;
    const unsigned blocks = grid_of(ceil_div(COUNT / OC, BM) * ceil_div(OC, BN));
    const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(ctx, cudaFuncSetAttribute(linear_kernel, most, BYTES));
    linear_kernel<<<blocks, THREADS, BYTES, ctx->stream>>>(
        matrix_of(&rows, 0), matrix_of(weight, 0), bias ? real_data(bias) : NULL,
        bias ? bias->stride[0] : 0, (__half *)output->data);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
