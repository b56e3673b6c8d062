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
enum {
    MR = VECTOR_REGISTERS / 4,  // register block: MR x 3 vectors of sums
    NR = 3 * LANES,
    KC = 256,      // terms of a sum; a panel of lhs, MR x KC, fits into L1
    NC = 12 * NR,  // a block of rhs, KC x NC, fits into L2
};

/* Element (i, j) stands at data[i * down + j * across]. */
typedef struct {
    real *data;
    int64_t down, across;
} matrix_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A block (K, N) in panels of NR columns, each of them row by row:
 *
 *     panel 0   row 0: 0 .. NR-1   row 1   ..   panel 1   row 0: NR .. 2*NR-1 */
static void pack(matrix_t block, int64_t K, int64_t N, real *restrict to,
                 int32_t threads)
{
    const int64_t down = block.down, across = block.across;
#pragma omp parallel for num_threads(threads)  // a panel belongs to one thread
    for (int64_t n = 0; n < N; n += NR) {
        real *panel = to + n * K, *from = block.data + n * across;
        const int64_t width = least(N - n, NR);
        if (down == 1) vec_transpose_copy(from, across, panel, NR, width, K);
        for (int64_t k = 0; down != 1 && k < K; k++) {
            for (int64_t i = 0; i < width; i++) {
                panel[k * NR + i] = from[k * down + i * across];
            }
        }
    }
}

/* tile, at most (MR, NV*LANES), = or += lhs (rows, K) @ panel (K, NR) */
static inline void micro_kernel(int NV, int64_t K, matrix_t lhs, const real *panel,
                                matrix_t tile, int64_t rows, int64_t columns, int add)
{
    const real *left[MR];  // rows of lhs; those beyond the edge repeat the last
    for (int m = 0; m < MR; m++) left[m] = lhs.data + least(m, rows - 1) * lhs.down;
    for (int m = 0; m < MR; m++) __builtin_prefetch(tile.data + m * tile.down, 1);

    vec sum[MR][3] = {0};
    for (int64_t k = 0; k < K; k++, panel += NR) {
        UNROLL for (int i = 0; i < MR * NV; i++) sum[i / NV][i % NV] +=
            left[i / NV][k * lhs.across] * vec_load(panel + i % NV * LANES);
    }
    UNROLL
    for (int i = 0; i < MR * NV; i++) {
        if (i / NV >= rows) break;
        const int64_t n = i % NV * LANES, count = least(columns - n, LANES);
        real *to = tile.data + i / NV * tile.down + n;
        const vec start = add ? vec_load_first(to, count) : (vec){0};
        vec_store_first(to, start + sum[i / NV][i % NV], count);
    }
}

/* A block of output (M, NB) = or += lhs (M, K) @ a packed block of rhs (K, NB) */
static void block_product(matrix_t lhs, int64_t M, int64_t K, const real *right,
                          int64_t NB, matrix_t output, int add, int32_t threads)
{
#pragma omp parallel for num_threads(threads)  // as do the rows of output
    for (int64_t m = 0; m < M; m += MR) {
        const matrix_t row = {lhs.data + m * lhs.down, lhs.down, lhs.across};
        const int64_t rows = least(M - m, MR);
        for (int64_t n = 0; n < NB;) {
            const real *panel = right + n / NR * NR * K + n % NR;
            const matrix_t tile = {output.data + m * output.down + n, output.down, 1};
            const int whole = NB - n > 2 * LANES;  // else one vector at a time
            whole ? micro_kernel(3, K, row, panel, tile, rows, NB - n, add)
                  : micro_kernel(1, K, row, panel, tile, rows, NB - n, add);
            n += whole ? NR : LANES;
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
    const int64_t TURN = input->stride[axis] == 1 ? M : 1;  // rows to transpose
    real *left = ctx_scratch(ctx, (size_t)(ROOM * TURN) * sizeof(real));
    real *right = ctx_scratch(ctx, (size_t)(ROOM * (least(N, NC) + NR)) * sizeof(real));
    if (!left || !right) return STATUS_NO_MEMORY;
    for (int64_t i = 0; i < tensor_count(output, axis) * N; i += least(N - i % N, NC)) {
        const int64_t b = i / N, n = i % N;              // a block of columns
        for (int64_t k = 0; k == 0 || k < K; k += KC) {  // K = 0: sets zeros
            const int64_t KB = least(K - k, KC), NB = least(N - n, NC);
            matrix_t lhs = matrix_of(input, b, 0, k);
            if (lhs.down == 1) {
#pragma omp parallel for num_threads(threads)
                for (int64_t m = 0; m < M; m += 64)
                    vec_transpose_copy(lhs.data + m, lhs.across, left + m * KB, KB, KB,
                                       least(M - m, 64));
                lhs = (matrix_t){left, KB, 1};
            }
            pack(matrix_of(other, b, k, n), KB, NB, right, threads);
            block_product(lhs, M, KB, right, NB, matrix_of(output, b, 0, n), k > 0,
                          threads);
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 26 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
