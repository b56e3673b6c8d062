/* 09 tf32
 *
 *   idea    tensor cores multiply floats rounded to TF32: 11 bits of mantissa, not 24
 *   expect  3.26x the speed of cuBLAS in f32 on an H200, for matrices of 4096 x 4096
 *   limit   of 5 instructions in the inner loop, one multiplies and two round
 *   run     make grade T=04_cuda_kernels/matmul/09
 *
 * The threads round each float to nearest. A tensor core would cut it to 19 bits. Then
 * errors are up to twice as large and always towards 0, so they add up in a sum.
 * Covers f32, and matrices that consist of packs: 16 aligned bytes of a row or column.
 */
#include "packs.h"
#include "ptx.h"

enum { BM = 128, BN = 128, BK = 32, WM = 64, WN = 64, WARP = 32, STAGES = 3 };
enum { THREADS = BM / WM * (BN / WN) * WARP, BLOCKS = 2 };  // per multiprocessor
enum { TILE = BK * (BM + 8), BYTES = 8 * STAGES * TILE };
template <bool ALONG_K> using packs = packs_t<float, ALONG_K, BK, THREADS>;

/* Starts to copy the next tile: `count` columns of a matrix, and zeros outside of them.
 * A thread copies COPIES packs of 16 bytes that are APART lines of the tile apart. */
template <bool ALONG_K>
static __device__ void fetch(source_t<float> *from, int count, float *tile)
{
    // BEGIN SOLUTION
    constexpr int APART = packs<ALONG_K>::APART, PITCH = packs<ALONG_K>::PITCH;
    const bool inside = ALONG_K ? from->k < count : from->rows > 0;
    const int lines = !inside ? 0 : ALONG_K ? from->rows : count - from->k;
#pragma unroll
    for (int i = 0; i < packs<ALONG_K>::COPIES; i++) {
        float *to = tile + from->to + i * APART * PITCH;
        const unsigned bytes = i * APART < lines ? 16 : 0;
        ptx::cp_async_zfill<16>(to, from->next + i * from->apart, bytes);
    }
    from->next += ALONG_K ? BK : packs<ALONG_K>::COPIES * from->apart;
    // END SOLUTION
    // STARTER // your code: cp_async_zfill in a loop (the reference takes 9 lines)
}

/* Loads 16 x 8 numbers of a tile, from row x0 and column k0 on, rounded to TF32. Lane
 * 4g + p gets in r[i] number (g, p) of block i. A block has 8 x 4 numbers. If DOWN (for
 * lhs), block 1 is below block 0. Else (for rhs), it is to the right of block 0. */
template <bool ALONG_K, bool DOWN>
static __device__ void load(unsigned (&r)[4], const float *tile, int x0, int k0)
{
    // BEGIN SOLUTION
    const int lane = threadIdx.x % WARP;
    const auto number = [&](int block, int g, int p) {
        const int dx = DOWN ? block % 2 : block / 2, dk = DOWN ? block / 2 : block % 2;
        return tile + packs<ALONG_K>::place(x0 + dx * 8 + g, k0 + dk * 4 + p);
    };
    if (ALONG_K) ptx::ldmatrix(r, number(lane / 8, lane % 8, 0));
    for (int i = 0; i < 4; i++) {
        if (!ALONG_K) r[i] = __float_as_uint(*number(i, lane / 4, lane % 4));
        r[i] = ptx::to_tf32(__uint_as_float(r[i]));
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 10 lines)
}

/* Adds to sum the lhs tile's rows from wm on, times the rhs tile's rows from wn on. */
template <bool LEFT, bool RIGHT>
static __device__ void multiply(float (&sum)[WM / 16][WN / 8][4], const float *tiles,
                                int wm, int wn)
{
    // BEGIN SOLUTION
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
        unsigned a[WM / 16][4], b[WN / 16][4];
        for (int i = 0; i < WM / 16; i++) load<LEFT, true>(a[i], tiles, wm + 16 * i, k);
        for (int j = 0; j < WN / 16; j++) {
            load<RIGHT, false>(b[j], tiles + TILE, wn + 16 * j, k);
        }
        for (int i = 0; i < WM / 16; i++) {
            for (int j = 0; j < WN / 8; j++) {
                const unsigned *of = b[j / 2] + j % 2 * 2;
                const unsigned half[2] = {of[0], of[1]};  // 8 of 16 columns
                ptx::mma_tf32(sum[i][j], a[i], half, sum[i][j]);
            }
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 14 lines)
}

/* Computes output (..., M, N) = lhs (..., M, K) @ rhs (..., N, K)^T. A block owns a
 * tile of 128 x 128 of output. A warp owns 64 x 64 of the tile, a thread 4 of each
 * 16 x 8. If LEFT (RIGHT) is true, packs of 16 bytes in lhs (rhs) are parts of rows.
 * Shared memory: a block needs 3 stages of 2 tiles of 32 x 136 floats, 104448 bytes. */
template <bool LEFT, bool RIGHT>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_kernel(const __grid_constant__ tensor_t lhs,
                  const __grid_constant__ tensor_t rhs, float *__restrict__ output,
                  int64_t M, int64_t N, int64_t K)
{
    extern __shared__ __align__(128) float shared[];
    const tile_place_t at = place_of_tile(blockIdx.x, ceil_div(M, BM), ceil_div(N, BN));
    const int64_t b = at.matrix, m0 = at.row * BM, n0 = at.column * BN;
    const matrix_t left = matrix_of(&lhs, b), right = matrix_of(&rhs, b);
    source_t<float> from_left = packs<LEFT>::source(&left, m0);
    source_t<float> from_right = packs<RIGHT>::source(&right, n0);
    const int warp = threadIdx.x / WARP;
    const int wm = warp / (BN / WN) * WM, wn = warp % (BN / WN) * WN;
    const int64_t rows = M - m0 - wm, columns = N - n0 - wn;  // the rest of the matrix
    const bool is_outside = rows <= 0 || columns <= 0;
    const int STEPS = (int)ceil_div(K, BK), LAST = (int)(K - (STEPS - 1) * (int64_t)BK);
    float sum[WM / 16][WN / 8][4] = {};
    // BEGIN SOLUTION
    int stage = 0;  // the next copies go to this stage; stage + 1 has the oldest tiles
    for (int step = 1 - STAGES; step < STEPS; step++) {
        ptx::cp_async_wait<STAGES - 2>();  // this thread's copies for the step are done
        __syncthreads();  // all copies for the step are done, and no thread reads stage
        const int next = step + STAGES - 1, count = next < STEPS - 1 ? BK : LAST;
        float *to = shared + stage * 2 * TILE;
        if (next < STEPS) fetch<LEFT>(&from_left, count, to);
        if (next < STEPS) fetch<RIGHT>(&from_right, count, to + TILE);
        ptx::cp_async_commit();  // a group in each step, even if it is empty
        stage = (stage + 1) % STAGES;
        if (step < 0 || is_outside) continue;
        multiply<LEFT, RIGHT>(sum, shared + stage * 2 * TILE, wm, wn);
    }
    // END SOLUTION
    // STARTER // your code: wait, barrier, fetch ahead, commit, multiply
    // STARTER // (the reference takes 13 lines)
    // STARTER (void)from_left, (void)from_right, (void)shared, (void)wm, (void)wn;
    // STARTER (void)is_outside, (void)LAST;
    store(output + (b * M + m0 + wm) * N + n0 + wn, N, rows, columns, sum);
}

/* Launches a kernel for output (..., M, N) = input (..., M, K) @ other (..., K, N). */
extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    const int64_t M = output->size[output->ndim - 2];
    const int64_t N = output->size[output->ndim - 1];
    const int64_t K = input->size[input->ndim - 1];
    if (tensor_numel(output) == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const bool packed = tensor_is_packed(input) && tensor_is_packed(other);
    if (REAL_DTYPE != DTYPE_F32 || !packed || !tensor_is_packed(output))
        return STATUS_UNSUPPORTED;
    const auto along_k =
        tensor_is_down(other) ? matmul_kernel<true, true> : matmul_kernel<true, false>;
    const auto along_m = tensor_is_down(other) ? matmul_kernel<false, true>
                                               : matmul_kernel<false, false>;
    const auto kernel = tensor_is_down(input) ? along_m : along_k;
    const int64_t TILES = ceil_div(M, BM) * ceil_div(N, BN);  // of each matrix
    const unsigned blocks = grid_of(TILES * tensor_count(output, output->ndim - 2));
    const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(ctx, cudaFuncSetAttribute(kernel, most, BYTES));
    kernel<<<blocks, THREADS, BYTES, ctx->stream>>>(*input, tensor_transposed(other),
                                                    (float *)output->data, M, N, K);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
