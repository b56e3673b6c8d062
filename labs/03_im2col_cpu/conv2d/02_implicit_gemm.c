/* 02 implicit gemm
 *
 *   idea    the column matrix is never written: a block of it goes into panels at once
 *   expect  1.2x to 1.3x over 01_unfold_blocks
 *   limit   all multiply-adds of the definition
 *   run     make bench T=03_im2col_cpu/conv2d/02
 *
 * For all shapes. Workspace: a block of the column matrix, KC * NC elements, or KH*KW
 * terms and a row of output; the input of the block; a copy of weight that has gaps.
 */
#include "operators.h"
#include "vector.h"

enum { MR = BLOCK_ROWS, NV = BLOCK_VECTORS, NR = NV * LANES };  // registers
enum { FEW = 4 };  // rows of a smaller block, for the last filters
// L1: terms of a sum, for MR filters; L2: a block, terms times pixels
enum { KC = 288, NC = (1 << 19) / KC / sizeof(real) };

// BEGIN SOLUTION
/* A block is BH rows of output, or BN whole images. Its input is padded, SC channels at
 * a time, and split into phases, so that windows step by 1:
 *
 *     stride 2   a b a b    phases  a a   b b
 *                c d c d            a a   b b  ...    each ROWS x COLS
 *
 * Row k of its column matrix is the slab from offset[k] on, in pieces of a vector. */
typedef struct {
    int64_t from, to;  // in the slab; in the panels
} piece_t;

typedef struct {
    const tensor_t *input, *bias, *output;
    const real *filters;  // (G*OC, TERMS)
    conv2d_params_t p;
    int64_t N, IC, OC, OH, OW, KH, KW;  // of one group
    int64_t AREA, TERMS;                // of one channel; of a filter
    int64_t SC, BN, BH, PH, PW, ROWS, COLS, PANEL, PIECES;
    int64_t *offset;  // (SC*AREA)
    piece_t *pieces;
    real *panels, *slab;  // (pixels/NR, PANEL) (BN, SC, PH, PW, ROWS, COLS)
} conv_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts(int64_t whole, int64_t part)
{
    return (whole + part - 1) / part;
}

static status_t plan(ctx_t *ctx, conv_t *c)
{
    const int64_t SH = c->p.stride_h, SW = c->p.stride_w, PIXELS = c->OH * c->OW;
    const int64_t DH = c->p.dilation_h, DW = c->p.dilation_w;
    c->SC = parts(c->IC, parts(c->TERMS, KC));  // parts of a sum, and blocks, are even
    c->BH = parts(c->OH, parts(PIXELS, NC));
    c->BN = c->BH < c->OH ? 1 : parts(c->N, parts(c->N * PIXELS, NC));
    c->PH = DH == 1 ? least(SH, c->KH) : SH;  // phases that are read
    c->PW = DW == 1 ? least(SW, c->KW) : SW;
    c->ROWS = c->BH + (c->KH - 1) * DH / SH;
    c->COLS = c->OW + (c->KW - 1) * DW / SW;
    const int64_t K = c->SC * c->AREA, Q = c->BN * c->BH * c->OW;
    const int64_t PLANE = c->ROWS * c->COLS, IMAGE = c->SC * c->PH * c->PW * PLANE;
    c->PANEL = K * NR + LANES;  // the last piece may be too long
    const int64_t PANELS = parts(Q, NR) * c->PANEL, SLAB = c->BN * IMAGE + LANES;
    const int64_t MOST = c->BN * c->BH * parts(c->OW, LANES) + parts(Q, NR);
    c->offset = ctx_scratch(ctx, (size_t)K * sizeof(int64_t));
    c->pieces = ctx_scratch(ctx, (size_t)MOST * sizeof(piece_t));
    c->panels = ctx_scratch(ctx, (size_t)(PANELS + SLAB) * sizeof(real));
    if (!c->offset || !c->pieces || !c->panels) return STATUS_NO_MEMORY;
    c->slab = c->panels + PANELS;
    for (int64_t k = 0; k < K; k++) {
        const int64_t h = k / c->KW % c->KH * DH, w = k % c->KW * DW;
        const int64_t phase = (k / c->AREA * c->PH + h % SH) * c->PW + w % SW;
        c->offset[k] = phase * PLANE + h / SH * c->COLS + w / SW;
    }
    for (int64_t q = 0; q < Q; c->PIECES++) {
        const int64_t r = q / c->OW, ow = q % c->OW;
        const int64_t from = r / c->BH * IMAGE + r % c->BH * c->COLS + ow;
        c->pieces[c->PIECES] = (piece_t){from, q / NR * c->PANEL + q % NR};
        q += least(LANES, least(c->OW - ow, NR - q % NR));
    }
    return STATUS_OK;
}

/* A phase of a channel: every stride-th row and column from (h, w) on, 0 outside. */
static void pad(const conv_t *c, int64_t n, int64_t ic, int64_t h, int64_t w,
                real *restrict padded)
{
    const tensor_t *input = c->input;
    const int64_t SW = c->p.stride_w, STEP = SW * input->stride[3];
    const int64_t begin = w < 0 ? (SW - 1 - w) / SW : 0;
    const int64_t count = least(c->COLS, parts(input->size[3] - w, SW)) - begin;
    for (int64_t i = 0; i < c->ROWS * c->COLS; i++) padded[i] = 0;
    padded += begin;
    for (int64_t r = 0; r < c->ROWS; r++, h += c->p.stride_h, padded += c->COLS) {
        if (h < 0 || h >= input->size[2] || count <= 0) continue;
        const real *row = at4(input, n, ic, h, w + begin * SW);
        for (int64_t i = 0; i < count; i += LANES / 2) {
            __builtin_prefetch(row + input->stride[1] + i * STEP);  // the next channel
        }
        if (STEP == 1) memcpy(padded, row, (size_t)count * sizeof(real));
        if (STEP == 2)
            for (int64_t i = 0; i < count; i++) padded[i] = row[2 * i];
        if (STEP > 2 || STEP == 0)
            for (int64_t i = 0; i < count; i++) padded[i] = row[i * STEP];
    }
}

/* K rows of the column matrix. Whole vectors: what is too much, the next overwrites. */
static void pack(const conv_t *c, int64_t K)
{
    const piece_t *restrict pieces = c->pieces;
    const int64_t PIECES = c->PIECES;
    for (int64_t k = 0; k < K; k++) {
        const real *restrict slab = c->slab + c->offset[k];
        real *restrict panels = c->panels + k * NR;
        for (int64_t i = 0; i < PIECES; i++) {
            vec_store(panels + pieces[i].to, vec_load(slab + pieces[i].from));
        }
    }
}

/* tile (ROWS, VECS*LANES) = filters (ROWS, K) @ panel (K, NR) */
EXPAND void multiply(int ROWS, int VECS, int64_t K, const real *const filters[MR],
                     const real *restrict panel, real *restrict tile)
{
    vec sum[MR][NV] = {0}, x[NV];
    for (int64_t k = 0; k < K; k++, panel += NR) {
        UNROLL
        for (int v = 0; v < VECS; v++) x[v] = vec_keep(vec_load(panel + v * LANES));
        UNROLL
        for (int m = 0; m < ROWS; m++)
            for (int v = 0; v < VECS; v++) sum[m][v] += filters[m][k] * x[v];
    }
    UNROLL
    for (int m = 0; m < ROWS; m++)
        for (int v = 0; v < VECS; v++) vec_store(tile + m * NR + v * LANES, sum[m][v]);
}

/* Adds a tile to pixels of output, from pixel q of the block at `to` up to END. */
static void add(const conv_t *c, const real *tile, int64_t oc, int64_t planes,
                int64_t q, int64_t END, int first, real *to)
{
    const int64_t P = c->BH * c->OW;  // of an image
    for (int64_t count; q < END; q += count, tile += count) {
        real *row = to + q / P * c->output->stride[0] + q % P;
        count = least(least(LANES, END - q), P - q % P);
        for (int64_t m = 0; m < planes; m++, row += c->output->stride[1]) {
            const vec sum = !first    ? vec_load_first(row, count)
                            : c->bias ? vec_splat(*at1(c->bias, oc + m))
                                      : (vec){0};
            vec_store_first(row, sum + vec_load(tile + m * NR), count);
        }
    }
}

/* Q pixels of output, images from n on, rows from oh on: the terms from ic on */
static void product(const conv_t *c, int64_t g, int64_t n, int64_t oh, int64_t Q,
                    int64_t ic, int64_t K)
{
    const int64_t TERMS = c->TERMS, END = (g + 1) * c->OC;
    real tile[MR * NR + LANES];
    for (int64_t oc = g * c->OC; oc < END; oc += MR) {
        const real *rows[MR];  // those beyond the edge repeat the last
        for (int64_t m = 0; m < MR; m++) {
            rows[m] = c->filters + least(oc + m, END - 1) * TERMS + ic * c->AREA;
        }
        for (int64_t q = 0; q < Q; q += NR) {
            for (int64_t i = 0; i < 2 * MR; i++) {  // the next filters, bit by bit
                const int64_t line = q / NR * 2 + i % 2;
                __builtin_prefetch(rows[i / 2] + MR * TERMS + line * LANES);
            }
            const real *panel = c->panels + q / NR * c->PANEL;
            const int few = END - oc <= FEW, wide = Q - q > LANES;
            if (few && wide) multiply(FEW, NV, K, rows, panel, tile);
            if (few && !wide) multiply(FEW, 1, K, rows, panel, tile);
            if (!few && wide) multiply(MR, NV, K, rows, panel, tile);
            if (!few && !wide) multiply(MR, 1, K, rows, panel, tile);
            add(c, tile, oc, least(MR, END - oc), q, least(Q, q + NR), ic == 0,
                at4(c->output, n, oc, oh, 0));
        }
    }
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 146 lines)

/* output[n,oc] = bias[oc] + sum over k of weight[oc,k] * row k of the column matrix */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    if (tensor_numel(output) == 0) return STATUS_OK;
    const int64_t *size = weight->size, *out = output->size;
    const int64_t AREA = size[2] * size[3], TERMS = size[1] * AREA;
    conv_t c = {input,  bias,   output,        tensor_contiguous(ctx, weight),
                p,      out[0], size[1],       size[0] / p.groups,
                out[2], out[3], size[2],       size[3],
                AREA,   TERMS,  .panels = NULL};
    if (!c.filters || plan(ctx, &c) != STATUS_OK) return STATUS_NO_MEMORY;

    const int64_t BANDS = parts(c.OH, c.BH), BLOCKS = parts(c.N, c.BN) * BANDS;
    const int64_t PHASES = c.PH * c.PW, PLANE = c.ROWS * c.COLS;
    for (int64_t i = 0; i < p.groups * BLOCKS * parts(c.IC, c.SC); i++) {
        const int64_t ic = i % parts(c.IC, c.SC) * c.SC, j = i / parts(c.IC, c.SC);
        const int64_t g = j / BLOCKS, n = j % BLOCKS / BANDS * c.BN,
                      oh = j % BANDS * c.BH;
        const int64_t SC = least(c.SC, c.IC - ic), BN = least(c.BN, c.N - n);
        for (int64_t f = 0; f < BN * SC * PHASES; f++) {
            const int64_t s = f / PHASES % SC, m = f / PHASES / SC, w = f % c.PW;
            pad(&c, n + m, g * c.IC + ic + s,
                oh * p.stride_h - p.padding_h + f % PHASES / c.PW, w - p.padding_w,
                c.slab + ((m * c.SC + s) * PHASES + f % PHASES) * PLANE);
        }
        pack(&c, SC * AREA);
        product(&c, g, n, oh, BN * least(c.BH, c.OH - oh) * c.OW, ic, SC * AREA);
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 25 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
