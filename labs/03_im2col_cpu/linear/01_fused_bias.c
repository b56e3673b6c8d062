/* 01 fused bias
 *
 *   idea    sums do not start at 0 but at the bias: no second pass over output
 *   expect  1x of 00_matmul: a pass over output is little beside IC products for each
 *   limit   multiply-adds, and packing weight where there are few rows
 *   run     make bench T=03_im2col_cpu/linear/01
 *
 * Forward, all shapes and strides. Workspace: (KC + 1) * (NC + NR) elements or less,
 * 0.6 MiB of floats, and copies of input and weight if they have gaps.
 */
#include "operators.h"
#include "vector.h"

enum { MR = BLOCK_ROWS, NV = BLOCK_VECTORS, NR = NV * LANES };    // registers
enum { KC = 256, NC = (1 << 19) / KC / sizeof(real) / NR * NR };  // L1, half of L2

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Lanes of a vector that n elements fill */
static int64_t within(int64_t n)
{
    return n < 0 ? 0 : least(n, LANES);
}

/* A block of weight (N, K), rows IC apart, in panels of NR rows. Of a panel the bias
 * comes first, then term by term what all its rows have of it. */
static void pack(const real *weight, int64_t IC, const tensor_t *bias, int64_t n0,
                 int64_t N, int64_t K, real *to)
{
    // BEGIN SOLUTION
    for (int64_t n = 0; n < N; n += NR, to += (K + 1) * NR) {
        const int64_t width = least(N - n, NR);
        for (int64_t i = 0; i < width; i++) to[i] = bias ? *at1(bias, n0 + n + i) : 0;
        vec_transpose_copy(weight + n * IC, IC, to + NR, NR, width, K);
    }
    // END SOLUTION
    // STARTER // panel by panel: its biases, then its rows, transposed
    // STARTER // (the reference takes 5 lines)
}

/* Elements of rows that are `step` apart, up to (R, D) of them. */
typedef struct {
    real *data;
    int64_t step, R, D;
} block_t;

/* VECS vectors of tile in up to MR rows: = bias + lhs (R, K) @ panel (1 + K, NR). What
 * is there already takes the place of the bias in a later block of terms. */
EXPAND void multiply(int VECS, block_t lhs, const real *panel, block_t tile, int later)
{
    const real *left[MR];  // rows of lhs; those beyond the edge repeat the last
    for (int m = 0; m < MR; m++) left[m] = lhs.data + least(m, tile.R - 1) * lhs.step;
    vec sum[MR][NV], right[NV];
    // BEGIN SOLUTION
    UNROLL
    for (int m = 0; m < MR; m++) {
        const real *row = later ? tile.data + least(m, tile.R - 1) * tile.step : panel;
        for (int v = 0; v < VECS; v++)
            sum[m][v] = vec_load_first(row + v * LANES, within(tile.D - v * LANES));
    }
    // END SOLUTION
    // STARTER // sums begin with the bias, or with what is there
    // STARTER // (the reference takes 6 lines)
    // BEGIN SOLUTION
    for (int64_t k = 0; k < lhs.D; k++) {
        panel += NR;
        UNROLL
        for (int v = 0; v < VECS; v++) right[v] = vec_keep(vec_load(panel + v * LANES));
        UNROLL
        for (int m = 0; m < MR; m++)
            for (int v = 0; v < VECS; v++) sum[m][v] += left[m][k] * right[v];
    }
    // END SOLUTION
    // STARTER // term by term, as in matmul/05_packed (the reference takes 8 lines)
    // STARTER (void)left, (void)right;
    // BEGIN SOLUTION
    UNROLL
    for (int m = 0; m < MR; m++) {
        real *row = tile.data + m * tile.step;
        for (int v = 0; v < VECS && m < tile.R; v++)
            vec_store_first(row + v * LANES, sum[m][v], within(tile.D - v * LANES));
    }
    // END SOLUTION
    // STARTER // what lies within tile is stored (the reference takes 6 lines)
    // STARTER (void)sum, (void)within;
}

/* output (R, N) = bias + lhs (R, K) @ right, packed; or += for later terms */
static void block_product(block_t lhs, const real *right, block_t output, int later)
{
    // BEGIN SOLUTION
    for (int64_t m = 0; m < lhs.R; m += MR) {
        const block_t row = {lhs.data + m * lhs.step, lhs.step, 0, lhs.D};
        for (int64_t n = 0, width; n < output.D; n += width) {
            const real *panel = right + n / NR * NR * (lhs.D + 1) + n % NR;
            const block_t tile = {output.data + m * output.step + n, output.step,
                                  output.R - m, output.D - n};
            width = tile.D > NR - LANES ? NR : LANES;
            width == NR ? multiply(NV, row, panel, tile, later)
                        : multiply(1, row, panel, tile, later);
        }
    }
    // END SOLUTION
    // STARTER // tiles of MR rows, NV vectors; one vector where few columns are left
    // STARTER // (the reference takes 11 lines)
}

/* output[r,oc] = bias[oc] + sum over ic of input[r,ic] * weight[oc,ic] */
status_t linear_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, tensor_t *output)
{
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t R = tensor_count(input, input->ndim - 1);
    if (R * OC == 0) return STATUS_OK;
    real *lhs = (real *)tensor_contiguous(ctx, input);  // (R, IC)
    const real *rhs = tensor_contiguous(ctx, weight);   // (OC, IC)
    if (IC > 0 && (!lhs || !rhs)) return STATUS_NO_MEMORY;
    const int64_t ROOM = (least(IC, KC) + 1) * (least(OC, NC) + NR);
    real *right = ctx_scratch(ctx, (size_t)ROOM * sizeof(real));
    if (!right) return STATUS_NO_MEMORY;
    // BEGIN SOLUTION
    for (int64_t n = 0; n < OC; n += NC) {
        for (int64_t k = 0; k == 0 || k < IC; k += KC) {  // IC = 0: sets the bias
            const int64_t N = least(OC - n, NC), K = least(IC - k, KC);
            pack(rhs + n * IC + k, IC, bias, n, N, K, right);
            block_product((block_t){lhs + k, IC, R, K}, right,
                          (block_t){real_data(output) + n, OC, R, N}, k > 0);
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // each block of weight is packed once and serves all rows
    // STARTER // (the reference takes 9 lines)
    // STARTER (void)pack, (void)block_product;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
