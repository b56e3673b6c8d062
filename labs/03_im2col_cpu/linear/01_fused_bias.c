/* 01 fused bias
 *
 *   idea    start each sum at the bias instead of 0: then output needs no second pass
 *   expect  1x the speed of 00_matmul: the product takes nearly all of the time
 *   limit   the multiply-adds take the time; with few rows, packing the weight does
 *   run     make bench T=03_im2col_cpu/linear/01
 *
 * Computes forward for all shapes and strides. Workspace: a packed block of weight, at
 * most 0.6 MiB of floats, and copies of non-contiguous input and weight.
 */
#include "operators.h"
#include "vector.h"

enum { MR = BLOCK_ROWS, NV = BLOCK_VECTORS, NR = NV * LANES };    // the register block
enum { KC = 256, NC = (1 << 19) / KC / sizeof(real) / NR * NR };  // L1, half of L2

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns how many lanes of one vector n elements fill: 0 to LANES. */
static int64_t within(int64_t n)
{
    return n < 0 ? 0 : least(n, LANES);
}

/* Packs a block of weight (N, K), with row stride IC, into panels of NR rows. A panel
 * begins with NR numbers of the bias. Then each term k has NR numbers of weight. Unused
 * places get 0: old memory may hold denormal numbers, and they slow multiply down. */
static void pack(const real *weight, int64_t IC, const tensor_t *bias, int64_t n0,
                 int64_t N, int64_t K, real *to)
{
    // BEGIN SOLUTION
    for (int64_t n = 0; n < N; n += NR, to += (K + 1) * NR) {
        const int64_t width = least(N - n, NR);
        if (width < NR) memset(to, 0, (size_t)((K + 1) * NR) * sizeof(real));
        for (int64_t i = 0; i < width; i++) to[i] = bias ? *at1(bias, n0 + n + i) : 0;
        vec_transpose_copy(weight + n * IC, IC, to + NR, NR, width, K);
    }
    // END SOLUTION
    // STARTER // for each panel: its biases, then its rows, transposed
    // STARTER // (the reference takes 6 lines)
}

/* A block of at most (R, D) elements of a matrix. Rows begin `step` elements apart. */
typedef struct {
    real *data;
    int64_t step, R, D;
} block_t;

/* tile = bias + lhs (R, K) @ panel, for at most MR rows and VECS vectors of columns.
 * The panel begins with the bias. If `later`, sums start at tile, not at the bias. */
EXPAND void multiply(int VECS, block_t lhs, const real *panel, block_t tile, int later)
{
    const real *left[MR];  // rows of lhs; past the edge the last row is repeated
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
    // STARTER // start sums at the bias, or at the numbers in tile
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
    // STARTER // add term by term, as in matmul/05_packed (the reference takes 8 lines)
    // STARTER (void)left, (void)right;
    // BEGIN SOLUTION
    UNROLL
    for (int m = 0; m < MR; m++) {
        if (m >= tile.R) break;
        real *row = tile.data + m * tile.step;
        for (int v = 0; v < VECS; v++)
            vec_store_first(row + v * LANES, sum[m][v], within(tile.D - v * LANES));
    }
    // END SOLUTION
    // STARTER // store only elements inside tile (the reference takes 7 lines)
    // STARTER (void)sum, (void)within;
}

/* output (R, N) = bias + lhs (R, K) @ right. If `later`, output += lhs @ right. */
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
    // STARTER // tiles of MR rows, NV vectors; if few columns are left, one vector
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
    // STARTER // pack each block of weight once, then use it for all rows
    // STARTER // (the reference takes 9 lines)
    // STARTER (void)pack, (void)block_product;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
