/* 12 half
 *
 *   idea    tensor cores multiply halves as they are: twice the terms of TF32 at once
 *   expect  published: 2x of TF32, 16x of float units; time not measured
 *   limit   mma.sync has two thirds of the tensor cores' peak; wgmma would have it all
 *   run     make grade T=04_cuda_kernels/matmul/12
 *
 * For f16: products are exact in float, sums are float, each is rounded once. For
 * matrices of whole packs, 8 halves that lie side by side; all else is the fallback's.
 */
#include <cuda_fp16.h>

#include "launch.h"
#include "ptx.h"

extern "C" matmul_forward_fn fallback_forward;

enum { BM = 128, BN = 128, BK = 32, WM = 64, WN = 64, WARP = 32, STAGES = 4 };
enum { THREADS = BM / WM * (BN / WN) * WARP, BLOCKS_PER_SM = 2 };
enum {
    PACK = 8,
    LINES = 128,
    PITCH = LINES + PACK
};  // halves in 16 bytes; x of a tile
enum { TILE = BK * PITCH, COPIES = LINES * BK / PACK / THREADS };
enum { BYTES = STAGES * 2 * TILE * sizeof(__half) };
enum { BAND = 8 };  // rows of tiles whose blocks work at the same time

/* Where number (x, k) of a tile lies; x is m or n. If packs run along k, a line is a
 * row of x, 4 packs; ldmatrix reads a pack of 8 rows, and the swizzle (^) moves these
 * to all 32 banks. Else a line is a row of k, and each begins 16 bytes further on. */
template <bool ALONG_K> static __device__ int place(int x, int k)
{
    const int swizzled = k / PACK ^ x / 2 % 4;
    return ALONG_K ? x * BK + swizzled * PACK + k % PACK : k * PITCH + x;
}

/* What a thread copies of an operand for a step: COPIES packs. */
typedef struct {
    const __half *next;    // the first one
    int64_t apart, step;   // from one to the next; from step to step
    int to, k, x, inside;  // its place in a tile, its k and x; how many x there are
} source_t;

template <bool ALONG_K>
static __device__ source_t source_of(const matrix_t *matrix, int64_t x0)
{
    const int PACKS = (ALONG_K ? BK : LINES) / PACK;  // of a line
    const int line = threadIdx.x / PACKS, number = threadIdx.x % PACKS * PACK;
    const int64_t rest = matrix->rows - x0;
    const int64_t between = ALONG_K ? matrix->row_stride : matrix->column_stride;
    source_t from;
    from.x = ALONG_K ? line : number, from.k = ALONG_K ? number : line;
    from.next = (const __half *)matrix->data;
    from.next += (x0 + from.x) * matrix->row_stride + from.k * matrix->column_stride;
    from.apart = THREADS / PACKS * between, from.step = BK * matrix->column_stride;
    from.to = place<ALONG_K>(from.x, from.k);
    from.inside = rest < LINES ? (int)rest : LINES;
    return from;
}

/* Begins to copy the next tile, of which `count` k are inside: 0 for what is not. */
template <bool ALONG_K>
static __device__ void fetch(source_t &from, int64_t count, __half *tile)
{
    // BEGIN SOLUTION
    const int LINE = THREADS * PACK / (ALONG_K ? BK : LINES);  // from pack to pack
    const bool some = ALONG_K ? from.k < count : from.x < from.inside;
    const int64_t lines = ALONG_K ? from.inside - from.x : count - from.k;
#pragma unroll
    for (int i = 0; i < COPIES; i++) {
        const unsigned bytes = some && i * LINE < lines ? 16 : 0;
        __half *to = tile + from.to + i * LINE * (ALONG_K ? BK : PITCH);
        ptx::cp_async_zfill<16>(to, from.next + i * from.apart, bytes);
    }
    from.next += from.step;
    // END SOLUTION
    // STARTER // your code: cp_async_zfill in a loop (the reference takes 9 lines)
}

/* 16 x 16 numbers of a tile as four blocks of 8 x 8. Block 1 is 8 x on if DOWN, as mma
 * wants it of lhs, else 8 k, as of rhs; block 2 is the other one. Where packs run along
 * x, ldmatrix reads rows of k and turns them. */
template <bool ALONG_K, bool DOWN>
static __device__ void load(unsigned (&r)[4], const __half *tile, int x, int k)
{
    // BEGIN SOLUTION
    const int block = threadIdx.x % WARP / 8, line = threadIdx.x % 8;
    x += (DOWN ? block % 2 : block / 2) * 8, k += (DOWN ? block / 2 : block % 2) * 8;
    if (ALONG_K) ptx::ldmatrix(r, tile + place<ALONG_K>(x + line, k));
    if (!ALONG_K) ptx::ldmatrix_trans(r, tile + place<ALONG_K>(x, k + line));
    // END SOLUTION
    // STARTER // your code (the reference takes 4 lines)
}

/* sum += the products of a warp: rows from wm on of a tile, from wn on of the next */
template <bool LEFT, bool RIGHT>
static __device__ void multiply(float (&sum)[WM / 16][WN / 8][4], const __half *tiles,
                                int wm, int wn)
{
    // BEGIN SOLUTION
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
        unsigned a[WM / 16][4], b[WN / 16][4];
        for (int i = 0; i < WM / 16; i++) load<LEFT, true>(a[i], tiles, wm + 16 * i, k);
        for (int j = 0; j < WN / 16; j++)
            load<RIGHT, false>(b[j], tiles + TILE, wn + 16 * j, k);
        for (int i = 0; i < WM / 16; i++) {
            for (int j = 0; j < WN / 8; j++) {
                const unsigned *of = b[j / 2] + j % 2 * 2;
                ptx::mma_f16(sum[i][j], a[i], {of[0], of[1]}, sum[i][j]);
            }
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 12 lines)
}

/* Stores the sums of a warp, rows x columns of which are inside, two at once. */
static __device__ void store(__half *output, int64_t N, int64_t rows, int64_t columns,
                             const float (&sum)[WM / 16][WN / 8][4])
{
    const int g = threadIdx.x % WARP / 4, p = threadIdx.x % 4 * 2;
    for (int i = 0; i < 2 * (WM / 16); i++) {
        for (int j = 0; j < WN / 8; j++) {
            const int m = 8 * i + g, n = 8 * j + p, r = i % 2 * 2;
            const __half2 pair =
                __floats2half2_rn(sum[i / 2][j][r], sum[i / 2][j][r + 1]);
            if (m < rows && n < columns) *(__half2 *)(output + m * N + n) = pair;
        }
    }
}

/* output (..., M, N) = lhs (..., M, K) @ rhs (..., N, K)^T. A block owns 128 x 128 of
 * output, at (m0, n0) of matrix b, a warp 64 x 64 of it, a thread 4 of each 16 x 8: see
 * ptx.h. LEFT: packs of lhs run along k, RIGHT: packs of rhs do. Blocks walk down BAND
 * rows of tiles, then the next column: those at work share their operands in the L2.
 * Shared memory: 4 stages of 2 tiles of 32 x 136 halves, 69632 bytes. */
template <bool LEFT, bool RIGHT>
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    matmul_kernel(const __grid_constant__ tensor_t lhs,
                  const __grid_constant__ tensor_t rhs, __half *__restrict__ output,
                  int64_t M, int64_t N, int64_t K)
{
    extern __shared__ __align__(128) __half shared[];
    const int64_t ROWS = ceil_div(M, BM), COLUMNS = ceil_div(N, BN);
    const int64_t b = blockIdx.x / (ROWS * COLUMNS),
                  tile = blockIdx.x % (ROWS * COLUMNS);
    const int64_t row = tile / (BAND * COLUMNS) * BAND, in_band = tile - row * COLUMNS;
    const int64_t height = ROWS - row < BAND ? ROWS - row : BAND;
    const int64_t m0 = (row + in_band % height) * BM, n0 = in_band / height * BN;
    const matrix_t left = matrix_of(&lhs, b), right = matrix_of(&rhs, b);
    source_t from_left = source_of<LEFT>(&left, m0);
    source_t from_right = source_of<RIGHT>(&right, n0);
    const int warp = threadIdx.x / WARP;
    const int wm = warp / (BN / WN) * WM, wn = warp % (BN / WN) * WN;
    const int64_t rows = M - m0 - wm, columns = N - n0 - wn;  // from there on
    float sum[WM / 16][WN / 8][4] = {};
    // BEGIN SOLUTION
    int stage = 0;  // for the next tiles; the oldest are in the one behind it
    for (int64_t k0 = (1 - STAGES) * BK; k0 < K; k0 += BK) {
        ptx::cp_async_wait<STAGES - 2>();  // my copies for k0 are done,
        __syncthreads();  // all others' too; and all have read the stage written next
        const int64_t count = K - k0 - (STAGES - 1) * BK;  // k that are still to come
        __half *to = shared + stage * 2 * TILE;
        if (count > 0) fetch<LEFT>(from_left, count, to);
        if (count > 0) fetch<RIGHT>(from_right, count, to + TILE);
        ptx::cp_async_commit();  // one group each time, be it empty
        stage = (stage + 1) % STAGES;
        if (k0 < 0 || rows <= 0 || columns <= 0) continue;  // too early, or outside
        multiply<LEFT, RIGHT>(sum, shared + stage * 2 * TILE, wm, wn);
    }
    // END SOLUTION
    // STARTER // your code: wait, meet, fetch ahead, commit, multiply
    // STARTER // (the reference takes 13 lines)
    // STARTER (void)from_left, (void)from_right, (void)shared, (void)K;
    store(output + (b * M + m0 + wm) * N + n0 + wn, N, rows, columns, sum);
}

/* Whether packs of 16 bytes run along axis `along`, in every matrix and to its end. */
static bool is_packed(const tensor_t *t, int32_t along)
{
    bool packed = t->stride[along] == 1 && t->size[along] % PACK == 0;
    for (int32_t d = 0; d < t->ndim; d++)
        packed = packed && (d == along || t->stride[d] % PACK == 0);
    return packed && (uintptr_t)t->data % 16 == 0;
}

/* output = input (..., M, K) @ other (..., K, N), matrix by matrix, on the stream */
extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    const int32_t row = output->ndim - 2, column = output->ndim - 1;
    const int64_t M = output->size[row], N = output->size[column];
    const int64_t K = input->size[column];
    if (tensor_numel(output) == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const bool along_k = is_packed(input, column), along_n = is_packed(other, column);
    const bool packed = (along_k || is_packed(input, row)) &&
                        (along_n || is_packed(other, row)) && is_packed(output, column);
    if (REAL_DTYPE != DTYPE_F16 || !packed) {
        return fallback_forward(ctx, input, other, output);
    }
    const auto rows = along_n ? matmul_kernel<true, false> : matmul_kernel<true, true>;
    const auto turned =
        along_n ? matmul_kernel<false, false> : matmul_kernel<false, true>;
    const auto kernel = along_k ? rows : turned;
    const int64_t TILES = ceil_div(M, BM) * ceil_div(N, BN);  // of each matrix
    const unsigned blocks = grid_of(TILES * tensor_count(output, row));
    const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(ctx, cudaFuncSetAttribute(kernel, most, BYTES));
    kernel<<<blocks, THREADS, BYTES, ctx->stream>>>(*input, tensor_transposed(other),
                                                    (__half *)output->data, M, N, K);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
