/* 09 winograd 2x2
 *
 *   idea    F(2x2,3x3): 4 x 4 inputs give 2 x 2 outputs with 16 products, not 36
 *   expect  1.3x to 1.8x over 02_implicit_gemm, of at most 2.25x
 *   limit   transforms: 16 numbers for 4 inputs and for 4 outputs
 *   run     make bench T=03_im2col_cpu/conv2d/09
 *
 * Lavin and Gray, arXiv 1509.09308. For 3x3, stride 1, dilation 1, one group.
 * Workspace: 16 numbers for each input channel of some TILES tiles and of NR filters.
 * One infinity or NaN in the input spreads over all outputs of its tile, with PyTorch
 * over those that see it; lab 05's CONVLAB_DIRECT keeps to direct rungs.
 */
#include "operators.h"
#include "vector.h"

conv2d_forward_fn fallback_forward;

enum { TILE = 2, KERNEL = 3, AREA = 9, POINTS = 4, PLANES = 16, TILES = 128 };
enum { MR = CHANNEL_ROWS, NV = CHANNEL_VECTORS, NR = NV * LANES };  // tiles, channels
enum { INPUT, FILTER, OUTPUT };  // what is transformed

/* One axis of a transform, by the formulas of the README: from x of INPUT (4) the left
 * factors of m0 to m3, from FILTER (3) the right ones, from OUTPUT (4), which is m0 to
 * m3, the results y0 and y1. Result r goes to y[r][i]. */
EXPAND void points(int side, const vec *x, vec y[][POINTS], int i)
{
    // BEGIN SOLUTION
    const vec even = x[0] + x[2];
    if (side == INPUT) {
        y[0][i] = x[0] - x[2], y[1][i] = x[1] + x[2];
        y[2][i] = x[2] - x[1], y[3][i] = x[1] - x[3];
    } else if (side == FILTER) {
        y[0][i] = x[0], y[1][i] = (real)0.5 * (even + x[1]);
        y[3][i] = x[2], y[2][i] = (real)0.5 * (even - x[1]);
    } else {
        y[0][i] = even + x[1], y[1][i] = x[1] - x[2] - x[3];
    }
    // END SOLUTION
    // STARTER // x has 4, 3 or 4 numbers, y 4, 4 or 2 (the reference takes 10 lines)
}

typedef struct {
    const int64_t *in, *out;               // sizes N, C, H, W
    int64_t padding_h, padding_w, TH, TW;  // TH x TW tiles an image
    int64_t CP, ROW, PU, PV, PM;           // to the next pixel, row, plane: no 2^n
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
    vec x[POINTS][POINTS], half[POINTS][POINTS];
    UNROLL
    for (int i = 0; i < C * C; i++)
        x[i % C][i / C] = vec_load(from + i / C * from_row + i % C * from_col);
    UNROLL
    for (int c = 0; c < C; c++) points(side, x[c], half, c);
    UNROLL
    for (int r = 0; r < R; r++) points(side, half[r], x, r);
    UNROLL
    for (int i = 0; i < R * R; i++)
        vec_store(to + i / R * to_row + i % R * to_col, x[i % R][i / R]);
    // END SOLUTION
    // STARTER (void)points;
    // STARTER // points of column c fills column c of half (R, C); points of row r of
    // STARTER // half has row r of the result, in column r of its y
    // STARTER // (the reference takes 11 lines)
}

/* V[plane][tile][k] of row r of tiles, counted over all images, the first tile at V */
static void input_row(const plan_t *p, const real *input, int64_t r, real *V)
{
    const int64_t IC = p->in[1], IH = p->in[2], IW = p->in[3], CP = p->CP;
    for (int64_t i = 0; i < POINTS; i++) {
        const int64_t ih = r % p->TH * TILE + i - p->padding_h;
        real *row = p->rows + i * p->ROW;
        memset(row, 0, (size_t)p->ROW * sizeof(real));
        if (ih < 0 || ih >= IH) continue;
        vec_transpose_copy(input + (r / p->TH * IC * IH + ih) * IW, IH * IW,
                           row + p->padding_w * CP, CP, IC, IW);
    }
    for (int64_t i = 0; i < p->TW * CP; i += LANES) {
        transform(INPUT, POINTS, POINTS, p->rows + i / CP * TILE * CP + i % CP, p->ROW,
                  CP, V + i, POINTS * p->PV, p->PV);
    }
}

/* U[plane][k][c] of C filters (IC, AREA), at most NR */
static void weight_panel(const plan_t *p, const real *weight, int64_t C)
{
    const int64_t IC = p->in[1];
    vec_transpose_copy(weight, IC * AREA, p->filters, NR, C, IC * AREA);
    for (int64_t i = 0; i < IC * NR; i += LANES) {
        transform(FILTER, POINTS, KERNEL, p->filters + i / NR * AREA * NR + i % NR,
                  KERNEL * NR, NR, p->U + i, POINTS * p->PU, p->PU);
    }
}

/* M (MR, NR) = V (MR, IC), rows CP apart, @ U (IC, NR), + start (NR) unless NULL */
// not inlined: among its caller's pointers its own would not fit into the registers
__attribute__((noinline)) static void product(int64_t IC, int64_t CP, const real *V,
                                              const real *U, const real *start, real *M)
{
    // BEGIN SOLUTION
    vec sum[MR][NV] = {0}, u[NV];
    for (int64_t k = 0; k < IC; k++, U += NR) {
        UNROLL
        for (int v = 0; v < NV; v++) u[v] = vec_keep(vec_load(U + v * LANES));
        UNROLL
        for (int m = 0; m < MR; m++)
            for (int v = 0; v < NV; v++) sum[m][v] += V[m * CP + k] * u[v];
    }
    UNROLL
    for (int m = 0; m < MR; m++)
        for (int v = 0; v < NV; v++, M += LANES)
            vec_store(M, start ? sum[m][v] + vec_load(start + v * LANES) : sum[m][v]);
    // END SOLUTION
    // STARTER // sums in registers, stored at the end (the reference takes 12 lines)
}

/* M[plane] (COUNT, NR) = V[plane] (COUNT, IC) @ U[plane] (IC, NR), plus bias (NR) in
 * plane POINTS + 1, row 1 and column 1: m1 counts once in y0 and once in y1. */
static void multiply(const plan_t *p, int64_t COUNT, const real *bias)
{
    // BEGIN SOLUTION
    const int64_t T = (COUNT + MR - 1) / MR * MR;  // nobody reads the last ones
    for (int64_t i = 0; i < PLANES * T; i += MR) {
        const int64_t plane = i / T, t = i % T;
        product(p->in[1], p->CP, p->V + plane * p->PV + t * p->CP, p->U + plane * p->PU,
                plane == POINTS + 1 ? bias : NULL, p->M + plane * p->PM + t * NR);
    }
    // END SOLUTION
    // STARTER (void)product;  // MR tiles at a time; V and M have room for MR - 1 more
    // STARTER // than COUNT, which nobody reads (the reference takes 6 lines)
}

/* C channels of row r of tiles, the first tile at M; image 0 has them from output on */
static void output_row(const plan_t *p, const real *M, int64_t C, int64_t r,
                       real *output)
{
    const int64_t OH = p->out[2], OW = p->out[3], ROW = p->TW * TILE * NR;
    const int64_t oh = r % p->TH * TILE, n = r / p->TH;
    real *to = output + (n * p->out[1] * OH + oh) * OW;
    for (int64_t i = 0; i < p->TW * NR; i += LANES) {
        transform(OUTPUT, TILE, POINTS, M + i, POINTS * p->PM, p->PM,
                  p->strip + i / NR * TILE * NR + i % NR, ROW, NR);
    }
    for (int64_t i = 0; i < least(TILE, OH - oh); i++)
        vec_transpose_copy(p->strip + i * ROW, NR, to + i * OW, OH * OW, OW, C);
}

/* Slabs of rows of tiles; for each of them, panels of NR filters */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    if (weight->size[2] != KERNEL || weight->size[3] != KERNEL || p.groups != 1 ||
        p.stride_h * p.stride_w * p.dilation_h * p.dilation_w != 1) {
        return fallback_forward(ctx, input, weight, bias, p, output);
    }
    if (tensor_numel(output) == 0) return STATUS_OK;
    const int64_t *in = input->size, *out = output->size, IC = in[1], OC = out[1];
    plan_t c = {in, out, p.padding_h, p.padding_w, .TH = (out[2] + 1) / TILE};
    c.TW = (out[3] + 1) / TILE, c.CP = (IC + LANES - 1) / LANES * LANES;
    const int64_t ROWS = in[0] * c.TH, SLAB = least(ROWS, (TILES + c.TW - 1) / c.TW);
    const int64_t T = SLAB * c.TW + MR - 1;
    c.PU = IC * NR + LANES, c.PV = T * c.CP + LANES, c.PM = T * NR + LANES;
    c.ROW = (c.TW + 1) * TILE * c.CP;
    const int64_t U = PLANES * c.PU, V = PLANES * c.PV, M = PLANES * c.PM;
    const int64_t F = IC * AREA * NR, S = TILE * TILE * c.TW * NR, R = POINTS * c.ROW;
    c.U = ctx_scratch(ctx, (size_t)(U + V + M + F + S + R) * sizeof(real));
    const real *x = tensor_contiguous(ctx, input), *w = tensor_contiguous(ctx, weight);
    if (!x || !w || !c.U) return STATUS_NO_MEMORY;
    c.V = c.U + U, c.M = c.V + V, c.filters = c.M + M;
    c.strip = c.filters + F, c.rows = c.strip + S;

    for (int64_t r0 = 0; r0 < ROWS; r0 += SLAB) {
        const int64_t r1 = least(ROWS, r0 + SLAB);
        // BEGIN SOLUTION
        for (int64_t r = r0; r < r1; r++)
            input_row(&c, x, r, c.V + (r - r0) * c.TW * c.CP);
        for (int64_t oc = 0; oc < OC; oc += NR) {
            const int64_t C = least(NR, OC - oc);
            real *y = real_data(output) + oc * out[2] * out[3], start[NR] = {0};
            for (int64_t i = 0; bias && i < C; i++) start[i] = *at1(bias, oc + i);
            weight_panel(&c, w + oc * IC * AREA, C);
            multiply(&c, (r1 - r0) * c.TW, start);
            for (int64_t r = r0; r < r1; r++)
                output_row(&c, c.M + (r - r0) * c.TW * NR, C, r, y);
        }
        // END SOLUTION
        // STARTER (void)input_row, (void)weight_panel, (void)multiply;
        // STARTER (void)output_row, (void)x, (void)w, (void)OC, (void)r1;
        // STARTER // rows r0 to r1 of tiles to V, each TW * CP behind the one before;
        // STARTER // then for NR filters at a time: their bias in NR numbers of your
        // STARTER // own, 0 behind the last or without bias; U, M, then output_row for
        // STARTER // r0 to r1, where M steps by TW * NR (the reference takes 11 lines)
        // STARTER return STATUS_NOT_IMPLEMENTED;
    }
    return STATUS_OK;
}
