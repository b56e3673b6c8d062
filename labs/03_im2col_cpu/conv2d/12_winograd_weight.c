/* 12 winograd weight
 *
 *   idea    grad_weight is summed over tiles as it is transformed, and turned back once
 *   expect  2x over 04_pixel_gemm where 3x3 windows move by 1
 *   limit   36 sums for each weight, loaded and stored for each slab of tiles
 *   run     make bench T=03_im2col_cpu/conv2d/12
 *
 * For 3x3, stride 1, dilation 1, one group. Workspace: 36 values for each channel of a
 * slab of tiles, and 36 * IC * OC, or all tiles in one slab, whichever is smaller. One
 * infinity or NaN spreads over all weights of its two channels, with PyTorch over those
 * that meet it; lab 05's CONVLAB_DIRECT keeps to direct rungs.
 */
#include "operators.h"
#include "vector.h"

conv2d_backward_fn fallback_backward;

enum { TILE = 4, KERNEL = 3, AREA = 9, POINTS = TILE + KERNEL - 1, PLANES = 36 };
enum { MR = CHANNEL_ROWS, NV = CHANNEL_VECTORS, NR = NV * LANES };  // registers
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
    int64_t CP, ROW, PU, PV, PM;           // to the next pixel, row, plane: no 2^n
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
    // BEGIN SOLUTION
    vec half[PLANES];  // (C, R)
    UNROLL
    for (int i = 0; i < C * R; i++) {
        half[i] = (vec){0};
        UNROLL
        for (int c = 0; c < C; c++) {
            const vec x = vec_load(from + c * from_row + i / R * from_col);
            if (m[i % R * C + c] != 0) half[i] += (real)m[i % R * C + c] * x;
        }
    }
    UNROLL
    for (int i = 0; i < R * R; i++) {
        const double *row = m + i % R * C;
        vec sum = {0};
        UNROLL
        for (int c = 0; c < C; c++)
            if (row[c] != 0) sum += (real)row[c] * half[c * R + i / R];
        vec_store(to + i / R * to_row + i % R * to_col, sum);
    }
    // END SOLUTION
    // STARTER // m @ from, then that @ m^T (the reference takes 19 lines)
}

/* V[plane][tile][c] of row r of tiles. Two rows of the image serve the next one too. */
static void input_row(const plan_t *p, const real *input, int64_t r, real *V)
{
    const int64_t CP = p->CP, IC = p->in[1], IH = p->in[2], IW = p->in[3];
    const int64_t th = r % p->TH, OLD = th ? KERNEL - 1 : 0, n = r / p->TH;
    memcpy(p->rows, p->rows + TILE * p->ROW, (size_t)(OLD * p->ROW) * sizeof(real));
    for (int64_t i = OLD; i < POINTS; i++) {
        const int64_t ih = th * TILE + i - p->padding_h, inside = ih >= 0 && ih < IH;
        real *row = p->rows + i * p->ROW;
        if (!inside) memset(row, 0, (size_t)p->ROW * sizeof(real));
        vec_transpose_copy(input + (n * IC * IH + ih) * IW, IH * IW,
                           row + p->padding_w * CP, CP, IC, inside ? IW : 0);
    }
    for (int64_t i = 0; i < p->TW * CP; i += LANES) {
        transform(BT, POINTS, POINTS, p->rows + i / CP * TILE * CP + i % CP, p->ROW, CP,
                  V + i % CP / KC * PLANES * p->PV + i / CP * KC + i % CP % KC,
                  POINTS * p->PV, p->PV);
    }
}

/* U (MR, VECS) = or += V (T, MR)^T @ M (T, VECS) */
EXPAND void product(int VECS, int64_t T, const real *V, const real *M, int first,
                    real *U)
{
    // BEGIN SOLUTION
    vec sum[MR][NV] = {0}, tile[NV];
    for (int64_t t = 0; t < T; t++, M += NR) {
        UNROLL
        for (int v = 0; v < VECS; v++) tile[v] = vec_keep(vec_load(M + v * LANES));
        UNROLL
        for (int m = 0; m < MR; m++)
            for (int v = 0; v < VECS; v++) sum[m][v] += V[t * KC + m] * tile[v];
    }
    UNROLL
    for (int m = 0; m < MR; m++)
        for (int v = 0; v < VECS; v++) {
            real *u = U + m * NR + v * LANES;
            vec_store(u, first ? sum[m][v] : vec_load(u) + sum[m][v]);
        }
    // END SOLUTION
    // STARTER // sums over the tiles, in registers (the reference takes 14 lines)
}

/* U[plane] (K, C) = or += V[plane] (T, K)^T @ M[plane] (T, C), channels from k on */
static void multiply(const plan_t *p, int64_t T, int64_t k, int64_t K, int64_t C,
                     int first, real *U)
{
    // BEGIN SOLUTION
    const int64_t BLOCKS = (K + MR - 1) / MR;
    for (int64_t i = 0; i < PLANES * BLOCKS; i++) {
        const int64_t plane = i / BLOCKS, b = i % BLOCKS * MR;
        const real *V = p->V + (k / KC * PLANES + plane) * p->PV + b;
        real *u = U + plane * p->PU + b * NR;
        if (C > 2 * LANES) product(NV, T, V, p->M + plane * p->PM, first, u);
        if (C <= 2 * LANES) product(2, T, V, p->M + plane * p->PM, first, u);
    }
    // END SOLUTION
    // STARTER (void)product;  // MR channels at a time (the reference takes 8 lines)
}

/* M[plane][tile][c] of row r of tiles of grad_output, C channels of it */
static void grad_row(const plan_t *p, const real *grad, int64_t C, int64_t r, real *M)
{
    const int64_t OH = p->out[2], OW = p->out[3], ROW = p->TW * TILE * NR;
    const int64_t oh = r % p->TH * TILE, n = r / p->TH;
    for (int64_t i = 0; i < TILE; i++) {
        if (oh + i >= OH) memset(p->strip + i * ROW, 0, (size_t)ROW * sizeof(real));
        vec_transpose_copy(grad + (n * p->out[1] * OH + oh + i) * OW, OH * OW,
                           p->strip + i * ROW, NR, C, oh + i < OH ? OW : 0);
    }
    for (int64_t i = 0; i < p->TW * NR; i += LANES) {
        if (i % NR >= C) continue;
        transform(A, POINTS, TILE, p->strip + i / NR * TILE * NR + i % NR, ROW, NR,
                  M + i, POINTS * p->PM, p->PM);
    }
}

/* grad_weight (C, .., 3, 3) of K channels of input from U[plane] (K, C) */
static void weight_chunk(const plan_t *p, const real *U, int64_t C, int64_t K, real *to)
{
    for (int64_t i = 0; i < K * NR; i += LANES) {
        if (i % NR >= C) continue;
        transform(GT, KERNEL, POINTS, U + i, POINTS * p->PU, p->PU,
                  p->filters + i / NR * AREA * NR + i % NR, KERNEL * NR, NR);
    }
    vec_transpose_copy(p->filters, NR, to, p->in[1] * AREA, K * AREA, C);
}

/* Slabs of rows of tiles. All of U is kept between them, or all rows are one slab. */
static status_t correlate(ctx_t *ctx, const tensor_t *input, const tensor_t *grad,
                          conv2d_params_t params, real *weight)
{
    const real *x = tensor_contiguous(ctx, input), *g = tensor_contiguous(ctx, grad);
    const int64_t *in = input->size, *out = grad->size, IC = in[1], OC = out[1];
    plan_t p = {in, out, params.padding_h, params.padding_w, .PU = KC * NR + LANES};
    p.TH = (out[2] + TILE - 1) / TILE, p.TW = (out[3] + TILE - 1) / TILE;
    const int64_t CHUNKS = (IC + KC - 1) / KC, PANELS = (OC + NR - 1) / NR;
    const int64_t ROWS = in[0] * p.TH, keep = IC * OC < ROWS * p.TW * (IC + NR);
    const int64_t SLAB = least(ROWS, keep ? (TILES + p.TW - 1) / p.TW : ROWS);
    p.CP = (IC + LANES - 1) / LANES * LANES, p.ROW = (p.TW * TILE + KERNEL - 1) * p.CP;
    p.PV = SLAB * p.TW * KC + LANES, p.PM = SLAB * p.TW * NR + LANES;
    const int64_t U = (keep ? PANELS * CHUNKS : 1) * PLANES * p.PU;
    const int64_t V = CHUNKS * PLANES * p.PV, M = PLANES * p.PM, R = POINTS * p.ROW;
    const int64_t F = KC * AREA * NR, S = TILE * TILE * p.TW * NR;
    p.U = ctx_scratch(ctx, (size_t)(U + V + M + R + F + S) * sizeof(real));
    if (!x || !g || !p.U) return STATUS_NO_MEMORY;
    p.V = p.U + U, p.M = p.V + V, p.rows = p.M + M;
    p.filters = p.rows + R, p.strip = p.filters + F;
    memset(p.rows, 0, (size_t)(R + F + S) * sizeof(real));
    for (int64_t r0 = 0; r0 < ROWS; r0 += SLAB) {
        const int64_t r1 = least(ROWS, r0 + SLAB), T = (r1 - r0) * p.TW;
        for (int64_t r = r0; r < r1; r++)
            input_row(&p, x, r, p.V + (r - r0) * p.TW * KC);
        // BEGIN SOLUTION
        real *u = p.U;
        for (int64_t c = 0; c < OC; c += NR) {
            const int64_t C = least(NR, OC - c);
            for (int64_t r = r0; r < r1; r++)
                grad_row(&p, g + c * out[2] * out[3], C, r, p.M + (r - r0) * p.TW * NR);
            for (int64_t k = 0; k < IC; k += KC, u += keep ? PLANES * p.PU : 0) {
                const int64_t K = least(KC, IC - k);
                multiply(&p, T, k, K, C, r0 == 0, u);
                if (r1 == ROWS) weight_chunk(&p, u, C, K, weight + (c * IC + k) * AREA);
            }
        }
        // END SOLUTION
        // STARTER (void)grad_row, (void)multiply, (void)weight_chunk, (void)g, (void)T;
        // STARTER // panel by panel (the reference takes 11 lines)
        // STARTER return STATUS_NOT_IMPLEMENTED;
    }
    return STATUS_OK;
}

/* grad_weight = what the tiles of input and of grad_output have in common, summed */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    const int fits = weight->size[2] == KERNEL && weight->size[3] == KERNEL &&
                     p.stride_h * p.stride_w * p.dilation_h * p.dilation_w == 1 &&
                     p.groups == 1 && tensor_numel(grad_output) > 0;
    // BEGIN SOLUTION
    status_t status = STATUS_OK;
    if (!fits || grad_input || grad_bias) {
        status = fallback_backward(ctx, grad_output, input, weight, p, grad_input,
                                   fits ? NULL : grad_weight, grad_bias);
    }
    if (!fits || !grad_weight || status != STATUS_OK) return status;
    // END SOLUTION
    // STARTER // what is not ours to the fallback (the reference takes 6 lines)
    // STARTER if (!fits || !grad_weight) return STATUS_NOT_IMPLEMENTED;
    return correlate(ctx, input, grad_output, p, real_data(grad_weight));
}
