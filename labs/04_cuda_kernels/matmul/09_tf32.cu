/* 09 tf32
 *
 *   idea    tensor cores multiply floats that are rounded to TF32, 11 bits of their 24
 *   expect  published: 8x the multiply-adds a second of float units; time not measured
 *   limit   operands whose sums do not run along a row come in copies of 4 bytes
 *   run     make grade T=04_cuda_kernels/matmul/09
 *
 * We round, to nearest: a tensor core takes the first 19 bits of a float and cuts off
 * the rest, up to twice as far off and always towards 0, so that a sum's errors add up.
 */
#include "launch.h"
#include "ptx.h"

extern "C" matmul_forward_fn fallback_forward;  // for f64 and f16

enum { BM = 128, BN = 128, BK = 32, WM = 64, WN = 32, WARP = 32, STAGES = 3 };
enum { THREADS = BM * BN / WM / WN * WARP, TILE = BM * BK, BYTES = 8 * STAGES * TILE };

/* Where number (x, k) of a tile lies; x is m or n. A row is 128 bytes, all 32 banks;
 * ldmatrix reads 4 neighbours in each of 8 rows, which the swizzle (^) keeps apart. */
static __device__ int place(int x, int k)
{
    return x * BK + (k / 4 ^ x % 8) * 4 + k % 4;
}

/* tile (x, k) = matrix (x0 + x, k0 + k), or 0 outside; begun, not waited for. A copy is
 * 4 numbers where all rows allow it, else 1: a warp takes a row, or, if numbers are
 * neighbours down a column, 8 x times 4 k, which are 4 sectors and 32 banks as well. */
static __device__ void fetch(const matrix_t *m, int64_t x0, int64_t k0, float *tile)
{
    // BEGIN SOLUTION
    const bool packed =
        m->column_stride == 1 && m->row_stride % 4 == 0 && (uintptr_t)m->data % 16 == 0;
    const bool down = !packed && m->row_stride < m->column_stride;
    const int COUNT = packed ? 4 : 1;
    for (int i = threadIdx.x * COUNT; i < TILE; i += THREADS * COUNT) {
        const int x = down ? i / 32 % (BM / 8) * 8 + i % 8 : i / BK;
        const int k = down ? i / (4 * BM) * 4 + i / 8 % 4 : i % BK;
        int64_t rest = x0 + x < m->rows ? m->columns - (k0 + k) : 0;
        if (rest < 0) rest = 0;
        const int n = rest < COUNT ? (int)rest : COUNT;
        const real *from = n > 0 ? matrix_at(m, x0 + x, k0 + k) : m->data;
        if (packed) ptx::cp_async_zfill<16>(tile + place(x, k), from, 4 * n);
        if (!packed) ptx::cp_async_zfill<4>(tile + place(x, k), from, 4 * n);
    }
    // END SOLUTION
    // STARTER // your code: cp_async_zfill in a loop (the reference takes 14 lines)
    // STARTER (void)place;
}

/* 16 x 8 numbers of a tile, rounded: r[0] of lane 4g + p is (g, p), r[1] 8 rows below,
 * r[2] and r[3] 4 columns on. To ldmatrix a float is two numbers of 16 bits. */
static __device__ void load(unsigned (&r)[4], const float *tile, int x0, int k)
{
    // BEGIN SOLUTION
    const int lane = threadIdx.x % WARP;
    ptx::ldmatrix(r, tile + place(x0 + lane % 16, k + lane / 16 * 4));
    for (int i = 0; i < 4; i++) r[i] = ptx::to_tf32(__uint_as_float(r[i]));
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
}

/* output (..., M, N) = lhs (..., M, K) @ rhs (..., N, K)^T. A block owns 128 x 128 of
 * output, at (m0, n0) of matrix b, a warp 64 x 32 of it, a thread 4 of each 16 x 8: see
 * ptx.h. Shared memory: 3 stages of 2 tiles of 128 x 32 floats, 98304 bytes. */
static __global__ void __launch_bounds__(THREADS)
    matmul_kernel(const __grid_constant__ tensor_t lhs,
                  const __grid_constant__ tensor_t rhs, real *__restrict__ output,
                  int64_t M, int64_t N, int64_t K)
{
    extern __shared__ __align__(128) float shared[];
    const int64_t TILES_M = ceil_div(M, BM), TILES_N = ceil_div(N, BN);
    const int64_t n0 = blockIdx.x % TILES_N * BN;
    const int64_t m0 = blockIdx.x / TILES_N % TILES_M * BM;
    const int64_t b = blockIdx.x / (TILES_N * TILES_M);
    const matrix_t left = matrix_of(&lhs, b), right = matrix_of(&rhs, b);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int wm = warp / (BN / WN) * WM, wn = warp % (BN / WN) * WN;

    float sum[WM / 16][WN / 8][4] = {};
    // BEGIN SOLUTION
    for (int64_t k0 = (1 - STAGES) * BK; k0 < K; k0 += BK) {
        ptx::cp_async_wait<STAGES - 2>();  // my copies for k0 are done,
        __syncthreads();  // all others' too; and all have read the stage written next
        const int64_t next = k0 + (STAGES - 1) * BK;
        float *to = shared + next / BK % STAGES * 2 * TILE;
        if (next < K) fetch(&left, m0, next, to);
        if (next < K) fetch(&right, n0, next, to + TILE);
        ptx::cp_async_commit();  // one group each time, be it empty
        const float *from = shared + (next / BK + 1) % STAGES * 2 * TILE;  // that of k0
        if (k0 < 0 || m0 + wm >= M || n0 + wn >= N) continue;  // too early, or outside
        for (int k = 0; k < BK; k += 8) {
            unsigned a[WM / 16][4], b[WN / 16][4];
            for (int i = 0; i < WM / 16; i++) load(a[i], from, wm + 16 * i, k);
            for (int j = 0; j < WN / 16; j++) load(b[j], from + TILE, wn + 16 * j, k);
            for (int i = 0; i < WM / 16; i++) {
                for (int j = 0; j < WN / 8; j++) {
                    const unsigned *of = b[j / 2] + j % 2;
                    const unsigned half[2] = {of[0], of[2]};  // 8 n of 16
                    ptx::mma_tf32(sum[i][j], a[i], half, sum[i][j]);
                }
            }
        }
    }
    // END SOLUTION
    // STARTER // your code: wait, meet, fetch ahead, commit, multiply
    // STARTER // (the reference takes 23 lines)
    // STARTER (void)left, (void)right, (void)shared;
    // STARTER (void)fetch, (void)load;
    for (int i = 0; i < WM / 16; i++) {
        for (int j = 0; j < WN / 8; j++) {
            for (int r = 0; r < 4; r++) {
                const int64_t m = m0 + wm + 16 * i + r / 2 * 8 + lane / 4;
                const int64_t n = n0 + wn + 8 * j + lane % 4 * 2 + r % 2;
                if (m < M && n < N) {
                    output[(b * M + m) * N + n] = real_from(sum[i][j][r]);
                }
            }
        }
    }
}

/* output = input (..., M, K) @ other (..., K, N), matrix by matrix, on the stream */
extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    const int64_t M = output->size[output->ndim - 2];
    const int64_t N = output->size[output->ndim - 1];
    const int64_t K = input->size[input->ndim - 1];
    if (tensor_numel(output) == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    if (REAL_DTYPE != DTYPE_F32) return fallback_forward(ctx, input, other, output);
    const int64_t TILES = ceil_div(M, BM) * ceil_div(N, BN);  // of each matrix
    const unsigned blocks = grid_of(TILES * tensor_count(output, output->ndim - 2));
    const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(ctx, cudaFuncSetAttribute(matmul_kernel, most, BYTES));
    matmul_kernel<<<blocks, THREADS, BYTES, ctx->stream>>>(
        *input, tensor_transposed(other), real_data(output), M, N, K);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
