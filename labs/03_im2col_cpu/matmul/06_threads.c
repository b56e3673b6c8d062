/* 06 threads
 *
 *   idea    rows of output are shared out; all threads read the one packed block
 *   expect  as many times 05_packed as there are cores
 *   limit   the slowest thread; memory, which the cores share
 *   run     make bench T=03_im2col_cpu/matmul/06
 *
 * Forward, all shapes and strides. Any number of threads gives the same result, bit for
 * bit: no sum is split. Workspace: that of 05_packed.
 */
#include "operators.h"
#include "vector.h"

// BEGIN SOLUTION
enum { MR = BLOCK_ROWS, NV = BLOCK_VECTORS, NR = NV * LANES };  // registers
enum { KC = 256, NC = (1 << 19) / KC / sizeof(real) };          // for L1, half of L2

/* Element (i, j) stands at data[i * down + j * across]. */
typedef struct {
    real *data;
    int64_t down, across;
} matrix_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A block (K, N) in panels of WIDTH columns, each of them row by row:
 *
 *     panel 0   row 0: 0 .. WIDTH-1   row 1   ..   panel 1   row 0: WIDTH .. */
static void pack(matrix_t block, int64_t K, int64_t N, int64_t WIDTH, real *restrict to,
                 int32_t threads)
{
    const int64_t down = block.down, across = block.across;
#pragma omp parallel for num_threads(threads)  // a panel belongs to one thread
    for (int64_t n = 0; n < N; n += WIDTH) {
        real *panel = to + n * K, *from = block.data + n * across;
        const int64_t width = least(N - n, WIDTH);
        if (down == 1) vec_transpose_copy(from, across, panel, WIDTH, width, K);
        for (int64_t k = 0; down != 1 && k < K; k++) {
            for (int64_t i = 0; i < width; i++)
                panel[k * WIDTH + i] = from[k * down + i * across];
        }
    }
}

/* tile, at most (MR, VECS*LANES), = or += lhs (rows, K) @ panel (K, NR) */
EXPAND void micro_kernel(int VECS, int64_t K, matrix_t lhs, const real *panel,
                         matrix_t tile, int64_t rows, int64_t columns, int add)
{
    const real *left[MR];  // rows of lhs; those beyond the edge repeat the last
    for (int m = 0; m < MR; m++) left[m] = lhs.data + least(m, rows - 1) * lhs.down;
    for (int m = 0; m < MR; m++) __builtin_prefetch(tile.data + m * tile.down, 1);
    vec sum[MR][NV] = {0}, right[NV];
    for (int64_t k = 0; k < K; k++, panel += NR) {
        UNROLL
        for (int v = 0; v < VECS; v++) right[v] = vec_keep(vec_load(panel + v * LANES));
        UNROLL
        for (int m = 0; m < MR; m++) {
            const real factor = left[m][k * lhs.across];
            for (int v = 0; v < VECS; v++) sum[m][v] += factor * right[v];
        }
    }
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
}

/* A block of output (M, NB) = or += lhs (M, K) @ a packed block of rhs (K, NB) */
static void block_product(matrix_t lhs, int64_t M, int64_t K, const real *right,
                          int64_t NB, matrix_t output, int add, int32_t threads)
{
#pragma omp parallel for num_threads(threads)  // as do the rows of output
    for (int64_t m = 0; m < M; m += MR) {
        const matrix_t row = {lhs.data + m * lhs.down, lhs.down, lhs.across};
        for (int64_t n = 0, width; n < NB; n += width) {
            const real *panel = right + n / NR * NR * K + n % NR;
            const matrix_t tile = {output.data + m * output.down + n, output.down, 1};
            width = NB - n > NR / 2 ? NR : NR / 2;
            width == NR ? micro_kernel(NV, K, row, panel, tile, M - m, NB - n, add)
                        : micro_kernel(NV / 2, K, row, panel, tile, M - m, NB - n, add);
        }
    }
}

/* Matrix b of a batch, from its element (i, j) on. */
static matrix_t matrix_of(const tensor_t *t, int64_t b, int64_t i, int64_t j)
{
    const int64_t down = t->stride[t->ndim - 2], across = t->stride[t->ndim - 1];
    real *data = real_data(t) + tensor_offset(t, t->ndim - 2, b);
    return (matrix_t){data + i * down + j * across, down, across};
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 71 lines)

/* output = input (..., M, K) @ other (..., K, N), matrix by matrix */
status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    // BEGIN SOLUTION
    const int32_t axis = output->ndim - 2;
    const int64_t M = output->size[axis], N = output->size[axis + 1];
    const int64_t K = input->size[axis + 1], ROOM = least(K, KC) + 1;
    if (tensor_numel(output) == 0) return STATUS_OK;
    const int32_t threads = M * N * K < 1 << 18 ? 1 : ctx->threads;  // worth it?
    const int copied = K > 0 && (input->stride[axis] == 1 || N > NC);
    real *left = ctx_scratch(ctx, (size_t)(ROOM * (copied ? M : 1)) * sizeof(real));
    real *right = ctx_scratch(ctx, (size_t)(ROOM * (least(N, NC) + NR)) * sizeof(real));
    if (!left || !right) return STATUS_NO_MEMORY;
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
    // STARTER // your code (the reference takes 27 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
