/* 02 implicit gemm
 *
 *   idea    the column matrix is a table: where in a padded image each row of it begins
 *   expect  1.3x over 01_unfold_packed; no column is ever written
 *   limit   all multiply-adds of the definition; rubbish where rows are short
 *   run     make bench T=03_im2col_cpu/conv2d/02
 *
 * For all shapes. Workspace: a group's filters, and 3 * BAND elements or one row's.
 */
#include "operators.h"
#include "vector.h"

enum { MR = VECTOR_REGISTERS == 32 ? 8 : 4, NV = 3, NR = NV * LANES };  // registers
// L1: terms of a sum, lines of the image they come from; L2: elements of a band
enum { KC = 384, LINES = 48, BAND = 1 << 16 };

// BEGIN SOLUTION
/* Input comes in slabs: SC channels, padded, for BH rows of output, each split into
 * phases, every stride-th row and column, so that windows step by 1:
 *
 *     stride 2   a b a b    phases  a a   b b
 *                c d c d            a a   b b  ...    each ROWS x COLS
 *
 * Place q = oh*COLS + ow in row k of the column matrix is slab[offset[k] + q]. Beyond
 * ow = OW stands rubbish: it is summed up like the rest, and not stored. */
typedef struct {
    conv2d_params_t p;
    int64_t IC, OC, OH, OW, KH, KW;  // of one group
    int64_t SC, BH, ROWS, COLS;
    int64_t PLANE, PITCH;         // from one phase, one row of sums to the next
    int64_t *offset;              // (SC*KH*KW)
    real *slab, *sums, *filters;  // (SC, phases, ROWS, COLS) (OC, PITCH) (OC/MR, K, MR)
} conv_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static status_t plan(ctx_t *ctx, conv_t *c)
{
    const int64_t SH = c->p.stride_h, SW = c->p.stride_w, AREA = c->KH * c->KW;
    const int64_t OC = (c->OC + MR - 1) / MR * MR;
    c->SC = least(c->IC, 1 + least(KC / AREA, LINES / c->KH - 1));
    c->COLS = c->OW + (c->KW - 1) * c->p.dilation_w / SW;
    const int64_t FIT = 1 + BAND / ((OC + c->SC * SH * SW) * c->COLS);  // rows
    const int64_t BANDS = (c->OH + FIT - 1) / FIT;
    c->BH = (c->OH + BANDS - 1) / BANDS;  // all bands cost the same: make them even
    c->ROWS = c->BH + (c->KH - 1) * c->p.dilation_h / SH;
    c->PITCH = c->BH * c->COLS / LANES * LANES + NR;
    // an odd number of vectors: planes must not compete for the same lines of a cache
    c->PLANE = ((c->ROWS * c->COLS + LANES - 1) / LANES | 1) * LANES;
    const int64_t SUMS = OC * c->PITCH, FILTERS = OC * c->IC * AREA;
    const int64_t SLAB = c->SC * SH * SW * c->PLANE + NR;
    c->offset = ctx_scratch(ctx, (size_t)(c->SC * AREA) * sizeof(int64_t));
    c->sums = ctx_scratch(ctx, (size_t)(SUMS + FILTERS + SLAB) * sizeof(real));
    if (!c->offset || !c->sums) return STATUS_NO_MEMORY;
    c->filters = c->sums + SUMS, c->slab = c->filters + FILTERS;
    for (int64_t k = 0; k < c->SC * AREA; k++) {
        const int64_t h = k / c->KW % c->KH * c->p.dilation_h;
        const int64_t w = k % c->KW * c->p.dilation_w;
        const int64_t phase = (k / AREA * SH + h % SH) * SW + w % SW;
        c->offset[k] = phase * c->PLANE + h / SH * c->COLS + w / SW;
    }
    return STATUS_OK;
}

/* A phase of a channel: every stride-th row and column from (h, w) on, 0 outside. */
static void pad(const conv_t *c, const tensor_t *input, int64_t n, int64_t ic,
                int64_t h, int64_t w, real *restrict padded)
{
    const int64_t SW = c->p.stride_w, STEP = SW * input->stride[3];
    const int64_t begin = w < 0 ? (SW - 1 - w) / SW : 0;
    const int64_t count = least(c->COLS, (input->size[3] - w + SW - 1) / SW) - begin;
    for (int64_t i = 0; i < c->ROWS * c->COLS; i++) padded[i] = 0;
    padded += begin;
    for (int64_t r = 0; r < c->ROWS; r++, h += c->p.stride_h, padded += c->COLS) {
        if (h < 0 || h >= input->size[2] || count <= 0) continue;
        const real *row = at4(input, n, ic, h, w + begin * SW);
        if (STEP == 1) memcpy(padded, row, (size_t)count * sizeof(real));
        if (STEP == 2)
            for (int64_t i = 0; i < count; i++) padded[i] = row[2 * i];
        if (STEP > 2 || STEP == 0)
            for (int64_t i = 0; i < count; i++) padded[i] = row[i * STEP];
    }
}

/* sums (MR, VECS*LANES) += filters (MR, K) @ rows of the slab */
static inline void tile(const int VECS, const conv_t *c, int64_t K,
                        const real *restrict filters, const real *restrict slab,
                        real *restrict sums)
{
    const int64_t *restrict offset = c->offset;
    vec sum[MR][NV] = {0}, x[NV];
    for (int64_t k = 0; k < K; k++, filters += MR) {
        UNROLL for (int j = 0; j < VECS; j++) x[j] =
            vec_load(slab + offset[k] + j * LANES);
        UNROLL
        for (int i = 0; i < MR * VECS; i++) {
            sum[i / VECS][i % VECS] += filters[i / VECS] * x[i % VECS];
        }
        __builtin_prefetch(filters + 16 * MR);
    }
    UNROLL
    for (int i = 0; i < MR * VECS; i++) {
        real *total = sums + i / VECS * c->PITCH + i % VECS * LANES;
        vec_store(total, vec_load(total) + sum[i / VECS][i % VECS]);
    }
}

/* sums (OC, PITCH) += filters (OC, K) @ the slab's part of the column matrix */
static void multiply(const conv_t *c, int64_t K, const real *filters)
{
    for (int64_t q = 0; q < c->BH * c->COLS; q += NR) {
        const int64_t left = c->BH * c->COLS - q;
        for (int64_t oc = 0; oc < c->OC; oc += MR) {
            const real *filter = filters + oc * c->IC * c->KH * c->KW;
            real *sums = c->sums + oc * c->PITCH + q;
            if (left > 2 * LANES)
                tile(3, c, K, filter, c->slab + q, sums);
            else if (left > LANES)
                tile(2, c, K, filter, c->slab + q, sums);
            else
                tile(1, c, K, filter, c->slab + q, sums);
        }
    }
}

/* BH rows of output from oh on */
static void band(const conv_t *c, const tensor_t *input, const tensor_t *bias,
                 int64_t n, int64_t g, int64_t oh, tensor_t *output)
{
    const int64_t SW = c->p.stride_w, PHASES = c->p.stride_h * SW, AREA = c->KH * c->KW;
    const int64_t h = oh * c->p.stride_h - c->p.padding_h;
    memset(c->sums, 0, (size_t)(c->OC * c->PITCH) * sizeof(real));
    for (int64_t ic = 0; ic < c->IC; ic += c->SC) {
        const int64_t SC = least(c->SC, c->IC - ic);
        for (int64_t i = 0; i < SC * PHASES; i++) {
            pad(c, input, n, g * c->IC + ic + i / PHASES, h + i / SW % c->p.stride_h,
                i % SW - c->p.padding_w, c->slab + i * c->PLANE);
        }
        multiply(c, SC * AREA, c->filters + ic * AREA * MR);
    }
    for (int64_t oc = 0; oc < c->OC; oc++) {
        const real start = bias ? *at1(bias, g * c->OC + oc) : 0;
        for (int64_t r = 0; r < least(c->BH, c->OH - oh); r++) {
            const real *restrict sums = c->sums + oc * c->PITCH + r * c->COLS;
            real *restrict row = at4(output, n, g * c->OC + oc, oh + r, 0);
            for (int64_t ow = 0; ow < c->OW; ow++) row[ow] = start + sums[ow];
        }
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
    const int64_t K = size[1] * size[2] * size[3], OC = size[0] / p.groups;
    conv_t c = {p, size[1], OC, out[2], out[3], size[2], size[3], .sums = NULL};
    const real *rows = tensor_contiguous(ctx, weight);  // (OC, K), all groups
    if (!rows || plan(ctx, &c) != STATUS_OK) return STATUS_NO_MEMORY;

    for (int64_t g = 0; g < p.groups; g++, rows += OC * K) {
        for (int64_t m = 0; m < OC; m += MR) {
            vec_transpose_copy(rows + m * K, K, c.filters + m * K, MR,
                               least(MR, OC - m), K);
        }
        for (int64_t n = 0; n < out[0]; n++) {
            for (int64_t oh = 0; oh < c.OH; oh += c.BH) {
                band(&c, input, bias, n, g, oh, output);
            }
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 18 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
