/* 16 winograd strided weight
 *
 *   idea    add up tiles of 15_winograd_strided for grad_weight, then transform once
 *   expect  1.1x to 1.4x the speed of 04_pixel_gemm for 3x3 at stride 2
 *   limit   81 products of few tiles, each added to one of 36 sums
 *   run     make bench T=03_im2col_cpu/conv2d/16
 *
 * Covers grad_weight for 3x3, stride 2, dilation 1, one group. An infinity or NaN
 * reaches all weights of its channel. Workspace: 81 numbers for each channel of a slab
 * of tiles, and 36 * IC * OC sums. If a slab of all tiles is smaller than these sums,
 * it replaces the sums.
 */
#include "tiles.h"
#include "transforms.h"

enum { KERNEL = 3, AREA = 9, STRIDE = 2, TILE = 4 };
enum { POINTS = 9, PLANES = 81, EVEN = 5 };  // points 0 to 4 use even inputs
enum { SIDE = 6, FILTERS = 36 };             // odd inputs use one point of a filter
enum { KC = 32, TILES = 28 };                // KC channels, TILES tiles
enum { PU = KC * NR + LANES };  // numbers per plane of U, not a power of two

/* Transforms the inputs of all tiles in row r to V[chunk][plane][tile][channel]. */
APART void input_row(const tiles_t *t, const real *input, int64_t r, real *V)
{
    tiles_read(t, input, r);
    for (int64_t i = 0; i < t->TW; i++) {
        for (int64_t k = 0; k < t->CP; k += LANES) {
            const real *from = t->rows + i * t->STEP * t->CP + k;
            real *to = V + k / KC * PLANES * t->PV + i * KC + k % KC;
            transform(STRIDED_BT, POINTS, POINTS, from, t->ROW, t->CP, to,
                      POINTS * t->PV, t->PV);
        }
    }
}

/* Transforms C channels of tile row r of grad_output to M[plane][tile][channel]. */
APART void grad_row(const tiles_t *t, const real *grad, int64_t C, int64_t r, real *M)
{
    tiles_take(t, grad, C, r);
    for (int64_t i = 0; i < t->TW; i++) {
        for (int64_t c = 0; c < C; c += LANES)
            transform(STRIDED_A, POINTS, TILE, t->strip + i * TILE * NR + c, t->LINE,
                      NR, M + i * NR + c, POINTS * t->PM, t->PM);
    }
}

/* For each plane: U[u] (K, C) += V[chunk][plane]^T (K, T) @ M[plane] (T, C). Several
 * planes add to one U[u]. The first plane sets U[u], if not `add`. k: first channel. */
APART void multiply(const tiles_t *t, int64_t T, int64_t k, int64_t K, int64_t C,
                    int add, real *U)
{
    // BEGIN SOLUTION
    const real *V = t->V + k / KC * PLANES * t->PV;
    for (int64_t plane = 0; plane < PLANES; plane++) {
        const left_t tiles = {V + plane * t->PV, 1, KC};  // V, transposed
        const int64_t i = plane / POINTS, j = plane % POINTS;
        const int first = i <= EVEN && j <= EVEN;
        panel_product(K, C, T, tiles, t->M + plane * t->PM, add || !first,
                      U + (least(i, EVEN) * SIDE + least(j, EVEN)) * PU);
    }
    // END SOLUTION
    // STARTER // several planes of M add to one plane of U: the first one sets it,
    // STARTER // unless it has sums of an earlier slab (the reference takes 8 lines)
}

/* Transforms U[plane] (K, C) to grad_weight of C filters, K input channels, at `to`. */
APART void weight_chunk(const tiles_t *t, const real *U, int64_t C, int64_t K, real *to)
{
    for (int64_t k = 0; k < K; k++) {
        for (int64_t c = 0; c < C; c += LANES)
            transform(STRIDED_GT, KERNEL, SIDE, U + k * NR + c, SIDE * PU, PU,
                      t->filters + k * AREA * NR + c, KERNEL * NR, NR);
    }
    vec_transpose_copy(t->filters, NR, to, t->in[1] * AREA, K * AREA, C);
}

/* Adds up all tiles in U, slab by slab. If U is too large, all tiles form one slab. */
static status_t correlate(ctx_t *ctx, const tensor_t *input, const tensor_t *grad,
                          conv2d_params_t p, real *weight)
{
    const int64_t *out = grad->size, IC = input->size[1], OC = out[1];
    tiles_t t = {input->size, grad->size, p.padding_h, p.padding_w, .KC = KC};
    t.KERNEL = KERNEL, t.TILE = TILE, t.STEP = TILE * STRIDE;
    t.READ = t.POINTS = POINTS;
    tiles_measure(&t);
    const int64_t ALL = t.ROWS * t.TW;
    const int keep = FILTERS * IC * OC < PLANES * ALL * (IC + NR);
    const int64_t U = (keep ? t.PANELS * t.CHUNKS : 1) * FILTERS * PU;
    const real *x = tensor_contiguous(ctx, input), *g = tensor_contiguous(ctx, grad);
    const status_t status = tiles_share(ctx, &t, keep ? TILES : ALL, U);
    if (!x || !g || status != STATUS_OK) return STATUS_NO_MEMORY;
    for (int64_t r0 = 0; r0 < t.ROWS; r0 += t.SLAB) {
        const int64_t r1 = least(t.ROWS, r0 + t.SLAB), T = (r1 - r0) * t.TW;
        for (int64_t r = r0; r < r1; r++)
            input_row(&t, x, r, t.V + (r - r0) * t.TW * KC);
        // BEGIN SOLUTION
        real *u = t.U;
        for (int64_t c = 0; c < OC; c += NR) {
            const int64_t C = least(NR, OC - c);
            for (int64_t r = r0; r < r1; r++)
                grad_row(&t, g + c * out[2] * out[3], C, r, t.M + (r - r0) * t.TW * NR);
            for (int64_t k = 0; k < IC; k += KC, u += keep ? FILTERS * PU : 0) {
                const int64_t K = least(KC, IC - k);
                multiply(&t, T, k, K, C, r0 > 0, u);
                if (r1 == t.ROWS)
                    weight_chunk(&t, u, C, K, weight + (c * IC + k) * AREA);
            }
        }
        // END SOLUTION
        // STARTER (void)grad_row, (void)multiply, (void)weight_chunk, (void)g, (void)T;
        // STARTER (void)OC, (void)out;
        // STARTER // as in 12_winograd_weight (the reference takes 12 lines)
        // STARTER return STATUS_NOT_IMPLEMENTED;
    }
    return STATUS_OK;
}

/* grad_weight = sum over tiles of the products of input and grad_output */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    const int fits = tiles_fit(weight, p, KERNEL, STRIDE) && tensor_numel(grad_output);
    if (!fits || !grad_weight) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_INPUT | GRAD_BIAS;
    return correlate(ctx, input, grad_output, p, real_data(grad_weight));
}
