/* 10 winograd 4x4
 *
 *   idea    F(4x4,3x3): 6 x 6 inputs give 4 x 4 outputs, with 4x fewer multiplications
 *   expect  2x over 02_implicit_gemm where 3x3 windows move by 1; one digit is lost
 *   limit   transforms, and filters that grow 4x
 *   run     make bench T=03_im2col_cpu/conv2d/10
 *
 * For 3x3 and, since F(2x2,5x5) has the same 6 x 6 points, 5x5; stride 1, dilation 1,
 * one group. One infinity or NaN in the input spreads over all outputs of its tile,
 * with PyTorch over those that see it; lab 05's CONVLAB_DIRECT keeps to direct rungs.
 * Workspace: 36 values for each channel of some 64 tiles, in and out, and for at most
 * KEPT filters.
 */
#include "operators.h"
#include "vector.h"

conv2d_forward_fn fallback_forward;

enum { POINTS = 6, PLANES = 36, SMALL = 3, LARGE = 5 };             // kernels: 3x3, 5x5
enum { MR = CHANNEL_ROWS, NV = CHANNEL_VECTORS, NR = NV * LANES };  // tiles, channels
enum { KC = 32, TILES = 28, MANY = 64, KEPT = 1 << 20 };  // channels, tiles, reals
enum { PU = KC * NR + LANES };   // from a plane of U to the next: no power of two
enum { INPUT, FILTER, OUTPUT };  // what is transformed

/* One axis of a transform, by the matrices of the README for six points: INPUT is BT x,
 * FILTER is G x of C taps, OUTPUT is AT x for R results. Points 1 and -1 share their
 * sums of even and of odd terms, so do 2 and -2. Result r goes to y[r][i]. */
EXPAND void points(int side, int R, int C, const vec *x, vec y[][POINTS], int i)
{
    // BEGIN SOLUTION
    const real sixth = (real)(1. / 6), part = (real)(1. / 24);
    if (side == INPUT) {
        const vec even = x[4] - 4 * x[2], odd = x[3] - 4 * x[1];
        const vec even2 = x[4] - x[2], odd2 = x[3] - x[1];
        y[0][i] = even2 + 4 * (x[0] - x[2]), y[5][i] = x[5] - x[3] - 4 * odd2;
        y[1][i] = even + odd, y[2][i] = even - odd;
        y[3][i] = even2 + 2 * odd2, y[4][i] = even2 - 2 * odd2;
    } else if (side == FILTER) {
        vec even = x[0] + x[2], odd = x[1], even2 = x[0] + 4 * x[2], odd2 = 2 * x[1];
        if (C == LARGE) even += x[4], even2 += 16 * x[4];
        if (C == LARGE) odd += x[3], odd2 += 8 * x[3];
        y[0][i] = (real)0.25 * x[0], y[5][i] = x[C - 1];
        even = -sixth * even, even2 = part * even2;
        y[1][i] = even - sixth * odd, y[2][i] = even + sixth * odd;
        y[3][i] = even2 + part * odd2, y[4][i] = even2 - part * odd2;
    } else {
        const vec even = x[1] + x[2], odd = x[1] - x[2];
        const vec even2 = x[3] + x[4], odd2 = x[3] - x[4];
        y[0][i] = x[0] + even + even2, y[1][i] = odd + 2 * odd2;
        if (R == 4) y[2][i] = even + 4 * even2, y[3][i] = odd + 8 * odd2;
        y[R - 1][i] += x[5];
    }
    // END SOLUTION
    // STARTER // R and C are constants where points is called: an if on them costs
    // STARTER // nothing (the reference takes 22 lines)
}

typedef struct {
    const int64_t *in, *out;  // sizes N, C, H, W of what is read and written
    int64_t KERNEL, TILE, padding_h, padding_w;
    int64_t TH, TW;           // TH x TW tiles an image
    int64_t CP, ROW, PV, PM;  // to the next pixel, row, plane: no 2^n
    real *rows, *strip, *filters, *U, *V, *M;
} plan_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* to (R, R) from (C, C), of LANES channels at once: row r, column c is a vector */
EXPAND void transform(int side, int R, int C, const real *from, int64_t from_row,
                      int64_t from_col, real *to, int64_t to_row, int64_t to_col)
{
    // BEGIN SOLUTION
    vec x[POINTS], half[POINTS][POINTS], y[POINTS][POINTS];
    UNROLL
    for (int c = 0; c < C; c++) {
        UNROLL
        for (int r = 0; r < C; r++) x[r] = vec_load(from + r * from_row + c * from_col);
        points(side, R, C, x, half, c);
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        points(side, R, C, half[r], y, r);
        UNROLL
        for (int c = 0; c < R; c++) vec_store(to + r * to_row + c * to_col, y[c][r]);
    }
    // END SOLUTION
    // STARTER (void)points;
    // STARTER // points of column c fills column c of half (R, C); points of row r of
    // STARTER // half has row r of the result, in column r of its y
    // STARTER // (the reference takes 13 lines)
}

/* V[chunk][plane][tile][k] of row th of tiles. Its last rows serve the next one too. */
static void input_row(const plan_t *p, const real *image, int64_t th, real *V)
{
    const int64_t CP = p->CP, IH = p->in[2], IW = p->in[3], TILE = p->TILE;
    const int64_t OLD = th ? p->KERNEL - 1 : 0;
    memmove(p->rows, p->rows + TILE * p->ROW, (size_t)(OLD * p->ROW) * sizeof(real));
    for (int64_t i = OLD; i < POINTS; i++) {
        const int64_t ih = th * TILE + i - p->padding_h;
        real *row = p->rows + i * p->ROW;
        const int inside = ih >= 0 && ih < IH;
        if (!inside) memset(row, 0, (size_t)p->ROW * sizeof(real));
        vec_transpose_copy(image + ih * IW, IH * IW, row + p->padding_w * CP, CP,
                           p->in[1], inside ? IW : 0);
    }
    for (int64_t i = 0; i < p->TW * CP; i += LANES) {
        transform(INPUT, POINTS, POINTS, p->rows + i / CP * TILE * CP + i % CP, p->ROW,
                  CP, V + i % CP / KC * PLANES * p->PV + i / CP * KC + i % CP % KC,
                  POINTS * p->PV, p->PV);
    }
}

/* U[plane][k][c] of K channels and C filters, which lie (C, IC, AREA) */
static void weight_chunk(const plan_t *p, const real *weight, int64_t C, int64_t K,
                         real *U)
{
    const int64_t AREA = p->KERNEL * p->KERNEL, ROW = POINTS * PU;
    vec_transpose_copy(weight, p->in[1] * AREA, p->filters, NR, C, K * AREA);
    for (int64_t i = 0; i < K * NR; i += LANES) {
        const real *from = p->filters + i / NR * AREA * NR + i % NR;
        if (i % NR >= C) continue;
        if (p->KERNEL == SMALL)
            transform(FILTER, POINTS, SMALL, from, SMALL * NR, NR, U + i, ROW, PU);
        else
            transform(FILTER, POINTS, LARGE, from, LARGE * NR, NR, U + i, ROW, PU);
    }
}

/* M (ROWS, VECS), rows NR apart, = if first, else +=, V (ROWS, K) @ U (K, VECS) */
EXPAND void product(int ROWS, int VECS, int64_t K, const real *V, const real *U,
                    int first, real *M)
{
    // BEGIN SOLUTION
    vec sum[MR][NV], u[NV];
    UNROLL
    for (int m = 0; m < ROWS; m++)
        for (int v = 0; v < VECS; v++)
            sum[m][v] = first ? (vec){0} : vec_load(M + m * NR + v * LANES);
    for (int64_t k = 0; k < K; k++, U += NR) {
        UNROLL
        for (int v = 0; v < VECS; v++) u[v] = vec_keep(vec_load(U + v * LANES));
        UNROLL
        for (int m = 0; m < ROWS; m++)
            for (int v = 0; v < VECS; v++) sum[m][v] += V[m * KC + k] * u[v];
    }
    UNROLL
    for (int m = 0; m < ROWS; m++)
        for (int v = 0; v < VECS; v++) vec_store(M + m * NR + v * LANES, sum[m][v]);
    // END SOLUTION
    // STARTER // VECS vectors of LANES filters; rows of V lie KC apart, those of U NR.
    // STARTER // Sums in registers, stored at the end (the reference takes 15 lines)
}

/* M[plane] (T, C) = or += V[chunk][plane] (T, K) @ U[plane] (K, C), channels from k on.
 * The last tile alone uses all NV vectors, even if C fills only half of them: tuned
 * for some processors, gcc fuses no multiply-adds in a loop with a single sum. The last
 * digits of this tile would then depend on how the threads share the images. */
static void multiply(const plan_t *p, int64_t T, int64_t k, int64_t K, int64_t C,
                     const real *U)
{
    // BEGIN SOLUTION
    for (int64_t i = 0, rows = 1; i < PLANES * T; i += rows) {
        const int64_t plane = i / T, t = i % T, wide = C > NR / 2;
        const real *V = p->V + (k / KC * PLANES + plane) * p->PV + t * KC;
        const real *u = U + plane * PU;
        real *M = p->M + plane * p->PM + t * NR;
        rows = T - t < 2 ? 1 : T - t < MR ? 2 : MR;
        if (rows == MR && wide) product(MR, NV, K, V, u, k == 0, M);
        if (rows == 2 && wide) product(2, NV, K, V, u, k == 0, M);
        if (rows == 1) product(1, NV, K, V, u, k == 0, M);
        if (rows == MR && !wide) product(MR, NV / 2, K, V, u, k == 0, M);
        if (rows == 2 && !wide) product(2, NV / 2, K, V, u, k == 0, M);
    }
    // END SOLUTION
    // STARTER (void)product;  // MR tiles at once, then 2, then 1: there is no room for
    // STARTER // more than T. NV vectors, or half of them if C fits into these. V has
    // STARTER // PLANES planes for each chunk (the reference takes 12 lines)
}

/* C channels, from output on, of a row of tiles; bias goes to plane POINTS + 1 */
static void output_row(const plan_t *p, real *M, const real *bias, int64_t C,
                       int64_t oh, real *output)
{
    const int64_t OH = p->out[2], OW = p->out[3];
    const int64_t TILE = p->TILE, ROW = p->TW * TILE * NR;
    for (int64_t v = 0; v < C; v += LANES) {
        const int64_t count = least(LANES, C - v);
        for (int64_t i = 0; i < p->TW; i++) {
            for (int64_t l = v; l < v + count; l++)  // a line of each plane, soon
                __builtin_prefetch(output + (l * OH + oh) * OW + i * 16, 1);
            real *m = M + i * NR + v, *one = m + (POINTS + 1) * p->PM;
            vec_store(one, vec_load(one) + vec_load(bias + v));
            real *to = p->strip + i * TILE * NR + v;
            if (TILE == 4)
                transform(OUTPUT, 4, POINTS, m, POINTS * p->PM, p->PM, to, ROW, NR);
            else
                transform(OUTPUT, 2, POINTS, m, POINTS * p->PM, p->PM, to, ROW, NR);
        }
        for (int64_t i = 0; i < least(TILE, OH - oh); i++) {
            vec_transpose_copy(p->strip + i * ROW + v, NR,
                               output + (v * OH + oh + i) * OW, OH * OW, OW, count);
        }
    }
}

/* Slabs of rows of tiles. U is made anew for each of them unless all of it is small. */
static status_t convolve(ctx_t *ctx, const tensor_t *from, const tensor_t *by,
                         const tensor_t *bias, conv2d_params_t params, tensor_t *to)
{
    const real *x = tensor_contiguous(ctx, from), *w = tensor_contiguous(ctx, by);
    const int64_t *in = from->size, *out = to->size, IC = in[1], OC = out[1];
    const int64_t KERNEL = by->size[2], HALO = KERNEL - 1, TILE = POINTS - HALO;
    plan_t p = {.in = in, .out = out, .KERNEL = KERNEL, .TILE = TILE};
    p.TH = (out[2] + TILE - 1) / TILE, p.TW = (out[3] + TILE - 1) / TILE;
    p.padding_h = params.padding_h, p.padding_w = params.padding_w;
    const int64_t AREA = KERNEL * KERNEL, ROWS = in[0] * p.TH;
    const int64_t CHUNKS = (IC + KC - 1) / KC, PANELS = (OC + NR - 1) / NR;
    const int keep = PANELS * CHUNKS * KC * NR * PLANES <= KEPT;
    const int64_t SLAB = least(ROWS, ((keep ? TILES : MANY) + p.TW - 1) / p.TW);
    p.CP = (IC + LANES - 1) / LANES * LANES, p.ROW = (p.TW * TILE + HALO) * p.CP;
    p.PV = SLAB * p.TW * KC + LANES, p.PM = SLAB * p.TW * NR + LANES;
    const int64_t U = (keep ? PANELS * CHUNKS : 1) * PLANES * PU, M = PLANES * p.PM;
    const int64_t V = CHUNKS * PLANES * p.PV, R = POINTS * p.ROW, F = KC * AREA * NR;
    const int64_t S = TILE * TILE * p.TW * NR;
    p.U = ctx_scratch(ctx, (size_t)(U + V + M + R + F + S) * sizeof(real));
    if (!x || !w || !p.U) return STATUS_NO_MEMORY;
    p.V = p.U + U, p.M = p.V + V, p.rows = p.M + M;
    p.filters = p.rows + R, p.strip = p.filters + F;
    memset(p.rows, 0, (size_t)R * sizeof(real));
    for (int64_t r0 = 0; r0 < ROWS; r0 += SLAB) {
        const int64_t r1 = least(ROWS, r0 + SLAB);
        for (int64_t r = r0; r < r1; r++) {
            input_row(&p, x + r / p.TH * IC * in[2] * in[3], r % p.TH,
                      p.V + (r - r0) * p.TW * KC);
        }
        // BEGIN SOLUTION
        real *u = p.U;
        for (int64_t c = 0; c < OC; c += NR) {
            const int64_t C = least(NR, OC - c);
            real *y = real_data(to) + c * out[2] * out[3], start[NR] = {0};
            for (int64_t i = 0; bias && i < C; i++) start[i] = *at1(bias, c + i);
            for (int64_t k = 0; k < IC; k += KC, u += keep ? PLANES * PU : 0) {
                const int64_t K = least(KC, IC - k);
                if (r0 == 0 || !keep)
                    weight_chunk(&p, w + (c * IC + k) * AREA, C, K, u);
                multiply(&p, (r1 - r0) * p.TW, k, K, C, u);
            }
            for (int64_t r = r0; r < r1; r++) {
                output_row(&p, p.M + (r - r0) * p.TW * NR, start, C, r % p.TH * TILE,
                           y + r / p.TH * OC * out[2] * out[3]);
            }
        }
        // END SOLUTION
        // STARTER (void)weight_chunk, (void)multiply, (void)output_row, (void)OC;
        // STARTER // NR filters at a time: their bias in NR numbers of your own, 0
        // STARTER // behind the last or without bias; for KC channels at a time
        // STARTER // weight_chunk and multiply; then output_row for r0 to r1, where M
        // STARTER // steps by TW * NR. If `keep`, U has PANELS * CHUNKS chunks, made in
        // STARTER // the first slab; else one chunk (the reference takes 16 lines)
        // STARTER return STATUS_NOT_IMPLEMENTED;
    }
    return STATUS_OK;
}

static int fits(const tensor_t *weight, conv2d_params_t p)
{
    const int64_t K = weight->size[2];
    return (K == SMALL || K == LARGE) && weight->size[3] == K && p.groups == 1 &&
           p.stride_h * p.stride_w * p.dilation_h * p.dilation_w == 1;
}

/* output = bias + each tile of 4 x 4 or 2 x 2 from its 6 x 6 inputs and all filters */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    if (!fits(weight, p)) return fallback_forward(ctx, input, weight, bias, p, output);
    if (tensor_numel(output) == 0) return STATUS_OK;
    return convolve(ctx, input, weight, bias, p, output);
}
