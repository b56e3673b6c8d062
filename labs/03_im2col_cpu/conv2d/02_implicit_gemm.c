/* 02 implicit gemm
 *
 *   idea    the column matrix is never written: blocks of it go straight into panels
 *   expect  1.5x over 01_unfold_packed
 *   limit   all multiply-adds of the definition
 *   run     make bench T=03_im2col_cpu/conv2d/02
 *
 * For all shapes. Workspace: a block of the column matrix, KC * NC elements or a row of
 * output, KH*KW terms; the image that it comes from; a copy of weight with gaps.
 */
#include "operators.h"
#include "vector.h"

enum { MR = VECTOR_REGISTERS == 32 ? 8 : 4, NV = 3, NR = NV * LANES };  // registers
// L1: terms of a sum, MR filters long; L2: a block of terms times pixels
enum { KC = 288, NC = (1 << 19) / KC / sizeof(real) };

// BEGIN SOLUTION
/* A block is BH rows of output, or BN whole images. The input that it needs is padded,
 * SC channels at a time, and split into phases, so that windows step by 1:
 *
 *     stride 2   a b a b    phases  a a   b b
 *                c d c d            a a   b b  ...    each ROWS x COLS
 *
 * Row k of the column matrix, in row r of output, begins at offset[k] + r*COLS. */
typedef struct {
    const tensor_t *input, *output;
    conv2d_params_t p;
    int64_t N, IC, OC, OH, OW, KH, KW;  // of one group
    int64_t SC, BN, BH, PH, PW, ROWS, COLS;
    int64_t TERMS, AREA;  // in a filter; of one channel
    int64_t *offset;      // (SC*AREA)
    real *panels, *slab;  // (pixels/NR, SC*AREA, NR) (BN, SC, PH*PW, ROWS, COLS)
} conv_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts(int64_t whole, int64_t part)
{
    return (whole + part - 1) / part;
}

/* All blocks cost the same: make them even. */
static status_t plan(ctx_t *ctx, conv_t *c)
{
    const int64_t SH = c->p.stride_h, SW = c->p.stride_w, P = c->OH * c->OW;
    const int64_t DH = c->p.dilation_h, DW = c->p.dilation_w;
    c->SC = parts(c->IC, parts(c->TERMS, KC));
    c->BH = parts(c->OH, parts(P, NC));
    c->BN = c->BH < c->OH ? 1 : parts(c->N, parts(c->N * P, NC));
    c->PH = DH == 1 ? least(SH, c->KH) : SH;  // phases that are read
    c->PW = DW == 1 ? least(SW, c->KW) : SW;
    c->ROWS = c->BH + (c->KH - 1) * DH / SH;
    c->COLS = c->OW + (c->KW - 1) * DW / SW;
    const int64_t K = c->SC * c->AREA, PLANE = c->ROWS * c->COLS;
    const int64_t PANELS = parts(c->BN * c->BH * c->OW, NR) * NR * K;
    const int64_t SLAB = c->BN * c->SC * c->PH * c->PW * PLANE + LANES;
    c->offset = ctx_scratch(ctx, (size_t)K * sizeof(int64_t));
    c->panels = ctx_scratch(ctx, (size_t)(PANELS + SLAB) * sizeof(real));
    if (!c->offset || !c->panels) return STATUS_NO_MEMORY;
    c->slab = c->panels + PANELS;
    for (int64_t k = 0; k < K; k++) {
        const int64_t h = k / c->KW % c->KH * DH, w = k % c->KW * DW;
        const int64_t phase = (k / c->AREA * c->PH + h % SH) * c->PW + w % SW;
        c->offset[k] = phase * PLANE + h / SH * c->COLS + w / SW;
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
    const int64_t count = least(c->COLS, (input->size[3] - w + SW - 1) / SW) - begin;
    for (int64_t i = 0; i < c->ROWS * c->COLS; i++) padded[i] = 0;
    padded += begin;
    for (int64_t r = 0; r < c->ROWS; r++, h += c->p.stride_h, padded += c->COLS) {
        if (h < 0 || h >= input->size[2] || count <= 0) continue;
        const real *row = at4(input, n, ic, h, w + begin * SW);
        for (int64_t i = 0; i < count * STEP; i += LANES) {
            __builtin_prefetch(row + input->stride[1] + i);  // the next channel
        }
        if (STEP == 1) memcpy(padded, row, (size_t)count * sizeof(real));
        if (STEP == 2)
            for (int64_t i = 0; i < count; i++) padded[i] = row[2 * i];
        if (STEP > 2 || STEP == 0)
            for (int64_t i = 0; i < count; i++) padded[i] = row[i * STEP];
    }
}

/* panels: K rows of the column matrix, ROWS rows of output. */
static void pack(const conv_t *c, int64_t K, int64_t ROWS)
{
    const int64_t *restrict offset = c->offset;
    const int64_t IMAGE = c->SC * c->PH * c->PW * c->ROWS * c->COLS;
    for (int64_t r = 0; r < ROWS; r++) {
        const real *row = c->slab + r / c->BH * IMAGE + r % c->BH * c->COLS;
        for (int64_t ow = 0, count; ow < c->OW; ow += count) {
            const int64_t q = r * c->OW + ow;
            real *restrict to = c->panels + q / NR * NR * K + q % NR;
            count = least(least(LANES, c->OW - ow), NR - q % NR);
            for (int64_t k = 0; k < K; k++, to += NR) {
                vec_store_first(to, vec_load(row + ow + offset[k]), count);
            }
        }
    }
}

/* tile (MR, VECS*LANES) = filters (MR, K) @ panel (K, NR) */
static inline void multiply(const int VECS, int64_t K, const real *const filters[MR],
                            const real *restrict panel, real *restrict tile)
{
    vec sum[MR][NV] = {0}, x[NV];
    for (int64_t k = 0; k < K; k++, panel += NR) {
        UNROLL for (int j = 0; j < VECS; j++) x[j] = vec_load(panel + j * LANES);
        UNROLL
        for (int i = 0; i < MR * VECS; i++) {
            sum[i / VECS][i % VECS] += filters[i / VECS][k] * x[i % VECS];
        }
    }
    UNROLL
    for (int i = 0; i < MR * VECS; i++) {
        vec_store(tile + i / VECS * NR + i % VECS * LANES, sum[i / VECS][i % VECS]);
    }
}

/* Adds a tile to planes oc, ... of output, COUNT pixels from pixel q on of the block,
 * whose own first one is at to; to the bias, if start is given. */
static void add(const conv_t *c, const real *tile, int64_t oc, int64_t q, int64_t COUNT,
                const real *start, real *to)
{
    const int64_t IMAGE = c->output->stride[0], PLANE = c->output->stride[1];
    const int64_t P = c->BH * c->OW;  // of an image
    for (int64_t i = 0, count; i < COUNT; i += count, q += count) {
        real *row = to + q / P * IMAGE + oc * PLANE + q % P;
        count = least(least(LANES, COUNT - i), P - q % P);
        for (int64_t m = 0; m < least(MR, c->OC - oc); m++, row += PLANE) {
            const vec sum = start ? vec_splat(start[m]) : vec_load_first(row, count);
            vec_store_first(row, sum + vec_load(tile + m * NR + i), count);
        }
    }
}

/* The block at `to`, Q pixels, += filters (OC, K) @ panels (K, Q); = bias + , if it is
 * the first part of the sum. */
static void product(const conv_t *c, int64_t K, int64_t Q, const real *filters,
                    const real *bias, real *to)
{
    real tile[MR * NR + LANES];
    for (int64_t oc = 0; oc < c->OC; oc += MR) {
        const real *rows[MR];  // those beyond the edge repeat the last
        for (int64_t m = 0; m < MR; m++) {
            rows[m] = filters + least(oc + m, c->OC - 1) * c->TERMS;
        }
        for (int64_t q = 0; q < Q; q += NR) {
            const real *panel = c->panels + q * K;
            for (int64_t i = 0; i < 2 * MR; i++) {  // the next filters, bit by bit
                __builtin_prefetch(rows[i / 2] + MR * c->TERMS +
                                   (q / NR * 2 + i % 2) * LANES);
            }
            if (Q - q > 2 * LANES)
                multiply(3, K, rows, panel, tile);
            else if (Q - q > LANES)
                multiply(2, K, rows, panel, tile);
            else
                multiply(1, K, rows, panel, tile);
            add(c, tile, oc, q, least(NR, Q - q), bias ? bias + oc : NULL, to);
        }
    }
}

/* A block of output: images from n on, rows from oh on. */
static void block(const conv_t *c, int64_t g, int64_t n, int64_t oh,
                  const real *filters, const real *bias)
{
    const int64_t PHASES = c->PH * c->PW, PLANE = c->ROWS * c->COLS;
    const int64_t BN = least(c->BN, c->N - n), BH = least(c->BH, c->OH - oh);
    const int64_t h = oh * c->p.stride_h - c->p.padding_h;
    for (int64_t ic = 0; ic < c->IC; ic += c->SC) {
        const int64_t SC = least(c->SC, c->IC - ic), K = SC * c->AREA;
        for (int64_t i = 0; i < BN * SC * PHASES; i++) {
            const int64_t m = i / PHASES / SC, s = i / PHASES % SC, f = i % PHASES;
            pad(c, n + m, g * c->IC + ic + s, h + f / c->PW, f % c->PW - c->p.padding_w,
                c->slab + ((m * c->SC + s) * PHASES + f) * PLANE);
        }
        pack(c, K, BN * BH);
        product(c, K, BN * BH * c->OW, filters + ic * c->AREA, ic ? NULL : bias,
                at4(c->output, n, g * c->OC, oh, 0));
    }
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 116 lines)

/* output[n,oc] = bias[oc] + sum over k of weight[oc,k] * row k of the column matrix */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    if (tensor_numel(output) == 0) return STATUS_OK;
    const int64_t *size = weight->size, *out = output->size;
    conv_t c = {input,  output, p,       out[0], size[1], size[0] / p.groups,
                out[2], out[3], size[2], size[3]};
    c.AREA = size[2] * size[3], c.TERMS = size[1] * c.AREA;
    const real *filters = tensor_contiguous(ctx, weight);  // (G*OC, TERMS)
    real *start = ctx_scratch(ctx, (size_t)(size[0] + MR) * sizeof(real));
    if (!filters || !start || plan(ctx, &c) != STATUS_OK) return STATUS_NO_MEMORY;
    for (int64_t oc = 0; oc < size[0]; oc++) start[oc] = bias ? *at1(bias, oc) : 0;

    for (int64_t g = 0; g < p.groups; g++) {
        for (int64_t n = 0; n < c.N; n += c.BN) {
            for (int64_t oh = 0; oh < c.OH; oh += c.BH) {
                block(&c, g, n, oh, filters + g * c.OC * c.TERMS, start + g * c.OC);
            }
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 18 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
