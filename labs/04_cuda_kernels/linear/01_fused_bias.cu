/* 01 fused bias
 *
 *   idea    the kernel of the product starts each sum at the bias, not at 0
 *   expect  it moves 1/1.8 of the bytes of 00_matmul (counted, small), in one launch
 *   limit   the multiply-adds of the product, as in matmul/06_warp_tile
 *   run     make grade T=04_cuda_kernels/linear/01
 *
 * It has only forward. Workspace: a copy of input, if its rows are not equally spaced.
 */
#include "launch.h"

#if defined(REAL_F64)
typedef double2 pack;  // one load of 128 bits
#else
typedef float4 pack;
#endif
enum { LANES = 16 / sizeof(real) };         // 4 in f32, 2 in f64, 8 in f16
enum { PAD = LANES };                       // rows of tiles start at a pack
enum { BM = 128, BN = 128, BK = 8 };        // of a block
enum { WM = 64, WN = 32, TM = 8, TN = 8 };  // of a warp, of a thread
enum { THREADS = BM / WM * (BN / WN) * 32 };
enum { BLOCKS_PER_SM = 8 / sizeof(accum) };  // 2 in f32: 128 registers for each thread

/* Copies elements (k, x) of `matrix` to tile[k][x], or 0 outside of `matrix`. `matrix`
 * is the transpose of input or weight. Neighbouring threads copy 8 neighbours in a row
 * of input to a column of the tile. PAD extra columns put them into different banks of
 * shared memory. Finally, the function moves matrix->data to the next BK rows. */
static __device__ void fetch(matrix_t *matrix, real tile[BK][BN + PAD])
{
    // BEGIN SOLUTION
    const bool down = matrix->row_stride < matrix->column_stride;
    const int i = threadIdx.x;
    int k = down ? i % BK : i / BN, x = down ? i / BK : i % BN;
    const int k_step = down ? 0 : THREADS / BN, x_step = down ? THREADS / BK : 0;
    const real *from = matrix_at(matrix, k, x);
    const int64_t stride = k_step * matrix->row_stride + x_step * matrix->column_stride;
    for (int step = 0; step < BK * BN / THREADS; step++) {
        const bool inside = k < matrix->rows && x < matrix->columns;
        tile[k][x] = inside ? *from : real_from(0);
        k += k_step, x += x_step, from += stride;
    }
    matrix->data += BK * matrix->row_stride, matrix->rows -= BK;
    // END SOLUTION
    // STARTER // your code: as in matmul/04 (the reference takes 12 lines)
}

/* Computes output (R, OC) = input (R, IC) @ weight^T (IC, OC) + bias (OC). `left` is
 * input^T, `right` is weight^T, and bias may be NULL. A block owns a tile of 128 x 128
 * of output, at row r0 and column n0. A warp owns 64 x 32 of the tile, a thread 8
 * x 8 of these. blockIdx.x numbers the tiles in the order (r0, n0). Shared memory: a
 * block needs two tiles of 8 x 132 numbers, 8448 bytes in f32. */
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    linear_kernel(matrix_t left, matrix_t right, const real *__restrict__ bias,
                  int64_t bias_stride, real *__restrict__ output, int64_t R, int64_t OC)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int tr = warp / (BN / WN) * WM + lane / 2 % 8 * LANES;  // 8 x 4 lanes a warp
    const int tn = warp % (BN / WN) * WN + (lane / 16 * 2 + lane % 2) * LANES;
    const int64_t TILES = ceil_div(OC, BN);
    const int64_t n0 = blockIdx.x % TILES * BN, r0 = blockIdx.x / TILES * BM;
    left.data += r0 * left.column_stride, left.columns -= r0;
    right.data += n0 * right.column_stride, right.columns -= n0;

    accum sum[TM][TN] = {{0}};
    // BEGIN SOLUTION
    for (int j = 0; j < TN; j++) {  // all sums of a column start at its bias
        const int64_t oc = n0 + tn + j / LANES * LANES * (WN / TN) + j % LANES;
        const accum start = bias && oc < OC ? accum_from(bias[oc * bias_stride]) : 0;
        for (int i = 0; i < TM; i++) sum[i][j] = start;
    }
    // END SOLUTION
    // STARTER // your code: set the sums at the start (the reference takes 5 lines)
    // BEGIN SOLUTION
    __shared__ __align__(16) real left_tile[BK][BM + PAD];   // (ic, r)
    __shared__ __align__(16) real right_tile[BK][BN + PAD];  // (ic, oc)
    while (left.rows > 0) {
        fetch(&left, left_tile);
        fetch(&right, right_tile);
        __syncthreads();  // both tiles are complete before any thread reads them
#pragma unroll 1
        for (int k = 0; k < BK; k++) {
            __align__(16) real column[TM], row[TN];
            for (int i = 0; i < TM; i += LANES) {
                *(pack *)(column + i) = *(pack *)&left_tile[k][tr + i * (WM / TM)];
                *(pack *)(row + i) = *(pack *)&right_tile[k][tn + i * (WN / TN)];
            }
            for (int i = 0; i < TM; i++) {
                const accum factor = accum_from(column[i]);
                for (int j = 0; j < TN; j++) sum[i][j] += factor * accum_from(row[j]);
            }
        }
        __syncthreads();  // all have read the tiles before they change
    }
    // END SOLUTION
    // STARTER // your code: the loop over tiles (the reference takes 19 lines)
    // STARTER (void)fetch;  // delete this line when you call it
    for (int i = 0; i < TM; i++) {
        const int64_t r = r0 + tr + i / LANES * LANES * (WM / TM) + i % LANES;
        if (r >= R) break;  // an edge
        for (int j = 0; j < TN; j += LANES) {
            const int64_t oc = n0 + tn + j * (WN / TN);
            real *const to = output + r * OC + oc;
            const bool packed = oc + LANES <= OC && (uintptr_t)to % sizeof(pack) == 0;
            __align__(16) real lanes[LANES];
            for (int l = 0; l < LANES; l++) lanes[l] = real_from(sum[i][j + l]);
            if (packed) {
                *(pack *)to = *(const pack *)lanes;
            } else {
                for (int l = 0; l < LANES && l < OC - oc; l++) to[l] = lanes[l];
            }
        }
    }
}

/* Returns t as a matrix (R, D): joins all axes but the last. If the rows of t are not
 * equally spaced, copies t. If there is no memory for the copy, data is NULL. */
static tensor_t rows_of(ctx_t *ctx, const tensor_t *t)
{
    // BEGIN SOLUTION
    const int32_t last = t->ndim - 1;
    tensor_t rows = *t;
    rows.ndim = 2;
    rows.size[0] = tensor_count(t, last), rows.size[1] = t->size[last];
    rows.stride[0] = 0, rows.stride[1] = t->stride[last];
    if (tensor_numel(t) == 0) return rows;
    int64_t next = -1;  // the stride that axis d needs so that rows are equally spaced
    for (int32_t d = last - 1; d >= 0; d--) {
        if (t->size[d] == 1) continue;
        if (next >= 0 && t->stride[d] != next) {
            rows.data = (void *)tensor_contiguous(ctx, t);
            rows.stride[0] = t->size[last], rows.stride[1] = 1;
            return rows;
        }
        if (next < 0) rows.stride[0] = t->stride[d];
        next = t->stride[d] * t->size[d];
    }
    return rows;
    // END SOLUTION
    // STARTER return *t;  // your code, as in 00_matmul (the reference takes 18 lines)
}

/* Computes output (R, OC) = input (R, IC) @ weight (OC, IC)^T + bias (OC). */
extern "C" status_t linear_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    const int64_t OC = weight->size[0], COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const tensor_t rows = rows_of(ctx, input);
    if (!rows.data && tensor_numel(input) > 0) return STATUS_NO_MEMORY;
    const tensor_t lhs = tensor_transposed(&rows), rhs = tensor_transposed(weight);
    const unsigned blocks = grid_of(ceil_div(COUNT / OC, BM) * ceil_div(OC, BN));
    linear_kernel<<<blocks, THREADS, 0, ctx->stream>>>(
        matrix_of(&lhs, 0), matrix_of(&rhs, 0), bias ? real_data(bias) : NULL,
        bias ? bias->stride[0] : 0, real_data(output), COUNT / OC, OC);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
