/* 13 winograd 5x5
 *
 *   idea    F(2x2,5x5): the same 6 x 6 points, 2.8x fewer multiplications, both ways
 *   expect  1.5x over 02_implicit_gemm where 5x5 windows move by 1
 *   limit   transforms: a tile of 36 gives only 4 outputs
 *   run     make bench T=03_im2col_cpu/conv2d/13
 *
 * For 5x5, stride 1, dilation 1, padding below 5, one group. Workspace: 36 values for
 * each channel of some 64 tiles, in and out, and for at most KEPT filters.
 */
#include "operators.h"
#include "vector.h"

conv2d_forward_fn fallback_forward;
conv2d_backward_fn fallback_backward;

// BEGIN SOLUTION
enum { TILE = 2, KERNEL = 5, AREA = 25, POINTS = TILE + KERNEL - 1, PLANES = 36 };
enum { NV = VECTOR_REGISTERS / 8, NR = NV * LANES, MR = 6 };  // MR tiles x NV vectors
enum { KC = 32, TILES = 28, MANY = 64, KEPT = 1 << 20 };      // channels, tiles, reals

// output = AT ((G weight G^T) * (BT input BT^T)) AT^T, points 0, 1, -1, 2, -2, infinity
static const double AT[] = {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 1};
static const double BT[] = {4, 0, -5, 0,  1, 0, 0, -4, -4, 1,  1, 0,
                            0, 4, -4, -1, 1, 0, 0, -2, -1, 2,  1, 0,
                            0, 2, -1, -2, 1, 0, 0, 4,  0,  -5, 0, 1};
static const double G[] = {0.25,     0,        0,        0,        0,        -4 / 24.,
                           -4 / 24., -4 / 24., -4 / 24., -4 / 24., -4 / 24., 4 / 24.,
                           -4 / 24., 4 / 24.,  -4 / 24., 1 / 24.,  2 / 24.,  4 / 24.,
                           8 / 24.,  16 / 24., 1 / 24.,  -2 / 24., 4 / 24.,  -8 / 24.,
                           16 / 24., 0,        0,        0,        0,        1};

typedef struct {
    const int64_t *in, *out;  // sizes N, C, H, W of what is read and written
    int64_t padding_h, padding_w, TH, TW;  // TH x TW tiles an image
    int64_t weight_k, weight_c, turned;    // elements to the next channel, filter
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
    memmove(p->rows, p->rows + TILE * p->ROW, (size_t)(OLD * p->ROW) * sizeof(real));
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

/* U[plane][k][c] of K channels and C filters; turned filters are read backwards */
static void weight_chunk(const plan_t *p, const real *weight, int64_t C, int64_t K,
                         real *U)
{
    const real *first = p->filters + (p->turned ? (AREA - 1) * NR : 0);
    const int64_t step = p->turned ? -NR : NR;
    for (int64_t k = 0; k < K; k++) {
        vec_transpose_copy(weight + k * p->weight_k, p->weight_c, p->filters, NR, C,
                           AREA);
        for (int64_t v = 0; v < C; v += LANES) {
            transform(G, POINTS, KERNEL, first + v, KERNEL * step, step, U + k * NR + v,
                      POINTS * p->PU, p->PU);
        }
    }
}

/* M (ROWS, VECS) = or += V (ROWS, K) @ U (K, VECS); next: what to fetch meanwhile */
EXPAND void product(int ROWS, int VECS, int64_t K, const real *V, const real *U,
                    const real *next, int first, real *M)
{
    vec sum[MR * NV];
    UNROLL
    for (int i = 0; i < ROWS * VECS; i++) {
        const real *old = M + i / VECS * NR + i % VECS * LANES;
        sum[i] = first ? (vec){0} : vec_load(old);
    }
    for (int64_t k = 0; k < K; k++) {
        vec u[NV];
        __builtin_prefetch(next + k * LANES);
        UNROLL
        for (int v = 0; v < VECS; v++) u[v] = vec_load(U + k * NR + v * LANES);
        UNROLL
        for (int i = 0; i < ROWS * VECS; i++) {
            sum[i] += V[i / VECS * KC + k] * u[i % VECS];
        }
    }
    UNROLL
    for (int i = 0; i < ROWS * VECS; i++) {
        vec_store(M + i / VECS * NR + i % VECS * LANES, sum[i]);
    }
}

/* M[plane] (T, C) = or += V[plane] (T, K) @ U[plane] (K, C) for channels k to k + K */
static void multiply(const plan_t *p, int64_t T, int64_t k, int64_t K, int64_t C,
                     const real *U)
{
    for (int64_t i = 0, rows = 1; i < PLANES * T; i += rows) {
        const int64_t plane = i / T, t = i % T;
        const real *V = p->V + (k / KC * PLANES + plane) * p->PV + t * KC;
        const real *u = U + plane * p->PU, *next = u + p->PU + t / MR * KC * LANES;
        real *M = p->M + plane * p->PM + t * NR;
        rows = C > NR / 2 ? MR : 2 * MR;
        if (t + rows > T) rows = 1;
        if (rows == 1)
            product(1, NV, K, V, u, next, k == 0, M);
        else if (rows == MR)
            product(MR, NV, K, V, u, next, k == 0, M);
        else
            product(2 * MR, NV / 2, K, V, u, next, k == 0, M);
    }
}

/* Point 1 is 1 in every power: what is added to its plane is added to each output. */
static void output_row(const plan_t *p, real *M, const real *bias, int64_t C,
                       int64_t oh, real *output)
{
    const int64_t OH = p->out[2], OW = p->out[3], ROW = p->TW * TILE * NR;
    for (int64_t v = 0; v < C; v += LANES) {
        const int64_t count = least(LANES, C - v);
        const vec start = vec_load_first(bias + v, bias ? count : 0);
        for (int64_t i = 0; i < p->TW; i++) {
            for (int64_t l = v; l < v + count; l++) {  // a line of each plane, soon
                __builtin_prefetch(output + (l * OH + oh) * OW + i * 16, 1);
            }
            real *m = M + i * NR + v, *one = m + (POINTS + 1) * p->PM;
            vec_store(one, vec_load(one) + start);
            transform(AT, TILE, POINTS, m, POINTS * p->PM, p->PM,
                      p->strip + i * TILE * NR + v, ROW, NR);
        }
        for (int64_t i = 0; i < least(TILE, OH - oh); i++) {
            vec_transpose_copy(p->strip + i * ROW + v, NR,
                               output + (v * OH + oh + i) * OW, OH * OW, OW, count);
        }
    }
}

/* Slabs of rows of tiles. U is made anew for each of them unless all of it is small. */
static status_t convolve(ctx_t *ctx, plan_t p, const real *input, const real *weight,
                         const real *bias, real *output)
{
    const int64_t IC = p.in[1], OC = p.out[1], ROWS = p.in[0] * p.TH;
    const int64_t CHUNKS = (IC + KC - 1) / KC, PANELS = (OC + NR - 1) / NR;
    const int keep = PANELS * CHUNKS * KC * NR * PLANES <= KEPT;
    const int64_t SLAB = least(ROWS, ((keep ? TILES : MANY) + p.TW - 1) / p.TW);
    p.PU = KC * NR + LANES, p.PV = SLAB * p.TW * KC + LANES;  // no powers of two
    p.PM = SLAB * p.TW * NR + LANES;
    const int64_t U = (keep ? PANELS * CHUNKS : 1) * PLANES * p.PU;
    const int64_t V = CHUNKS * PLANES * p.PV, M = PLANES * p.PM,
                  PIXELS = POINTS * p.ROW;
    const int64_t REST = (KC * AREA + TILE * TILE * p.TW) * NR;
    p.U = ctx_scratch(ctx, (size_t)(U + V + M + PIXELS + REST) * sizeof(real));
    if (!input || !weight || !p.U) return STATUS_NO_MEMORY;
    p.V = p.U + U, p.M = p.V + V, p.rows = p.M + M, p.filters = p.rows + PIXELS;
    p.strip = p.filters + KC * AREA * NR;
    memset(p.rows, 0, (size_t)PIXELS * sizeof(real));

    for (int64_t r0 = 0; r0 < ROWS; r0 += SLAB) {
        const int64_t r1 = least(ROWS, r0 + SLAB);
        for (int64_t r = r0; r < r1; r++) {
            input_row(&p, input + r / p.TH * IC * p.in[2] * p.in[3], r % p.TH,
                      p.V + (r - r0) * p.TW * KC);
        }
        real *u = p.U;
        for (int64_t c = 0; c < OC; c += NR) {
            const int64_t C = least(NR, OC - c);
            for (int64_t k = 0; k < IC; k += KC, u += keep ? PLANES * p.PU : 0) {
                const int64_t K = least(KC, IC - k);
                const real *filters = weight + c * p.weight_c + k * p.weight_k;
                if (r0 == 0 || !keep) weight_chunk(&p, filters, C, K, u);
                multiply(&p, (r1 - r0) * p.TW, k, K, C, u);
            }
            for (int64_t r = r0; r < r1; r++) {
                output_row(&p, p.M + (r - r0) * p.TW * NR, bias ? bias + c : NULL, C,
                           r % p.TH * TILE,
                           output + (r / p.TH * OC + c) * p.out[2] * p.out[3]);
            }
        }
    }
    return STATUS_OK;
}

static int fits(const tensor_t *weight, conv2d_params_t p)
{
    return weight->size[2] == KERNEL && weight->size[3] == KERNEL && p.groups == 1 &&
           p.padding_h < KERNEL && p.padding_w < KERNEL &&
           p.stride_h * p.stride_w * p.dilation_h * p.dilation_w == 1;
}

static void tile(plan_t *p)
{
    p->TH = (p->out[2] + TILE - 1) / TILE, p->TW = (p->out[3] + TILE - 1) / TILE;
    p->CP = (p->in[1] + LANES - 1) / LANES * LANES;
    p->ROW = (p->TW * TILE + KERNEL - 1) * p->CP;
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 198 lines)

/* output = bias + each tile of 2 x 2 from its 6 x 6 inputs and all filters */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    if (!fits(weight, p)) return fallback_forward(ctx, input, weight, bias, p, output);
    if (tensor_numel(output) == 0) return STATUS_OK;
    plan_t c = {.in = input->size, .out = output->size, .padding_h = p.padding_h};
    c.padding_w = p.padding_w, c.weight_k = AREA, c.weight_c = c.in[1] * AREA;
    tile(&c);
    const real *start = bias ? tensor_contiguous(ctx, bias) : NULL;
    if (bias && !start) return STATUS_NO_MEMORY;
    return convolve(ctx, c, tensor_contiguous(ctx, input),
                    tensor_contiguous(ctx, weight), start, real_data(output));
    // END SOLUTION
    // STARTER // your code (the reference takes 9 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* grad_input: the same from grad_output and turned filters, channels swapped */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    const int mine = fits(weight, p);
    if (!mine || grad_weight || grad_bias) {
        const status_t status =
            fallback_backward(ctx, grad_output, input, weight, p,
                              mine ? NULL : grad_input, grad_weight, grad_bias);
        if (!mine || status != STATUS_OK) return status;
    }
    if (!grad_input || tensor_numel(grad_input) == 0) return STATUS_OK;
    plan_t c = {.in = grad_output->size, .out = grad_input->size, .turned = 1};
    c.padding_h = KERNEL - 1 - p.padding_h, c.padding_w = KERNEL - 1 - p.padding_w;
    c.weight_k = c.out[1] * AREA, c.weight_c = AREA;
    tile(&c);
    return convolve(ctx, c, tensor_contiguous(ctx, grad_output),
                    tensor_contiguous(ctx, weight), NULL, real_data(grad_input));
    // END SOLUTION
    // STARTER // your code (the reference takes 14 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
