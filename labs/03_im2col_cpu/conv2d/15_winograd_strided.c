/* 15 winograd strided
 *
 *   idea    at stride 2, even inputs meet two of three taps: 5 + 4 products, not 12
 *   expect  1.1x to 1.4x the speed of 02_implicit_gemm and 14_strided_input
 *   limit   the transforms: 81 numbers for 16 outputs
 *   run     make bench T=03_im2col_cpu/conv2d/15
 *
 * Even inputs meet taps 0 and 2: F(4,2) needs 5 products for 4 outputs. Odd inputs meet
 * tap 1: 4 products. Covers 3x3, stride 2, dilation 1, one group; grad_input only with
 * padding 1. An infinity or NaN reaches all outputs of its tile. Workspace: 81 numbers
 * per input and output channel of about TILES tiles; at most KEPT numbers for filters;
 * for grad_input, a copy of weight.
 */
#include "tiles.h"
#include "transforms.h"
#include "turned.h"

enum { KERNEL = 3, AREA = 9, STRIDE = 2, TILE = 4, WIDE = 8 };  // WIDE: of grad_input
enum { POINTS = 9, PLANES = 81, EVEN = 5 };    // points 0 to 4 use even inputs
enum { SIDE = 6, FILTERS = 36 };               // odd inputs use one point of a filter
enum { KC = 32, TILES = 32, KEPT = 1 << 20 };  // KC channels, KEPT numbers
enum { PU = KC * NR + LANES };  // numbers per plane of U, not a power of two

/* Transforms the inputs of all tiles in row r to V[chunk][plane][tile][channel]. */
APART void input_row(const tiles_t *t, const real *input, int64_t r, real *V)
{
    tiles_read(t, input, r);
    for (int64_t i = 0; i < t->TW; i++) {
        for (int64_t k = 0; k < t->CP; k += LANES) {
            const real *from = t->rows + i * t->STEP * t->CP + k;
            real *to = V + k / KC * PLANES * t->PV + i * KC + k % KC;
            if (t->TILE == TILE)
                transform(STRIDED_BT, POINTS, POINTS, from, t->ROW, t->CP, to,
                          POINTS * t->PV, t->PV);
            else
                transform(SPREAD_BT, POINTS, EVEN, from, t->ROW, t->CP, to,
                          POINTS * t->PV, t->PV);
        }
    }
}

/* Transforms K channels of C filters (C, IC, AREA) to U[plane][channel][filter]. */
APART void weight_chunk(const tiles_t *t, const real *weight, int64_t C, int64_t K,
                        real *U)
{
    vec_transpose_copy(weight, t->in[1] * AREA, t->filters, NR, C, K * AREA);
    for (int64_t k = 0; k < K; k++) {
        for (int64_t c = 0; c < C; c += LANES)
            transform(STRIDED_G, SIDE, KERNEL, t->filters + k * AREA * NR + c,
                      KERNEL * NR, NR, U + k * NR + c, SIDE * PU, PU);
    }
}

/* For each plane: M[plane] (T, C) = V[chunk][plane] (T, K) @ a plane of U (K, C). The
 * chunk is K input channels from k on. If k > 0, adds the products to M[plane]. */
APART void multiply(const tiles_t *t, int64_t T, int64_t k, int64_t K, int64_t C,
                    const real *U)
{
    // BEGIN SOLUTION
    const real *V = t->V + k / KC * PLANES * t->PV;
    for (int64_t plane = 0; plane < PLANES; plane++) {
        const left_t tiles = {V + plane * t->PV, KC, 1};
        const int64_t row = least(plane / POINTS, EVEN);
        const int64_t column = least(plane % POINTS, EVEN);
        panel_product(T, C, K, tiles, U + (row * SIDE + column) * PU, k > 0,
                      t->M + plane * t->PM);
    }
    // END SOLUTION
    // STARTER // M has POINTS x POINTS planes and U has SIDE x SIDE: points EVEN and up
    // STARTER // use the last point of an axis (the reference takes 8 lines)
}

/* Transforms M to C channels of tile row r of output. Adds the bias to plane POINTS + 1
 * (row 1, column 1) of M, because each output contains this plane with the factor 1. */
APART void output_row(const tiles_t *t, real *M, const real *bias, int64_t C, int64_t r,
                      real *output)
{
    for (int64_t c = 0; c < C; c += LANES) {
        for (int64_t i = 0; i < t->TW; i++) {
            real *m = M + i * NR + c, *one = m + (POINTS + 1) * t->PM;
            real *to = t->strip + i * t->TILE * NR + c;
            vec_store(one, vec_load(one) + vec_load(bias + c));
            if (t->TILE == TILE)
                transform(STRIDED_AT, TILE, POINTS, m, POINTS * t->PM, t->PM, to,
                          t->LINE, NR);
            else
                transform(SPREAD_AT, WIDE, POINTS, m, POINTS * t->PM, t->PM, to,
                          t->LINE, NR);
        }
        tiles_write(t, c, least(LANES, C - c), r, output);
    }
}

/* Computes output tile by tile from input, weight (OC, IC, 3, 3) and bias. The caller
 * sets the fields padding_h, padding_w, TILE, STEP and READ of t. */
static status_t convolve(ctx_t *ctx, tiles_t t, const tensor_t *input,
                         const tensor_t *weight, const tensor_t *bias, tensor_t *output)
{
    const int64_t IC = input->size[1], OC = output->size[1];
    t.in = input->size, t.out = output->size;
    t.KERNEL = KERNEL, t.POINTS = POINTS, t.KC = KC;
    tiles_measure(&t);
    const int64_t ALL = t.PANELS * t.CHUNKS * FILTERS * PU;
    const int keep = ALL <= KEPT;
    const real *x = tensor_contiguous(ctx, input), *w = tensor_contiguous(ctx, weight);
    const status_t status = tiles_share(ctx, &t, TILES, keep ? ALL : FILTERS * PU);
    if (!x || !w || status != STATUS_OK) return STATUS_NO_MEMORY;
    for (int64_t r0 = 0; r0 < t.ROWS; r0 += t.SLAB) {
        const int64_t r1 = least(t.ROWS, r0 + t.SLAB);
        for (int64_t r = r0; r < r1; r++)
            input_row(&t, x, r, t.V + (r - r0) * t.TW * KC);
        // BEGIN SOLUTION
        real *u = t.U;
        for (int64_t c = 0; c < OC; c += NR) {
            const int64_t C = least(NR, OC - c);
            real *y = at4(output, 0, c, 0, 0), start[NR] = {0};
            for (int64_t i = 0; i < C; i++) start[i] = bias ? *at1(bias, c + i) : 0;
            for (int64_t k = 0; k < IC; k += KC, u += keep ? FILTERS * PU : 0) {
                const int64_t K = least(KC, IC - k);
                if (r0 == 0 || !keep)
                    weight_chunk(&t, w + (c * IC + k) * AREA, C, K, u);
                multiply(&t, (r1 - r0) * t.TW, k, K, C, u);
            }
            for (int64_t r = r0; r < r1; r++)
                output_row(&t, t.M + (r - r0) * t.TW * NR, start, C, r, y);
        }
        // END SOLUTION
        // STARTER (void)weight_chunk, (void)multiply, (void)output_row, (void)bias;
        // STARTER (void)OC, (void)IC, (void)w;
        // STARTER // as in 10_winograd_4x4; U has FILTERS planes
        // STARTER // (the reference takes 14 lines)
        // STARTER return STATUS_NOT_IMPLEMENTED;
    }
    return STATUS_OK;
}

/* Computes tiles of 4 x 4 outputs from tiles of 9 x 9 inputs. */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    if (!tiles_fit(weight, p, KERNEL, STRIDE)) return STATUS_UNSUPPORTED;
    if (tensor_numel(output) == 0) return STATUS_OK;
    tiles_t t = {.padding_h = p.padding_h, .padding_w = p.padding_w};
    // BEGIN SOLUTION
    t.TILE = TILE, t.STEP = TILE * STRIDE, t.READ = POINTS;
    // END SOLUTION
    // STARTER // set the sizes that tiles.h explains (the reference takes 1 line)
    // STARTER return STATUS_NOT_IMPLEMENTED;
    return convolve(ctx, t, input, weight, bias, output);
}

/* Computes 8 x 8 tiles of grad_input from 5 x 5 of grad_output and flipped filters.
 * Pixel 2i needs pixel i of grad_output, pixel 2i + 1 needs the pixels i and i + 1. */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    const int fits = tiles_fit(weight, p, KERNEL, STRIDE) && p.padding_h == 1 &&
                     p.padding_w == 1 && tensor_numel(grad_output) > 0;
    // BEGIN SOLUTION
    if (!fits || !grad_input) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_WEIGHT | GRAD_BIAS;
    const taps_t all = {.STEP = 1, .T = KERNEL};
    const tensor_t filters = turned(ctx, weight, 1, all, all);
    if (!filters.data) return STATUS_NO_MEMORY;
    const tiles_t t = {.TILE = WIDE, .STEP = TILE, .READ = EVEN};
    return convolve(ctx, t, grad_output, &filters, NULL, grad_input);
    // END SOLUTION
    // STARTER (void)fits;
    // STARTER // ctx->left, turned.h, tiles (the reference takes 7 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
