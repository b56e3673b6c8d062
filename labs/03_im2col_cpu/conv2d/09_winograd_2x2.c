/* 09 winograd 2x2
 *
 *   idea    F(2x2,3x3): 4 x 4 inputs give 2 x 2 outputs with 16 products, not 36
 *   expect  at most 2.25x, less what the transforms cost; not yet timed
 *   limit   memory: a tile takes 4 times as much as it gives
 *   run     make bench T=03_im2col_cpu/conv2d/09
 *
 * Lavin and Gray, arXiv 1509.09308. For 3x3, stride 1, dilation 1, one group, else the
 * fallback. Workspace: 16*IC*OC, and 5 values for each channel and pixel of an image.
 */
#include "operators.h"
#include "vector.h"

conv2d_forward_fn fallback_forward;
matmul_forward_fn gemm_forward;

// BEGIN SOLUTION
enum { TILE = 2, KERNEL = 3, AREA = 9, POINTS = 4, PLANES = 16 };

/* Input x and filter g are taken for polynomials: their values at the points 0, 1, -1
 * and infinity are multiplied, and AT makes outputs of that:
 *
 *     output = AT ((G g G^T) * (BT x BT^T)) AT^T    for each tile, * by element
 */
// clang-format off
static const double BT[] = {1,  0, -1,  0,
                            0,  1,  1,  0,
                            0, -1,  1,  0,
                            0,  1,  0, -1};
static const double G[] = {1.0,  0.0, 0.0,
                           0.5,  0.5, 0.5,
                           0.5, -0.5, 0.5,
                           0.0,  0.0, 1.0};
static const double AT[] = {1, 1,  1,  0,
                            0, 1, -1, -1};
// clang-format on

/* to (R, R) = m (R, C) from (C, C) m^T for LANES channels at once */
EXPAND void transform(const double *m, int R, int C, const real *from, int64_t from_row,
                      int64_t from_col, real *to, int64_t to_row, int64_t to_col)
{
    vec half[PLANES], sum = {0};  // (C, R), the transpose of m from
    UNROLL
    for (int i = 0; i < C * R; half[i++] = sum, sum = (vec){0}) {
        UNROLL
        for (int c = 0; c < C; c++) {
            const vec x = vec_load(from + c * from_row + i / R * from_col);
            if (m[i % R * C + c] != 0) sum += (real)m[i % R * C + c] * x;
        }
    }
    UNROLL
    for (int i = 0; i < R * R; i++, sum = (vec){0}) {
        UNROLL
        for (int c = 0; c < C; c++) {
            const vec x = half[c * R + i / R];
            if (m[i % R * C + c] != 0) sum += (real)m[i % R * C + c] * x;
        }
        vec_store(to + i / R * to_row + i % R * to_col, sum);
    }
}

typedef struct {
    int64_t IC, IH, IW, OC, OH, OW, CP, OP, TH, TW, ROW, T;  // CP, OP: whole vectors
    real *image, *filters, *U, *V, *M, *pixels;
} plan_t;

/* U[plane] (IC, OP) = G g G^T of filters that lie (AREA, OP) for each input channel */
static void transform_filters(const plan_t *c, const real *weight)
{
    vec_transpose_copy(weight, c->IC * AREA, c->filters, c->OP, c->OC, c->IC * AREA);
    for (int64_t i = 0; i < c->IC * c->OP; i += LANES) {
        const real *filter = c->filters + i / c->OP * AREA * c->OP + i % c->OP;
        transform(G, POINTS, KERNEL, filter, KERNEL * c->OP, c->OP, c->U + i,
                  POINTS * c->CP * c->OP, c->CP * c->OP);
    }
}

/* V[plane] (T, CP) = BT x BT^T of tiles of 4 x 4 that step by 2 over a padded image */
static void transform_input(const plan_t *c, const real *input, conv2d_params_t p)
{
    for (int64_t ih = 0; ih < c->IH; ih++) {
        real *row = c->image + ((ih + p.padding_h) * c->ROW + p.padding_w) * c->CP;
        vec_transpose_copy(input + ih * c->IW, c->IH * c->IW, row, c->CP, c->IC, c->IW);
    }
    for (int64_t t = 0; t < c->T; t++) {
        const int64_t pixel = (t / c->TW * c->ROW + t % c->TW) * TILE;
        for (int64_t v = 0; v < c->CP; v += LANES) {
            transform(BT, POINTS, POINTS, c->image + pixel * c->CP + v, c->ROW * c->CP,
                      c->CP, c->V + t * c->CP + v, POINTS * c->T * c->CP, c->T * c->CP);
        }
    }
}

/* output (OC, OH, OW) = AT M AT^T, tile by tile, by way of pixels (2*TH, 2*TW, OP) */
static void transform_output(const plan_t *c, real *output)
{
    for (int64_t t = 0; t < c->T; t++) {
        const int64_t pixel = (t / c->TW * TILE * c->TW + t % c->TW) * TILE;
        for (int64_t v = 0; v < c->OP; v += LANES) {
            transform(AT, TILE, POINTS, c->M + t * c->OP + v, POINTS * c->T * c->OP,
                      c->T * c->OP, c->pixels + pixel * c->OP + v, TILE * c->TW * c->OP,
                      c->OP);
        }
    }
    for (int64_t oh = 0; oh < c->OH; oh++) {
        vec_transpose_copy(c->pixels + oh * TILE * c->TW * c->OP, c->OP,
                           output + oh * c->OW, c->OH * c->OW, c->OW, c->OC);
    }
}

/* (PLANES, ROWS, COLS) as a tensor for the products */
static tensor_t planes(real *data, int64_t ROWS, int64_t COLS, int64_t plane,
                       int64_t row)
{
    tensor_t t = {.data = data, .ndim = 3, .dtype = REAL_DTYPE};
    t.size[0] = PLANES, t.size[1] = ROWS, t.size[2] = COLS;
    t.stride[0] = plane, t.stride[1] = row, t.stride[2] = 1;
    return t;
}

/* One image: 16 products of (T, IC) and (IC, OP). Point 1 is 1 in every power: what is
 * added to its plane, the bias, is added to every output. */
static status_t convolve(ctx_t *ctx, const plan_t *c, const tensor_t *bias)
{
    const tensor_t U = planes(c->U, c->IC, c->OP, c->CP * c->OP, c->OP);
    const tensor_t V = planes(c->V, c->T, c->IC, c->T * c->CP, c->CP);
    tensor_t M = planes(c->M, c->T, c->OP, c->T * c->OP, c->OP);
    const status_t status = gemm_forward(ctx, &V, &U, &M);
    for (int64_t i = 0; bias && i < c->T * c->OC; i++) {
        *at3(&M, POINTS + 1, i / c->OC, i % c->OC) += *at1(bias, i % c->OC);
    }
    return status;
}
// END SOLUTION
// STARTER // matrices and helpers (the reference takes 94 lines)

/* Channels last, so that a vector holds channels of one pixel, image by image */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t *in = input->size, *out = output->size;
    if (weight->size[2] != KERNEL || weight->size[3] != KERNEL || p.groups != 1 ||
        p.stride_h * p.stride_w * p.dilation_h * p.dilation_w != 1) {
        return fallback_forward(ctx, input, weight, bias, p, output);
    }
    if (tensor_numel(output) == 0) return STATUS_OK;
    plan_t c = {.IC = in[1],
                .IH = in[2],
                .IW = in[3],
                .OC = out[1],
                .OH = out[2],
                .OW = out[3]};
    c.CP = (c.IC + LANES - 1) / LANES * LANES,
    c.OP = (c.OC + LANES - 1) / LANES * LANES;
    c.TH = (c.OH + 1) / TILE, c.TW = (c.OW + 1) / TILE, c.T = c.TH * c.TW;
    c.ROW = c.TW * TILE + KERNEL - 1;
    const int64_t PIXELS = (c.TH * TILE + KERNEL - 1) * c.ROW;
    c.image = ctx_scratch(ctx, (size_t)(PIXELS * (c.CP + c.OP)) * sizeof(real));
    c.U = ctx_scratch(ctx, (size_t)((PLANES + AREA) * c.CP * c.OP) * sizeof(real));
    c.V = ctx_scratch(ctx, (size_t)(PLANES * c.T * (c.CP + c.OP)) * sizeof(real));
    const real *x = tensor_contiguous(ctx, input), *w = tensor_contiguous(ctx, weight);
    if (!c.image || !c.U || !c.V || !x || !w) return STATUS_NO_MEMORY;
    c.pixels = c.image + PIXELS * c.CP, c.M = c.V + PLANES * c.T * c.CP;
    c.filters = c.U + PLANES * c.CP * c.OP;
    memset(c.image, 0, (size_t)(PIXELS * c.CP) * sizeof(real));
    transform_filters(&c, w);
    for (int64_t n = 0; n < in[0]; n++) {
        transform_input(&c, x + n * c.IC * c.IH * c.IW, p);
        const status_t status = convolve(ctx, &c, bias);
        if (status != STATUS_OK) return status;
        transform_output(&c, real_data(output) + n * c.OC * c.OH * c.OW);
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 33 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
