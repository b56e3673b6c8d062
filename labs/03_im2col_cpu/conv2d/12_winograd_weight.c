/* 12 winograd weight
 *
 *   idea    grad_weight is summed over tiles as it is transformed, and turned back once
 *   expect  2x over 04_pixel_gemm where 3x3 windows move by 1
 *   limit   36 sums for each weight, loaded and stored for each slab of tiles
 *   run     make bench T=03_im2col_cpu/conv2d/12
 *
 * For 3x3, stride 1, dilation 1, one group. Workspace: 36 values for each channel of a
 * slab of tiles, and 36 * IC * OC, or all tiles in one slab, whichever is smaller.
 */
#include "operators.h"
#include "vector.h"

conv2d_backward_fn fallback_backward;

// BEGIN SOLUTION
enum { TILE = 4, KERNEL = 3, AREA = 9, POINTS = TILE + KERNEL - 1, PLANES = 36 };
enum {
    NV = VECTOR_REGISTERS / 8,
    NR = NV * LANES,
    MR = 6
};                                 // MR channels x NV vectors
enum { KC = 8 * MR, TILES = 64 };  // channels, tiles, about

// grad_weight = GT (sum over tiles of (A grad_output A^T) * (BT input BT^T)) GT^T
static const double A[] = {1, 0, 0, 0, 1, 1,  1, 1,  1, -1, 1, -1,
                           1, 2, 4, 8, 1, -2, 4, -8, 0, 0,  0, 1};
static const double BT[] = {4, 0, -5, 0,  1, 0, 0, -4, -4, 1,  1, 0,
                            0, 4, -4, -1, 1, 0, 0, -2, -1, 2,  1, 0,
                            0, 2, -1, -2, 1, 0, 0, 4,  0,  -5, 0, 1};
static const double GT[] = {6. / 24, -4. / 24, -4. / 24, 1. / 24, 1. / 24,  0,
                            0,       -4. / 24, 4. / 24,  2. / 24, -2. / 24, 0,
                            0,       -4. / 24, -4. / 24, 4. / 24, 4. / 24,  1};

typedef struct {
    const int64_t *in, *out;  // sizes N, C, H, W of what is read and written
    int64_t padding_h, padding_w, TH, TW;  // TH x TW tiles an image
    int64_t CP, ROW, PU, PV, PM;           // from a pixel, row, plane to the next
    real *rows, *strip, *filters, *U, *V, *M;
} plan_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* to (R, R) = m (R, C) from (C, C) m^T in each lane; zeros in m cost nothing */
EXPAND void transform(const double *m, int R, int C, const real *from, int64_t from_row,
                      int64_t from_col, real *to, int64_t to_row, int64_t to_col)
{
    vec half[PLANES], sum = {0};  // (C, R)
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

/* V[plane][tile][c] of a row of tiles. Two rows of the image serve the next one too. */
static void input_row(const plan_t *p, const real *image, int64_t th, real *V)
{
    const int64_t CP = p->CP, IH = p->in[2], IW = p->in[3],
                  OLD = th ? POINTS - TILE : 0;
    memcpy(p->rows, p->rows + TILE * p->ROW, (size_t)(OLD * p->ROW) * sizeof(real));
    for (int64_t i = OLD; i < POINTS; i++) {
        const int64_t ih = th * TILE + i - p->padding_h;
        const int inside = ih >= 0 && ih < IH;
        real *row = p->rows + i * p->ROW;
        if (!inside) memset(row, 0, (size_t)p->ROW * sizeof(real));
        vec_transpose_copy(image + ih * IW, IH * IW, row + p->padding_w * CP, CP,
                           p->in[1], inside ? IW : 0);
    }
    for (int64_t i = 0; i < p->TW; i++) {
        for (int64_t c = 0; c < CP; c += LANES) {
            transform(BT, POINTS, POINTS, p->rows + i * TILE * CP + c, p->ROW, CP,
                      V + c / KC * PLANES * p->PV + i * KC + c % KC, POINTS * p->PV,
                      p->PV);
        }
    }
}

/* U (MR, VECS) = or += V (T, MR)^T @ M (T, VECS) */
EXPAND void product(int VECS, int64_t T, const real *V, const real *M, int first,
                    real *U)
{
    vec sum[MR][NV] = {{{0}}};
    for (int64_t t = 0; t < T; t++) {
        vec m[NV];
        UNROLL
        for (int v = 0; v < VECS; v++) m[v] = vec_load(M + t * NR + v * LANES);
        UNROLL
        for (int i = 0; i < MR * VECS; i++) {
            sum[i / VECS][i % VECS] += V[t * KC + i / VECS] * m[i % VECS];
        }
    }
    UNROLL
    for (int i = 0; i < MR * VECS; i++) {
        real *u = U + i / VECS * NR + i % VECS * LANES;
        vec_store(u, first ? sum[i / VECS][i % VECS]
                           : vec_load(u) + sum[i / VECS][i % VECS]);
    }
}

/* U[plane] (K, C) = or += V[plane] (T, K)^T @ M[plane] (T, C), channels from k on */
static void multiply(const plan_t *p, int64_t T, int64_t k, int64_t K, int64_t C,
                     int first, real *U)
{
    for (int64_t plane = 0; plane < PLANES; plane++) {
        const real *V = p->V + (k / KC * PLANES + plane) * p->PV;
        const real *M = p->M + plane * p->PM;
        real *u = U + plane * p->PU;
        for (int64_t i = 0; i < K; i += MR) {
            if (C <= 2 * LANES)
                product(2, T, V + i, M, first, u + i * NR);
            else
                product(NV, T, V + i, M, first, u + i * NR);
        }
    }
}

/* M[plane][tile][c] of a row of tiles of grad_output, C channels of it */
static void grad_row(const plan_t *p, const real *grad, int64_t C, int64_t oh, real *M)
{
    const int64_t OH = p->out[2], OW = p->out[3], ROW = p->TW * TILE * NR;
    for (int64_t i = 0; i < TILE; i++) {
        if (oh + i >= OH) memset(p->strip + i * ROW, 0, (size_t)ROW * sizeof(real));
        vec_transpose_copy(grad + (oh + i) * OW, OH * OW, p->strip + i * ROW, NR, C,
                           oh + i < OH ? OW : 0);
    }
    for (int64_t i = 0; i < p->TW; i++) {
        for (int64_t v = 0; v < C; v += LANES) {
            transform(A, POINTS, TILE, p->strip + i * TILE * NR + v, ROW, NR,
                      M + i * NR + v, POINTS * p->PM, p->PM);
        }
    }
}

/* grad_weight (C, .., 3, 3) of K channels of input from U[plane] (K, C) */
static void weight_chunk(const plan_t *p, const real *U, int64_t C, int64_t K,
                         real *weight)
{
    for (int64_t k = 0; k < K; k++) {
        for (int64_t v = 0; v < C; v += LANES) {
            transform(GT, KERNEL, POINTS, U + k * NR + v, POINTS * p->PU, p->PU,
                      p->filters + k * AREA * NR + v, KERNEL * NR, NR);
        }
    }
    vec_transpose_copy(p->filters, NR, weight, p->in[1] * AREA, K * AREA, C);
}

/* Slabs of rows of tiles. All of U is kept between them, or all rows are one slab. */
static status_t correlate(ctx_t *ctx, plan_t p, const real *input, const real *grad,
                          real *weight)
{
    const int64_t IC = p.in[1], OC = p.out[1], ROWS = p.in[0] * p.TH;
    const int64_t CHUNKS = (IC + KC - 1) / KC, PANELS = (OC + NR - 1) / NR;
    const int keep = IC * OC < ROWS * p.TW * (IC + NR);
    const int64_t SLAB = least(ROWS, keep ? (TILES + p.TW - 1) / p.TW : ROWS);
    p.PU = KC * NR + LANES, p.PV = SLAB * p.TW * KC + LANES;  // no powers of two
    p.PM = SLAB * p.TW * NR + LANES;
    const int64_t U = (keep ? PANELS * CHUNKS : 1) * PLANES * p.PU;
    const int64_t V = CHUNKS * PLANES * p.PV, M = PLANES * p.PM,
                  PIXELS = POINTS * p.ROW;
    const int64_t REST = (KC * AREA + TILE * TILE * p.TW) * NR;
    p.U = ctx_scratch(ctx, (size_t)(U + V + M + PIXELS + REST) * sizeof(real));
    if (!input || !grad || !p.U) return STATUS_NO_MEMORY;
    p.V = p.U + U, p.M = p.V + V, p.rows = p.M + M, p.filters = p.rows + PIXELS;
    p.strip = p.filters + KC * AREA * NR;
    memset(p.rows, 0, (size_t)(PIXELS + REST) * sizeof(real));

    for (int64_t r0 = 0; r0 < ROWS; r0 += SLAB) {
        const int64_t r1 = least(ROWS, r0 + SLAB);
        for (int64_t r = r0; r < r1; r++) {
            input_row(&p, input + r / p.TH * IC * p.in[2] * p.in[3], r % p.TH,
                      p.V + (r - r0) * p.TW * KC);
        }
        real *u = p.U;
        for (int64_t c = 0; c < OC; c += NR) {
            const int64_t C = least(NR, OC - c);
            for (int64_t r = r0; r < r1; r++) {
                grad_row(&p, grad + (r / p.TH * OC + c) * p.out[2] * p.out[3], C,
                         r % p.TH * TILE, p.M + (r - r0) * p.TW * NR);
            }
            for (int64_t k = 0; k < IC; k += KC, u += keep ? PLANES * p.PU : 0) {
                const int64_t K = least(KC, IC - k);
                multiply(&p, (r1 - r0) * p.TW, k, K, C, r0 == 0, u);
                if (r1 == ROWS) weight_chunk(&p, u, C, K, weight + (c * IC + k) * AREA);
            }
        }
    }
    return STATUS_OK;
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 169 lines)

/* grad_weight = what the tiles of input and of grad_output have in common, summed */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    const int fits = weight->size[2] == KERNEL && weight->size[3] == KERNEL &&
                     p.stride_h * p.stride_w * p.dilation_h * p.dilation_w == 1 &&
                     p.groups == 1 && tensor_numel(grad_output) > 0;
    if (!fits || grad_input || grad_bias) {
        const status_t status =
            fallback_backward(ctx, grad_output, input, weight, p, grad_input,
                              fits ? NULL : grad_weight, grad_bias);
        if (!fits || status != STATUS_OK) return status;
    }
    if (!grad_weight) return STATUS_OK;
    plan_t c = {.in = input->size, .out = grad_output->size};
    c.padding_h = p.padding_h, c.padding_w = p.padding_w;
    c.TH = (c.out[2] + TILE - 1) / TILE, c.TW = (c.out[3] + TILE - 1) / TILE;
    c.CP = (c.in[1] + LANES - 1) / LANES * LANES;
    c.ROW = (c.TW * TILE + KERNEL - 1) * c.CP;
    return correlate(ctx, c, tensor_contiguous(ctx, input),
                     tensor_contiguous(ctx, grad_output), real_data(grad_weight));
    // END SOLUTION
    // STARTER // your code (the reference takes 17 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
