/* 06 threads
 *
 *   idea    the threads divide the rows of output, and read the same packed block
 *   expect  the speed of 05_packed times the number of cores
 *   limit   all threads wait for the slowest thread, and all cores share the memory
 *   run     make bench T=03_im2col_cpu/matmul/06
 *
 * Computes forward for all shapes and strides. Any number of threads gives the same
 * result, bit for bit: no sum is split among threads. Workspace: as in 05_packed.
 */
#include "blocks.h"

enum { MR = BLOCK_ROWS, NV = BLOCK_VECTORS, NR = NV * LANES };    // the register block
enum { KC = 256, NC = (1 << 19) / KC / sizeof(real) / NR * NR };  // L1, half of L2

/* Packs a block (K, N) into panels of WIDTH columns. Each panel is stored row by row:
 *
 *     panel 0   row 0: 0 .. WIDTH-1   row 1   ..   panel 1   row 0: WIDTH ..
 *
 * The last panel also has space for WIDTH columns. Unused space gets 0, as in
 * 05_packed. The threads divide the panels. */
static void pack(matrix_t block, int64_t K, int64_t N, int64_t WIDTH, real *restrict to,
                 int32_t threads)
{
    // BEGIN SOLUTION
    const int64_t down = block.down, across = block.across;
#pragma omp parallel for num_threads(threads)  // the threads divide the panels
    for (int64_t n = 0; n < N; n += WIDTH) {
        real *panel = to + n * K, *from = block.data + n * across;
        const int64_t width = least(N - n, WIDTH);
        if (width < WIDTH) memset(panel, 0, (size_t)(K * WIDTH) * sizeof(real));
        if (down == 1) {
            vec_transpose_copy(from, across, panel, WIDTH, width, K);
            continue;
        }
        for (int64_t k = 0; k < K; k++) {
            for (int64_t i = 0; i < width; i++)
                panel[k * WIDTH + i] = from[k * down + i * across];
        }
    }
    // END SOLUTION
    // STARTER // as in 05_packed, in parallel (the reference takes 14 lines)
}

/* tile = lhs (MR, K) @ panel (K, VECS * LANES), or += if `add`. The edges of output are
 * `rows` and `columns` away: micro_kernel stores nothing beyond the edges. */
EXPAND void micro_kernel(int VECS, int64_t K, matrix_t lhs, const real *panel,
                         matrix_t tile, int64_t rows, int64_t columns, int add)
{
    const real *left[MR];  // rows of lhs; past the edge the last row is repeated
    for (int m = 0; m < MR; m++) left[m] = lhs.data + least(m, rows - 1) * lhs.down;
    for (int m = 0; m < MR; m++) __builtin_prefetch(tile.data + m * tile.down, 1);
    vec sum[MR][NV] = {0}, right[NV];  // right: one row of the panel
    // BEGIN SOLUTION
    for (int64_t k = 0; k < K; k++, panel += NR) {
        UNROLL
        for (int v = 0; v < VECS; v++) right[v] = vec_keep(vec_load(panel + v * LANES));
        UNROLL
        for (int m = 0; m < MR; m++) {
            const real factor = left[m][k * lhs.across];
            for (int v = 0; v < VECS; v++) sum[m][v] += factor * right[v];
        }
    }
    // END SOLUTION
    // STARTER // as in 05_packed, but without prefetches
    // STARTER // (the reference takes 9 lines)
    // STARTER (void)left, (void)right;
    // BEGIN SOLUTION
    UNROLL
    for (int m = 0; m < MR; m++) {
        for (int v = 0; v < VECS; v++) {
            const int64_t count = least(columns - v * LANES, LANES);
            if (m >= rows || count <= 0) break;
            real *to = tile.data + m * tile.down + v * LANES;
            if (add) sum[m][v] += vec_load_first(to, count);
            vec_store_first(to, sum[m][v], count);
        }
    }
    // END SOLUTION
    // STARTER // store only elements inside output (the reference takes 10 lines)
    // STARTER (void)sum;
}

/* output (M, NB) = lhs (M, K) @ right (K, NB), packed, or += if `add`. The threads
 * divide the rows of output. */
static void block_product(matrix_t lhs, int64_t M, int64_t K, const real *right,
                          int64_t NB, matrix_t output, int add, int32_t threads)
{
    // BEGIN SOLUTION
#pragma omp parallel for num_threads(threads)  // divides the rows of output
    for (int64_t m = 0; m < M; m += MR) {
        const matrix_t row = {lhs.data + m * lhs.down, lhs.down, lhs.across};
        for (int64_t n = 0, width; n < NB; n += width) {
            const real *panel = right + n / NR * NR * K + n % NR;
            const matrix_t tile = {output.data + m * output.down + n, output.down, 1};
            width = NB - n > NR - LANES ? NR : LANES;
            width == NR ? micro_kernel(NV, K, row, panel, tile, M - m, NB - n, add)
                        : micro_kernel(1, K, row, panel, tile, M - m, NB - n, add);
        }
    }
    // END SOLUTION
    // STARTER // as in 05_packed, in parallel (the reference takes 10 lines)
}

/* For each matrix of the batch: output = input (..., M, K) @ other (..., K, N) */
status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    const int32_t axis = output->ndim - 2;
    const int64_t M = output->size[axis], N = output->size[axis + 1];
    const int64_t K = input->size[axis + 1], ROOM = least(K, KC) + 1;
    if (tensor_numel(output) == 0) return STATUS_OK;
    const int32_t threads = M * N * K < 1 << 18 ? 1 : ctx->threads;  // small: 1 thread
    const int copied = K > 0 && (input->stride[axis] == 1 || N > NC);
    real *left = ctx_scratch(ctx, (size_t)(ROOM * (copied ? M : 1)) * sizeof(real));
    real *right = ctx_scratch(ctx, (size_t)(ROOM * (least(N, NC) + NR)) * sizeof(real));
    if (!left || !right) return STATUS_NO_MEMORY;
    // BEGIN SOLUTION
    for (int64_t b = 0; b < tensor_count(output, axis); b++) {
        for (int64_t k = 0; k == 0 || k < K; k += KC) {  // K = 0: sets zeros
            const int64_t KB = least(K - k, KC);
            matrix_t lhs = matrix_of(input, b, 0, k);
            if (copied)
#pragma omp parallel for num_threads(threads)
                for (int64_t m = 0; m < M; m += 64)
                    pack(matrix_of(input, b, m, k), least(M - m, 64), KB, KB,
                         left + m * KB, 1);
            if (copied) lhs = (matrix_t){left, KB, 1};
            for (int64_t n = 0; n < N; n += NC) {
                const int64_t NB = least(N - n, NC);
                pack(matrix_of(other, b, k, n), KB, NB, NR, right, threads);
                block_product(lhs, M, KB, right, NB, matrix_of(output, b, 0, n), k > 0,
                              threads);
            }
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // as in 05_packed; lhs is packed 64 rows at a time, in parallel
    // STARTER // (the reference takes 18 lines)
    // STARTER (void)threads, (void)pack, (void)block_product;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
