/* 07 double buffer
 *
 *   idea    cp.async copies the next tiles to shared memory during the products
 *   expect  it moves the bytes of 06_warp_tile; the time is not measured yet
 *   limit   the multiply-adds: a thread does 64 for every 4 loads from shared memory
 *   run     make grade T=04_cuda_kernels/matmul/07
 *
 * cp.async copies packs of 16 bytes and cannot transpose them. So packs in a tile are
 * parts of rows or columns as in global memory. Covers matrices that consist of packs.
 */
#include "launch.h"
#include "ptx.h"

typedef float4 pack;                 // 16 bytes of any dtype
enum { LANES = 16 / sizeof(real) };  // 4 in f32, 2 in f64, 8 in f16
enum { BM = 128, BN = 128, BK = 2 * LANES, WM = 64, WN = 32, TM = 8, TN = 8 };
enum { THREADS = BM / WM * (BN / WN) * 32, BLOCKS = 8 / sizeof(accum) };
enum { STAGES = 4, TILE = BM * (BK + 1) };

/* Returns the offset of row x, column k in a tile. If packs are parts of rows, LANES
 * numbers stay unused after each LANES rows. So neighbours read different banks. */
template <bool ALONG_K> static __device__ int place(int x, int k)
{
    return ALONG_K ? x * BK + x / LANES * LANES + k : k * BM + x;
}

/* A thread copies one pack of 16 bytes from every tile. `next` is its address. */
typedef struct {
    const real *next;
    int64_t step;   // elements from a tile to the next one
    int to, tiles;  // offset of the pack in a tile; number of tiles that have the pack
} source_t;

/* Computes the addresses of the thread's packs in the tiles from row x0 of `matrix`. */
template <bool ALONG_K>
static __device__ source_t source_of(const matrix_t *matrix, int64_t x0)
{
    const int i = threadIdx.x;  // the thread copies pack i of a tile
    const int x = ALONG_K ? i / 2 : i % (BM / LANES) * LANES;
    const int k = ALONG_K ? i % 2 * LANES : i / (BM / LANES);
    const int64_t rest = x0 + x < matrix->rows ? matrix->columns - k : 0;
    return {matrix_at(matrix, x0 + x, k), BK * matrix->column_stride,
            place<ALONG_K>(x, k), (int)ceil_div(rest, BK)};
}

/* Starts to copy the thread's pack to tile `to`, or zeros outside of the matrix. */
template <bool ALONG_K> static __device__ void fetch(source_t *from, int tile, real *to)
{
    // BEGIN SOLUTION
    ptx::cp_async_zfill<16>(to + from->to, from->next, tile < from->tiles ? 16 : 0);
    from->next += ALONG_K ? BK : from->step;
    // END SOLUTION
    // STARTER // your code: cp_async_zfill (the reference takes 2 lines)
}

/* Loads 8 rows (index i) of a tile, at LANES values of k (index l): numbers[l][i]. */
template <bool ALONG_K, int APART>
static __device__ void load(real (&numbers)[LANES][8], const real *from)
{
    // BEGIN SOLUTION
    for (int i = 0; i < 8 / LANES; i++, from += place<ALONG_K>(LANES * APART, 0)) {
        for (int line = 0; line < LANES; line++) {  // a row of x, or of k
            const int at = ALONG_K ? place<true>(line, 0) : place<false>(0, line);
            __align__(16) real lanes[LANES];
            *(pack *)lanes = *(const pack *)(from + at);
            for (int l = 0; l < LANES; l++) {
                (ALONG_K ? numbers[l][i * LANES + line]
                         : numbers[line][i * LANES + l]) = lanes[l];
            }
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 11 lines)
}

/* Adds the products of two tiles to sum. The thread's rows begin at left and right. */
template <bool LEFT, bool RIGHT>
static __device__ void multiply(const real *left, const real *right,
                                accum (&sum)[TM][TN])
{
    // BEGIN SOLUTION
#pragma unroll 1  // more at once would need more than 128 registers
    for (int k = 0; k < BK; k += LANES) {
        real a[LANES][TM], b[LANES][TN];
        load<LEFT, WM / TM>(a, left + place<LEFT>(0, k));
        load<RIGHT, WN / TN>(b, right + place<RIGHT>(0, k));
        for (int i = 0; i < TM; i++) {
            for (int l = 0; l < LANES; l++) {
                const accum factor = accum_from(a[l][i]);
                for (int j = 0; j < TN; j++) sum[i][j] += factor * accum_from(b[l][j]);
            }
        }
    }
    // END SOLUTION
    // STARTER // your code: as in 05_float4 (the reference takes 11 lines)
}

/* Computes output (..., M, N) = lhs (..., M, K) @ rhs (..., N, K)^T. A block owns a
 * tile of 128 x 128 of output, at row m0 and column n0 of matrix b. A warp owns 64 x 32
 * of the tile, a thread 8 x 8 of these. If LEFT (RIGHT) is true, packs of 16 bytes in
 * lhs (rhs) are parts of rows, else of columns.
 * Shared memory: 4 stages of two tiles of 128 x 9 numbers, 36864 bytes in f32. */
template <bool LEFT, bool RIGHT>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_kernel(const __grid_constant__ tensor_t lhs,
                  const __grid_constant__ tensor_t rhs, real *__restrict__ output,
                  int64_t M, int64_t N, int64_t K)
{
    __shared__ __align__(16) real tiles[STAGES][2][TILE];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int tm = warp / (BN / WN) * WM + lane / 2 % 8 * LANES;  // 8 x 4 lanes a warp
    const int tn = warp % (BN / WN) * WN + (lane / 16 * 2 + lane % 2) * LANES;
    const int64_t ROWS = ceil_div(M, BM), COLUMNS = ceil_div(N, BN);  // of tiles
    const int64_t n0 = blockIdx.x % COLUMNS * BN;
    const int64_t m0 = blockIdx.x / COLUMNS % ROWS * BM;
    const int64_t b = blockIdx.x / (COLUMNS * ROWS);
    const matrix_t left = matrix_of(&lhs, b), right = matrix_of(&rhs, b);
    source_t from_left = source_of<LEFT>(&left, m0);
    source_t from_right = source_of<RIGHT>(&right, n0);
    const int STEPS = (int)ceil_div(K, BK);
    accum sum[TM][TN] = {};  // stays 0 if K is 0
    // BEGIN SOLUTION
    int stage = 0;  // the next copies go to this stage; stage + 1 has the oldest tiles
    for (int step = 1 - STAGES; step < STEPS; step++) {
        ptx::cp_async_wait<STAGES - 2>();  // this thread's copies for the step are done
        __syncthreads();  // all copies for the step are done, and no thread reads stage
        fetch<LEFT>(&from_left, step + STAGES - 1, tiles[stage][0]);
        fetch<RIGHT>(&from_right, step + STAGES - 1, tiles[stage][1]);
        ptx::cp_async_commit();
        stage = (stage + 1) % STAGES;
        if (step < 0) continue;  // the first tiles are being copied
        multiply<LEFT, RIGHT>(tiles[stage][0] + place<LEFT>(tm, 0),
                              tiles[stage][1] + place<RIGHT>(tn, 0), sum);
    }
    // END SOLUTION
    // STARTER // your code: wait, barrier, fetch ahead, commit, multiply
    // STARTER // (the reference takes 12 lines)
    // STARTER (void)from_left, (void)from_right, (void)tiles, (void)STEPS;
    output += (b * M + m0 + tm) * N + n0 + tn;
    const int64_t rows = M - m0 - tm, columns = N - n0 - tn;  // the rest of the matrix
    for (int i = 0; i < TM * TN; i += LANES) {
        const int m = i / TN / LANES * LANES * (WM / TM) + i / TN % LANES;
        const int n = i % TN * (WN / TN);
        __align__(16) real lanes[LANES];
        for (int l = 0; l < LANES; l++) lanes[l] = real_from(sum[i / TN][i % TN + l]);
        if (m < rows && n < columns) *(pack *)(output + m * N + n) = *(pack *)lanes;
    }
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
    const bool fits = packed && tensor_is_packed(output);
    if (!fits) return STATUS_UNSUPPORTED;
    const auto along_k =
        tensor_is_down(other) ? matmul_kernel<true, true> : matmul_kernel<true, false>;
    const auto along_m = tensor_is_down(other) ? matmul_kernel<false, true>
                                               : matmul_kernel<false, false>;
    const auto kernel = tensor_is_down(input) ? along_m : along_k;
    const int64_t COUNT = tensor_count(output, output->ndim - 2);  // matrices
    const unsigned blocks = grid_of(ceil_div(M, BM) * ceil_div(N, BN) * COUNT);
    kernel<<<blocks, THREADS, 0, ctx->stream>>>(*input, tensor_transposed(other),
                                                real_data(output), M, N, K);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
