/* 10 winograd 4x4
 *
 *   idea    F(4x4,3x3): 6 x 6 inputs give 4 x 4 outputs, with 4x fewer multiplications
 *   expect  2x the speed of 02_implicit_gemm for 3x3 at stride 1; one digit is lost
 *   limit   the transforms, and transformed filters, which are 4x as large
 *   run     make bench T=03_im2col_cpu/conv2d/10
 *
 * Covers 3x3 and 5x5 kernels (F(2x2,5x5) has the same 6 x 6 points), stride 1, dilation
 * 1, one group. An infinity or NaN reaches all outputs of its tile. In PyTorch, and in
 * lab 05 with CONVLAB_DIRECT, only windows that contain it change. Workspace: 36 values
 * per input and output channel of about 64 tiles; at most KEPT numbers for filters.
 */
#include "tiles.h"

enum { POINTS = 6, PLANES = 36, SMALL = 3, LARGE = 5 };   // kernels: 3x3, 5x5
enum { KC = 32, TILES = 28, MANY = 64, KEPT = 1 << 20 };  // KC channels, KEPT numbers
enum { PU = KC * NR + LANES };   // numbers per plane of U, not a power of two
enum { INPUT, FILTER, OUTPUT };  // which tensor to transform

/* Computes y = BT x along one axis, with the matrix BT of lab 03's README. Points 1 and
 * -1 share their even and odd sums, and so do points 2 and -2. Result r is y[r][i]. */
EXPAND void input_points(const vec *x, vec y[][POINTS], int i)
{
    // BEGIN SOLUTION
    const vec even = x[4] - 4 * x[2], odd = x[3] - 4 * x[1];
    const vec even2 = x[4] - x[2], odd2 = x[3] - x[1];
    y[0][i] = even2 + 4 * (x[0] - x[2]), y[5][i] = x[5] - x[3] - 4 * odd2;
    y[1][i] = even + odd, y[2][i] = even - odd;
    y[3][i] = even2 + 2 * odd2, y[4][i] = even2 - 2 * odd2;
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
}

/* Computes y = G x along one axis, for C taps x. C is 3 or 5, constant in each call. */
EXPAND void filter_points(int C, const vec *x, vec y[][POINTS], int i)
{
    // BEGIN SOLUTION
    const real sixth = (real)(1. / 6), part = (real)(1. / 24);
    vec even = x[0] + x[2], odd = x[1], even2 = x[0] + 4 * x[2], odd2 = 2 * x[1];
    if (C == LARGE) even += x[4], even2 += 16 * x[4];
    if (C == LARGE) odd += x[3], odd2 += 8 * x[3];
    y[0][i] = (real)0.25 * x[0], y[5][i] = x[C - 1];
    even = -sixth * even, even2 = part * even2;
    y[1][i] = even - sixth * odd, y[2][i] = even + sixth * odd;
    y[3][i] = even2 + part * odd2, y[4][i] = even2 - part * odd2;
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
}

/* Computes R results y = AT x along one axis. R is 4 or 2, a constant in each call. */
EXPAND void output_points(int R, const vec *x, vec y[][POINTS], int i)
{
    // BEGIN SOLUTION
    const vec even = x[1] + x[2], odd = x[1] - x[2];
    const vec even2 = x[3] + x[4], odd2 = x[3] - x[4];
    y[0][i] = x[0] + even + even2, y[1][i] = odd + 2 * odd2;
    if (R == 4) y[2][i] = even + 4 * even2, y[3][i] = odd + 8 * odd2;
    y[R - 1][i] += x[5];
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
}

/* Transforms C numbers x to R results along one axis, for the tensor named by side. */
EXPAND void points(int side, int R, int C, const vec *x, vec y[][POINTS], int i)
{
    if (side == INPUT) input_points(x, y, i);
    if (side == FILTER) filter_points(C, x, y, i);
    if (side == OUTPUT) output_points(R, x, y, i);
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
    // STARTER // points of column c fills column c of half (R, C). points of row r of
    // STARTER // half gives row r of the result, in column r of its y
    // STARTER // (the reference takes 13 lines)
}

/* Transforms the inputs of all tiles in row r to V[chunk][plane][tile][channel]. */
APART void input_row(const tiles_t *t, const real *input, int64_t r, real *V)
{
    tiles_read(t, input, r);
    for (int64_t i = 0; i < t->TW; i++) {
        for (int64_t k = 0; k < t->CP; k += LANES) {
            const real *from = t->rows + i * t->TILE * t->CP + k;
            real *to = V + k / KC * PLANES * t->PV + i * KC + k % KC;
            transform(INPUT, POINTS, POINTS, from, t->ROW, t->CP, to, POINTS * t->PV,
                      t->PV);
        }
    }
}

/* Transforms K channels of C filters (C, IC, AREA) to U[plane][channel][filter]. */
EXPAND void weight_chunk(int KERNEL, const tiles_t *t, const real *weight, int64_t C,
                         int64_t K, real *U)
{
    const int64_t AREA = KERNEL * KERNEL;
    vec_transpose_copy(weight, t->in[1] * AREA, t->filters, NR, C, K * AREA);
    for (int64_t k = 0; k < K; k++) {
        for (int64_t c = 0; c < C; c += LANES)
            transform(FILTER, POINTS, KERNEL, t->filters + k * AREA * NR + c,
                      KERNEL * NR, NR, U + k * NR + c, POINTS * PU, PU);
    }
}

/* For each plane: M[plane] (T, C) = V[chunk][plane] (T, K) @ U[plane] (K, C). The chunk
 * is K input channels from k on. If k > 0, adds the products to M[plane]. */
APART void multiply(const tiles_t *t, int64_t T, int64_t k, int64_t K, int64_t C,
                    const real *U)
{
    // BEGIN SOLUTION
    const real *V = t->V + k / KC * PLANES * t->PV;
    for (int64_t plane = 0; plane < PLANES; plane++) {
        const left_t tiles = {V + plane * t->PV, KC, 1};
        panel_product(T, C, K, tiles, U + plane * PU, k > 0, t->M + plane * t->PM);
    }
    // END SOLUTION
    // STARTER // V has PLANES planes for each chunk (the reference takes 5 lines)
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
            if (t->TILE == 4)
                transform(OUTPUT, 4, POINTS, m, POINTS * t->PM, t->PM, to, t->LINE, NR);
            else
                transform(OUTPUT, 2, POINTS, m, POINTS * t->PM, t->PM, to, t->LINE, NR);
        }
        tiles_write(t, c, least(LANES, C - c), r, output);
    }
}

/* Computes tiles of 4 x 4 or 2 x 2 outputs from tiles of 6 x 6 inputs and all filters.
 * If U has more than KEPT numbers, computes U again for each slab of tiles. */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    const int64_t IC = input->size[1], OC = output->size[1], KERNEL = weight->size[2];
    if (!tiles_fit(weight, p, SMALL, 1) && !tiles_fit(weight, p, LARGE, 1))
        return STATUS_UNSUPPORTED;
    if (tensor_numel(output) == 0) return STATUS_OK;
    tiles_t t = {input->size, output->size, p.padding_h, p.padding_w, .KC = KC};
    t.KERNEL = KERNEL, t.READ = t.POINTS = POINTS;
    t.STEP = t.TILE = POINTS - KERNEL + 1;
    tiles_measure(&t);
    const int64_t ALL = t.PANELS * t.CHUNKS * PLANES * PU;
    const int keep = ALL <= KEPT;
    const real *x = tensor_contiguous(ctx, input), *w = tensor_contiguous(ctx, weight);
    const status_t status =
        tiles_share(ctx, &t, keep ? TILES : MANY, keep ? ALL : PLANES * PU);
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
            for (int64_t k = 0; k < IC; k += KC, u += keep ? PLANES * PU : 0) {
                const int64_t K = least(KC, IC - k);
                const real *filters = w + (c * IC + k) * KERNEL * KERNEL;
                const int anew = r0 == 0 || !keep;
                if (anew && KERNEL == SMALL) weight_chunk(SMALL, &t, filters, C, K, u);
                if (anew && KERNEL == LARGE) weight_chunk(LARGE, &t, filters, C, K, u);
                multiply(&t, (r1 - r0) * t.TW, k, K, C, u);
            }
            for (int64_t r = r0; r < r1; r++)
                output_row(&t, t.M + (r - r0) * t.TW * NR, start, C, r, y);
        }
        // END SOLUTION
        // STARTER (void)weight_chunk, (void)multiply, (void)output_row, (void)OC;
        // STARTER (void)IC, (void)w;
        // STARTER // for NR filters at a time: copy their bias to your own NR numbers
        // STARTER // (0 past the end or without bias). For KC channels at a time call
        // STARTER // weight_chunk, with SMALL or LARGE as a constant, and multiply;
        // STARTER // then output_row for r0 to r1, where M steps by TW * NR. If `keep`,
        // STARTER // U has PANELS * CHUNKS chunks, PLANES * PU apart, made in the first
        // STARTER // slab; else one chunk (the reference takes 16 lines)
        // STARTER return STATUS_NOT_IMPLEMENTED;
    }
    return STATUS_OK;
}
