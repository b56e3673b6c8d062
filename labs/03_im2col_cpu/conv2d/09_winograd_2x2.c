/* 09 winograd 2x2
 *
 *   idea    F(2x2,3x3): 4 x 4 inputs give 2 x 2 outputs with 16 products, not 36
 *   expect  1.3x to 1.8x the speed of 02_implicit_gemm; 2.25x fewer multiplications
 *   limit   the transforms: a tile has 16 numbers for 4 new inputs and 4 outputs
 *   run     make bench T=03_im2col_cpu/conv2d/09
 *
 * Lavin and Gray describe F(2x2,3x3) in arXiv 1509.09308. Covers 3x3 kernels, stride 1,
 * dilation 1, one group. Workspace: 16 numbers per channel of about TILES tiles and of
 * NR filters. An infinity or NaN in the input reaches all outputs of its tile. In
 * PyTorch, and in lab 05 with CONVLAB_DIRECT, only windows that contain it change.
 */
#include "tiles.h"

enum { TILE = 2, KERNEL = 3, AREA = 9, POINTS = 4, PLANES = 16, TILES = 128 };
enum { INPUT, FILTER, OUTPUT };  // which tensor to transform

/* Transforms x along one axis, by the formulas of lab 03's README. If side is INPUT, 4
 * inputs give the left factors of m0 to m3. FILTER: 3 taps give the right factors.
 * OUTPUT: m0 to m3 give y0 and y1. Each result r goes to y[r][i]. */
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

/* Transforms both axes of a tile: from (C, C) to (R, R), for LANES channels at once. */
EXPAND void transform(int side, int R, int C, const real *from, int64_t from_row,
                      int64_t from_col, real *to, int64_t to_row, int64_t to_col)
{
    // BEGIN SOLUTION
    vec x[POINTS], half[POINTS][POINTS], y[POINTS][POINTS];
    UNROLL
    for (int c = 0; c < C; c++) {
        UNROLL
        for (int r = 0; r < C; r++) x[r] = vec_load(from + r * from_row + c * from_col);
        points(side, x, half, c);
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        points(side, half[r], y, r);
        UNROLL
        for (int c = 0; c < R; c++) vec_store(to + r * to_row + c * to_col, y[c][r]);
    }
    // END SOLUTION
    // STARTER (void)points;
    // STARTER // points of column c fills column c of half (R, C). points of row r of
    // STARTER // half gives row r of the result, in column r of its y
    // STARTER // (the reference takes 13 lines)
}

/* Transforms the inputs of all tiles in tile row r to V[plane][tile][input channel]. */
APART void input_row(const tiles_t *t, const real *input, int64_t r, real *V)
{
    tiles_read(t, input, r);
    for (int64_t i = 0; i < t->TW; i++) {
        for (int64_t k = 0; k < t->CP; k += LANES)
            transform(INPUT, POINTS, POINTS, t->rows + i * TILE * t->CP + k, t->ROW,
                      t->CP, V + i * t->KC + k, POINTS * t->PV, t->PV);
    }
}

/* Transforms C <= NR filters (IC, AREA) to U[plane][input channel][filter]. */
APART void weight_panel(const tiles_t *t, const real *weight, int64_t C, int64_t PU)
{
    const int64_t IC = t->in[1];
    vec_transpose_copy(weight, IC * AREA, t->filters, NR, C, IC * AREA);
    for (int64_t k = 0; k < IC; k++) {
        for (int64_t c = 0; c < C; c += LANES)
            transform(FILTER, POINTS, KERNEL, t->filters + k * AREA * NR + c,
                      KERNEL * NR, NR, t->U + k * NR + c, POINTS * PU, PU);
    }
}

/* For each plane and T tiles: M[plane] (T, C) = V[plane] (T, IC) @ U[plane] (IC, C) */
APART void multiply(const tiles_t *t, int64_t T, int64_t C, int64_t PU)
{
    // BEGIN SOLUTION
    for (int64_t plane = 0; plane < PLANES; plane++) {
        const left_t tiles = {t->V + plane * t->PV, t->KC, 1};
        panel_product(T, C, t->in[1], tiles, t->U + plane * PU, 0,
                      t->M + plane * t->PM);
    }
    // END SOLUTION
    // STARTER // plane by plane, by panel_product (the reference takes 5 lines)
}

/* Transforms M to C channels of tile row r of output. Adds the bias to plane POINTS + 1
 * (row 1, column 1) of M, because y0 and y1 each contain m1 with the factor 1. */
APART void output_row(const tiles_t *t, real *M, const real *bias, int64_t C, int64_t r,
                      real *output)
{
    for (int64_t i = 0; i < t->TW; i++) {
        for (int64_t c = 0; c < C; c += LANES) {
            real *m = M + i * NR + c, *one = m + (POINTS + 1) * t->PM;
            vec_store(one, vec_load(one) + vec_load(bias + c));
            transform(OUTPUT, TILE, POINTS, m, POINTS * t->PM, t->PM,
                      t->strip + i * TILE * NR + c, t->LINE, NR);
        }
    }
    tiles_write(t, 0, C, r, output);
}

/* Computes output in slabs of tile rows, and in each slab NR filters at a time. */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    const int64_t IC = input->size[1], OC = output->size[1], PU = IC * NR + LANES;
    if (!tiles_fit(weight, p, KERNEL, 1)) return STATUS_UNSUPPORTED;
    if (tensor_numel(output) == 0) return STATUS_OK;
    tiles_t t = {input->size, output->size, p.padding_h, p.padding_w, .KERNEL = KERNEL};
    t.STEP = t.TILE = TILE, t.READ = t.POINTS = POINTS;
    t.KC = parts(IC, LANES) * LANES;  // all channels are one chunk
    tiles_measure(&t);
    const real *x = tensor_contiguous(ctx, input), *w = tensor_contiguous(ctx, weight);
    const status_t status = tiles_share(ctx, &t, TILES, PLANES * PU);
    if (!x || !w || status != STATUS_OK) return STATUS_NO_MEMORY;
    for (int64_t r0 = 0; r0 < t.ROWS; r0 += t.SLAB) {
        const int64_t r1 = least(t.ROWS, r0 + t.SLAB);
        // BEGIN SOLUTION
        for (int64_t r = r0; r < r1; r++)
            input_row(&t, x, r, t.V + (r - r0) * t.TW * t.KC);
        for (int64_t c = 0; c < OC; c += NR) {
            const int64_t C = least(NR, OC - c);
            real *y = at4(output, 0, c, 0, 0), start[NR] = {0};
            for (int64_t i = 0; i < C; i++) start[i] = bias ? *at1(bias, c + i) : 0;
            weight_panel(&t, w + c * IC * AREA, C, PU);
            multiply(&t, (r1 - r0) * t.TW, C, PU);
            for (int64_t r = r0; r < r1; r++)
                output_row(&t, t.M + (r - r0) * t.TW * NR, start, C, r, y);
        }
        // END SOLUTION
        // STARTER (void)input_row, (void)weight_panel, (void)multiply;
        // STARTER (void)output_row, (void)x, (void)w, (void)OC, (void)r1;
        // STARTER // rows r0 to r1 of tiles to V, each TW * KC after the previous one.
        // STARTER // Then, for NR filters at a time: copy their bias to NR numbers of
        // STARTER // your own (0 past the end or without bias); U, M, output_row for
        // STARTER // r0 to r1, where M steps by TW * NR (the reference takes 11 lines)
        // STARTER return STATUS_NOT_IMPLEMENTED;
    }
    return STATUS_OK;
}
