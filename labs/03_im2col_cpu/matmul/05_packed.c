/* 05 packed
 *
 *   idea    copy a block of rhs into the order in which the register block reads it
 *   expect  1.2x over 04_register_block where rhs fits into L2, 2.5x where it does not
 *   limit   multiply-adds; the copy, K*N moves, where M is small
 *   run     make bench T=03_im2col_cpu/matmul/05
 *
 * Forward, all shapes and strides. Workspace: KC * (NC + NR) elements or less, 0.5 MiB
 * of floats, and KC * M if lhs is transposed.
 */
#include "operators.h"
#include "vector.h"

// BEGIN SOLUTION
enum {
    MR = VECTOR_REGISTERS / 4,  // register block: MR x 3 vectors of sums
    NR = 3 * LANES,
    KC = 256,     // terms of a sum; a panel of lhs, MR x KC, fits into L1
    NC = 9 * NR,  // two blocks of rhs, KC x NC, fit into L2: this and the next
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
static void pack(matrix_t block, int64_t K, int64_t N, real *restrict to)
{
    const int64_t down = block.down, across = block.across;
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

/* tile, at most (MR, NV*LANES), = or += lhs (rows, K) @ panel (K, NR); fetches next */
static inline void micro_kernel(int NV, int64_t K, matrix_t lhs, const real *panel,
                                matrix_t next, matrix_t tile, int64_t rows,
                                int64_t columns, int add)
{
    const real *left[MR];  // rows of lhs; those beyond the edge repeat the last
    for (int m = 0; m < MR; m++) left[m] = lhs.data + least(m, rows - 1) * lhs.down;
    for (int m = 0; m < MR; m++) __builtin_prefetch(tile.data + m * tile.down, 1);

    vec sum[MR][3] = {0};
    for (int64_t k = 0; k < K; k++, panel += NR, next.data += next.down) {
        UNROLL for (int j = 0; j < NV; j++)
            __builtin_prefetch(next.data + j * LANES, 0, 2);  // to L2, not to L1
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
static void block_product(matrix_t lhs, int64_t M, int64_t K, real *right,
                          matrix_t next, int64_t NB, matrix_t output, int add)
{
    for (int64_t m = 0; m < M; m += MR) {
        const matrix_t row = {lhs.data + m * lhs.down, lhs.down, lhs.across};
        const int64_t rows = least(M - m, MR);
        for (int64_t n = 0; n < NB;) {
            real *panel = right + n / NR * NR * K + n % NR;
            const matrix_t ahead = {m ? panel : next.data + n * next.across,
                                    m ? 0 : next.down, 1};  // fetched by row 0
            const matrix_t tile = {output.data + m * output.down + n, output.down, 1};
            const int whole = NB - n > 2 * LANES;  // else one vector at a time
            whole ? micro_kernel(3, K, row, panel, ahead, tile, rows, NB - n, add)
                  : micro_kernel(1, K, row, panel, ahead, tile, rows, NB - n, add);
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
// STARTER // helpers, if you want some (the reference takes 75 lines)

/* output = input (..., M, K) @ other (..., K, N), matrix by matrix */
status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    // BEGIN SOLUTION
    const int32_t axis = output->ndim - 2;
    const int64_t M = output->size[axis], N = output->size[axis + 1];
    const int64_t K = input->size[axis + 1], ROOM = least(K, KC) + 1;
    if (tensor_numel(output) == 0) return STATUS_OK;
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
                vec_transpose_copy(lhs.data, lhs.across, left, KB, KB, M);
                lhs = (matrix_t){left, KB, 1};
            }
            const matrix_t next = k + KC < K ? matrix_of(other, b, k + KC, n)
                                             : matrix_of(other, b, 0, n + NC);
            pack(matrix_of(other, b, k, n), KB, NB, right);
            block_product(lhs, M, KB, right, next, NB, matrix_of(output, b, 0, n),
                          k > 0);
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 25 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
