/* 09 tf32
 *
 *   idea    tensor cores multiply floats that are rounded to TF32, 11 bits of their 24
 *   expect  published: 8x the multiply-adds a second of float units; time not measured
 *   limit   instructions: of 4 in the loop one multiplies and two round
 *   run     make grade T=04_cuda_kernels/matmul/09
 *
 * We round, to nearest: a tensor core takes the first 19 bits of a float and cuts off
 * the rest, up to twice as far off and always towards 0, so that a sum's errors add up.
 * For matrices of whole packs; other products are left to the fallback.
 */
#include "launch.h"
#include "ptx.h"

extern "C" matmul_forward_fn fallback_forward;

enum { BM = 128, BN = 128, BK = 32, WM = 64, WN = 64, WARP = 32, STAGES = 3 };
enum { THREADS = BM / WM * (BN / WN) * WARP, BLOCKS = 2 };  // so many on a processor
enum { PACK = 4, COPIES = BM * BK / PACK / THREADS };       // of a thread, of each tile
enum { TILE = BK * (BM + 8), BYTES = 8 * STAGES * TILE };

/* A tile consists of lines: rows of x, which is m or n, where packs run along k; else
 * rows of k. The packs that a thread copies are in lines APART from each other. */
template <bool ALONG_K> struct line_t {
    enum { PITCH = ALONG_K ? BK : BM + 8, PACKS = (ALONG_K ? BK : BM) / PACK };
    enum { APART = THREADS / PACKS };
};

/* Where number (x, k) of a tile lies. A row of x has 128 bytes, all 32 banks; ldmatrix
 * reads a pack in each of 8 of them, which the swizzle (^) keeps apart. A row of k has
 * 136 numbers, so that 8 neighbours in each of 4 rows are in 32 banks. */
template <bool ALONG_K> static __device__ int place(int x, int k)
{
    const int swizzled = (k / PACK ^ x % 8) * PACK + k % PACK;
    return ALONG_K ? x * line_t<true>::PITCH + swizzled : k * line_t<false>::PITCH + x;
}

/* What a thread copies of each tile: COPIES packs. */
typedef struct {
    const real *next;     // the first, in the next tile
    int64_t apart, step;  // from pack to pack, and from tile to tile
    int to, k, rows;      // its place in a tile, its k, how many x there are from it on
} source_t;

/* All addresses are computed here, once: matrix (x, k) from row x0 on. */
template <bool ALONG_K>
static __device__ source_t source_of(const matrix_t *matrix, int64_t x0)
{
    constexpr int PACKS = line_t<ALONG_K>::PACKS, APART = line_t<ALONG_K>::APART;
    const int line = threadIdx.x / PACKS, number = threadIdx.x % PACKS * PACK;
    const int x = ALONG_K ? line : number, k = ALONG_K ? number : line;
    const int64_t rows = matrix->rows - x0 - x;
    source_t source;
    source.next = matrix_at(matrix, x0 + x, k);
    source.apart = APART * (ALONG_K ? matrix->row_stride : matrix->column_stride);
    source.step = BK * matrix->column_stride;
    source.to = place<ALONG_K>(x, k), source.k = k;
    source.rows = rows < BM ? (int)rows : BM;
    return source;
}

/* Begins to copy the next tile, of which `count` k are inside; zeros for the others. */
template <bool ALONG_K>
static __device__ void fetch(source_t *from, int count, float *tile)
{
    // BEGIN SOLUTION
    constexpr int APART = line_t<ALONG_K>::APART, PITCH = line_t<ALONG_K>::PITCH;
    const bool inside = ALONG_K ? from->k < count : from->rows > 0;
    const int lines = !inside ? 0 : ALONG_K ? from->rows : count - from->k;
#pragma unroll
    for (int i = 0; i < COPIES; i++) {
        float *to = tile + from->to + i * APART * PITCH;
        const unsigned bytes = i * APART < lines ? 16 : 0;
        ptx::cp_async_zfill<16>(to, from->next + i * from->apart, bytes);
    }
    from->next += from->step;
    // END SOLUTION
    // STARTER // your code: cp_async_zfill in a loop (the reference takes 10 lines)
}

/* 16 x 8 numbers of a tile, rounded, as four blocks of 8 x 4: number (g, p) of block i
 * is r[i] of lane 4g + p. Block 1 is 8 x on if DOWN, as mma wants it of lhs, else 4 k,
 * as of rhs; block 2 is the other one. To ldmatrix a float is two numbers. */
template <bool ALONG_K, bool DOWN>
static __device__ void load(unsigned (&r)[4], const float *tile, int x0, int k0)
{
    // BEGIN SOLUTION
    const int lane = threadIdx.x % WARP;
    const auto number = [&](int block, int g, int p) {
        const int dx = DOWN ? block % 2 : block / 2, dk = DOWN ? block / 2 : block % 2;
        return tile + place<ALONG_K>(x0 + dx * 8 + g, k0 + dk * 4 + p);
    };
    if (ALONG_K) ptx::ldmatrix(r, number(lane / 8, lane % 8, 0));
    for (int i = 0; i < 4; i++) {
        if (!ALONG_K) r[i] = __float_as_uint(*number(i, lane / 4, lane % 4));
        r[i] = ptx::to_tf32(__uint_as_float(r[i]));
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 10 lines)
}

/* sum += the products of a warp's part of two tiles */
template <bool LEFT, bool RIGHT>
static __device__ void multiply(float (&sum)[WM / 16][WN / 8][4], const float *left,
                                const float *right, int wm, int wn)
{
    // BEGIN SOLUTION
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
        unsigned a[WM / 16][4], b[WN / 16][4];
        for (int i = 0; i < WM / 16; i++) load<LEFT, true>(a[i], left, wm + 16 * i, k);
        for (int j = 0; j < WN / 16; j++) {
            load<RIGHT, false>(b[j], right, wn + 16 * j, k);
        }
        for (int i = 0; i < WM / 16; i++) {
            for (int j = 0; j < WN / 8; j++) {
                const unsigned *of = b[j / 2] + j % 2 * 2;
                const unsigned half[2] = {of[0], of[1]};  // 8 n of 16
                ptx::mma_tf32(sum[i][j], a[i], half, sum[i][j]);
            }
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 15 lines)
}

/* output (..., M, N) = lhs (..., M, K) @ rhs (..., N, K)^T. A block owns 128 x 128 of
 * output, at (m0, n0) of matrix b, a warp 64 x 64 of it, a thread 4 of each 16 x 8: see
 * ptx.h. LEFT: packs of lhs run along k, RIGHT: those of rhs.
 * Shared memory: 3 stages of 2 tiles of 32 x 136 floats, 104448 bytes. */
template <bool LEFT, bool RIGHT>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_kernel(const __grid_constant__ tensor_t lhs,
                  const __grid_constant__ tensor_t rhs, real *__restrict__ output,
                  int64_t M, int64_t N, int64_t K)
{
    extern __shared__ __align__(128) float shared[];
    const int64_t TILES_M = ceil_div(M, BM), TILES_N = ceil_div(N, BN);
    const tile_place_t tile = place_of_tile(blockIdx.x, TILES_M, TILES_N);
    const int64_t b = tile.matrix, m0 = tile.row * BM, n0 = tile.column * BN;
    const matrix_t left = matrix_of(&lhs, b), right = matrix_of(&rhs, b);
    source_t from_left = source_of<LEFT>(&left, m0);
    source_t from_right = source_of<RIGHT>(&right, n0);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int wm = warp / (BN / WN) * WM, wn = warp % (BN / WN) * WN;

    float sum[WM / 16][WN / 8][4] = {};
    // BEGIN SOLUTION
    int stage = 0;  // for the next tiles; the oldest are in the one behind it
    for (int64_t k0 = (1 - STAGES) * BK; k0 < K; k0 += BK) {
        ptx::cp_async_wait<STAGES - 2>();  // my copies for k0 are done,
        __syncthreads();  // all others' too; and all have read the stage written next
        const int64_t rest = K - k0 - (STAGES - 1) * BK;
        const int count = rest < BK ? (int)rest : BK;
        float *to = shared + stage * 2 * TILE;
        if (rest > 0) fetch<LEFT>(&from_left, count, to);
        if (rest > 0) fetch<RIGHT>(&from_right, count, to + TILE);
        ptx::cp_async_commit();  // one group each time, be it empty
        stage = (stage + 1) % STAGES;
        if (k0 < 0 || m0 + wm >= M || n0 + wn >= N) continue;  // too early, or outside
        const float *from = shared + stage * 2 * TILE;
        multiply<LEFT, RIGHT>(sum, from, from + TILE, wm, wn);
    }
    // END SOLUTION
    // STARTER // your code: wait, meet, fetch ahead, commit, multiply
    // STARTER // (the reference takes 15 lines)
    // STARTER (void)from_left, (void)from_right, (void)shared, (void)wm, (void)wn;
    for (int i = 0; i < WM / 16; i++) {
        for (int j = 0; j < WN / 8; j++) {
            for (int r = 0; r < 4; r += 2) {
                const int64_t m = m0 + wm + 16 * i + r * 4 + lane / 4;
                const int64_t n = n0 + wn + 8 * j + lane % 4 * 2;
                const float2 pair = {sum[i][j][r], sum[i][j][r + 1]};
                if (m < M && n < N) *(float2 *)(output + (b * M + m) * N + n) = pair;
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
    const bool packed = tensor_is_packed(input) && tensor_is_packed(other);
    if (REAL_DTYPE != DTYPE_F32 || !packed || !tensor_is_packed(output)) {
        return fallback_forward(ctx, input, other, output);
    }
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
                                                    real_data(output), M, N, K);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
