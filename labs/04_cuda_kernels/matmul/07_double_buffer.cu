/* 07 double buffer
 *
 *   idea    cp.async brings the next tiles to shared memory while these are multiplied
 *   expect  the bytes of 06_warp_tile; published: 0.95 to 1.1x its speed
 *   limit   multiply-adds: 64 for each 4 loads of 16 bytes from shared memory
 *   run     make grade T=04_cuda_kernels/matmul/07
 */
#include "launch.h"
#include "ptx.h"

#if defined(REAL_F64)
typedef double2 pack;  // what one load of 128 bits brings
#else
typedef float4 pack;
#endif
enum { LANES = 16 / sizeof(real) };         // 4 in f32, 2 in f64, 8 in f16
enum { PAD = LANES };                       // rows of tiles begin at a pack
enum { BM = 128, BN = 128, BK = 8 };        // of a block
enum { WM = 64, WN = 32, TM = 8, TN = 8 };  // of a warp, of a thread
enum { THREADS = BM / WM * (BN / WN) * 32 };
enum { STAGES = LANES, AHEAD = (STAGES - 1) * BK };                   // tiles in 33 KB
enum { SMALL = sizeof(real) < 4, LEAST = SMALL ? 4 : sizeof(real) };  // for cp.async

/* Starts to copy tile[k][x] = matrix (k0 + k, x0 + x), or 0 outside, which adds nothing
 * to a sum: packs, if rows lie so in memory; else number by number, along a row or down
 * a column 8 long. A warp takes 8 x 4 then, which PAD puts in 32 different banks. */
static __device__ void fetch(const matrix_t *matrix, int64_t k0, int64_t x0,
                             real tile[BK][BN + PAD])
{
    // BEGIN SOLUTION
    const bool packed = matrix->column_stride == 1 && matrix->row_stride % LANES == 0 &&
                        (uintptr_t)matrix->data % sizeof(pack) == 0;
    const bool down = !packed && matrix->row_stride < matrix->column_stride;
    const int width = packed ? LANES : 1, i = threadIdx.x * width;
    const int dk = down ? 0 : THREADS * width / BN, dx = down ? THREADS / BK : 0;
    int k = down ? i % BK : i / BN, x = down ? i / BK : i % BN;
    const real *from = matrix_at(matrix, k0 + k, x0 + x);
    for (; k < BK && x < BN; k += dk, x += dx) {
        int64_t rest = k0 + k < matrix->rows ? matrix->columns - x0 - x : 0;
        if (rest < 0) rest = 0;
        const unsigned n = rest < width ? (unsigned)rest : width;
        if (packed) ptx::cp_async_zfill<16>(&tile[k][x], from, n * sizeof(real));
        if (!packed && SMALL) tile[k][x] = n ? *from : real_from(0);
        if (!packed && !SMALL) ptx::cp_async_zfill<LEAST>(&tile[k][x], from, n * LEAST);
        from += dk * matrix->row_stride + dx * matrix->column_stride;
    }
    // END SOLUTION
    // STARTER // your code: cp_async_zfill in a loop (the reference takes 16 lines)
}

/* sum += the products of two tiles: for each k the outer product of 8 numbers of the
 * left tile, in packs from (k, tm) on, WM / TM packs apart, and 8 of the right one. */
static __device__ void multiply(const real left_tile[BK][BM + PAD],
                                const real right_tile[BK][BN + PAD], int tm, int tn,
                                accum (&sum)[TM][TN])
{
    // BEGIN SOLUTION
#pragma unroll 1  // more at once need more than 128 registers
    for (int k = 0; k < BK; k++) {
        __align__(16) real column[TM], row[TN];
        for (int i = 0; i < TM; i += LANES) {
            *(pack *)(column + i) = *(const pack *)&left_tile[k][tm + i * (WM / TM)];
            *(pack *)(row + i) = *(const pack *)&right_tile[k][tn + i * (WN / TN)];
        }
        for (int i = 0; i < TM; i++) {
            const accum factor = accum_from(column[i]);
            for (int j = 0; j < TN; j++) sum[i][j] += factor * accum_from(row[j]);
        }
    }
    // END SOLUTION
    // STARTER // your code: as in 05 (the reference takes 11 lines)
}

/* output (..., M, N) = lhs (..., M, K) @ rhs (..., K, N)
 * A block owns a tile of 128 x 128 of output, at (m0, n0) of matrix b; a warp owns 64 x
 * 32 of it, a thread 8 x 8 of these, in packs, the first at (tm, tn). The grid counts
 * tiles in the order (b, m0, n0), along x.
 * Shared memory: STAGES times two tiles of 8 x 132 numbers, 33792 bytes in f32. */
static __global__ void __launch_bounds__(THREADS, 8 / sizeof(accum))
    matmul_kernel(const __grid_constant__ tensor_t lhs_transposed,
                  const __grid_constant__ tensor_t rhs, real *__restrict__ output,
                  int64_t M, int64_t N, int64_t K)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int tm = warp / (BN / WN) * WM + lane / 2 % 8 * LANES;  // 8 x 4 threads
    const int tn = warp % (BN / WN) * WN + (lane / 16 * 2 + lane % 2) * LANES;
    const int64_t ROWS = ceil_div(M, BM), COLUMNS = ceil_div(N, BN);  // of tiles
    const int64_t n0 = blockIdx.x % COLUMNS * BN;
    const int64_t m0 = blockIdx.x / COLUMNS % ROWS * BM;
    const int64_t b = blockIdx.x / (COLUMNS * ROWS);
    const matrix_t left = matrix_of(&lhs_transposed, b), right = matrix_of(&rhs, b);

    accum sum[TM][TN] = {};  // stays 0 if K is 0
    // BEGIN SOLUTION
    int stage = 0;  // for the next tiles; the oldest are in the one behind it
    __shared__ __align__(16) real left_tile[STAGES][BK][BM + PAD];   // (k, m)
    __shared__ __align__(16) real right_tile[STAGES][BK][BN + PAD];  // (k, n)
    for (int64_t k0 = -AHEAD; k0 < K; k0 += BK) {  // multiplies the tiles at k0
        ptx::cp_async_wait<STAGES - 2>();          // my copies of these tiles are done
        __syncthreads();  // everybody's are, and nobody reads the tiles before them
        if (k0 + AHEAD < K) {
            fetch(&left, k0 + AHEAD, m0, left_tile[stage]);
            fetch(&right, k0 + AHEAD, n0, right_tile[stage]);
        }
        ptx::cp_async_commit();  // also of nothing: the wait counts groups
        stage = (stage + 1) % STAGES;
        if (k0 < 0) continue;  // the first tiles are on their way
        multiply(left_tile[stage], right_tile[stage], tm, tn, sum);
    }
    // END SOLUTION
    // STARTER // your code: wait, meet, fetch ahead, commit, multiply
    // STARTER // (the reference takes 15 lines)
    // STARTER (void)left, (void)right, (void)tm, (void)tn, (void)fetch, (void)multiply;
    for (int i = 0; i < TM; i++) {
        const int64_t m = m0 + tm + i / LANES * LANES * (WM / TM) + i % LANES;
        for (int j = 0; j < TN && m < M; j += LANES) {
            const int64_t n = n0 + tn + j * (WN / TN);
            real *const to = output + (b * M + m) * N + n;
            const bool packed = n + LANES <= N && (uintptr_t)to % sizeof(pack) == 0;
            __align__(16) real lanes[LANES];
            for (int l = 0; l < LANES; l++) lanes[l] = real_from(sum[i][j + l]);
            if (packed) *(pack *)to = *(const pack *)lanes;
            for (int l = 0; !packed && l < LANES && l < N - n; l++) to[l] = lanes[l];
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
    const int64_t COUNT = tensor_count(output, output->ndim - 2);  // matrices
    const unsigned blocks = grid_of(ceil_div(M, BM) * ceil_div(N, BN) * COUNT);
    matmul_kernel<<<blocks, THREADS, 0, ctx->stream>>>(tensor_transposed(input), *other,
                                                       real_data(output), M, N, K);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
