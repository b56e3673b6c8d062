/* 04 pixel gemm
 *
 *   idea    grad_weight is a product whose long side is the pixels of all images
 *   expect  1.3x to 2.4x over 01_unfold_blocks for grad_weight
 *   limit   channels of output are vectors: the less of them, the more lanes idle
 *   run     make bench T=03_im2col_cpu/conv2d/04
 *
 * For all shapes; grad_input is the fallback's. Workspace: at most 2^20 elements of
 * filters and NR filters more, the padded input for about PIXELS pixels of output, and
 * grad_output again if it has gaps.
 */
#include "operators.h"
#include "vector.h"

enum { MR = CHANNEL_ROWS, NV = CHANNEL_VECTORS, NR = NV * LANES };  // registers
enum { PIXELS = 384, SLAB = 1 << 17 };  // terms of a sum; elements of padded input
enum { SUMS = 1 << 20 };                // elements of the filters of one pass

conv2d_backward_fn fallback_backward;

// BEGIN SOLUTION
/* A slab holds what B images or BH rows of output read: IC padded channels, each split
 * into phases, every stride-th row and column, so that windows step by 1. Pixel p sees
 * under element k of a filter slab[offset[k] + place[p]]. Behind the last element it
 * sees a plane of ones: the sum of that is grad_bias. */
typedef struct {
    conv2d_params_t p;
    int64_t N, IC, OC, OH, OW, KH, KW;  // of one group
    int64_t K, B, BH, ROWS, COLS;       // the slab is (IC, phases, B, ROWS, COLS)
    int64_t PASS;                       // filters that see the input together
    int64_t W;                          // of them side by side: up to NR
    int64_t *offset, *place;            // (K), (B*BH*OW)
    real *panel, *sums, *slab;          // panel (B*BH*OW, W), sums (PASS/W, K, W)
} conv_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static status_t plan(ctx_t *ctx, conv_t *c)
{
    const int64_t SH = c->p.stride_h, SW = c->p.stride_w, TERMS = c->IC * c->KH * c->KW;
    const int64_t K = c->K = (TERMS + MR) / MR * MR;  // of a filter, and the 1
    c->BH = least(c->OH, 1 + (PIXELS - 1) / c->OW);
    c->COLS = c->OW + (c->KW - 1) * c->p.dilation_w / SW;
    c->ROWS = c->BH + (c->KH - 1) * c->p.dilation_h / SH;
    const int64_t PLANE = c->ROWS * c->COLS, image = (c->IC * SH * SW + 1) * PLANE;
    c->B = c->BH < c->OH ? 1 : 1 + least(SLAB / image, (PIXELS - 1) / (c->OH * c->OW));
    c->W = c->OC > 2 * LANES ? NR : c->OC > LANES ? 2 * LANES : LANES;
    c->PASS = least((c->OC + c->W - 1) / c->W, 1 + SUMS / (K * c->W)) * c->W;
    const int64_t P = c->B * c->BH * c->OW;
    c->offset = ctx_scratch(ctx, (size_t)(K + P) * sizeof(int64_t));
    c->panel = ctx_scratch(ctx, (size_t)(P * c->W + c->PASS * K + image * c->B) *
                                    sizeof(real));
    if (!c->offset || !c->panel) return STATUS_NO_MEMORY;
    c->place = c->offset + K;
    c->sums = c->panel + P * c->W, c->slab = c->sums + c->PASS * K;
    for (int64_t i = 0; i < K; i++) {
        const int64_t k = least(i, TERMS);  // those beyond the edge repeat the 1
        const int64_t h = k / c->KW % c->KH * c->p.dilation_h;
        const int64_t w = k % c->KW * c->p.dilation_w;
        const int64_t phase = (k / (c->KH * c->KW) * SH + h % SH) * SW + w % SW;
        c->offset[i] = (phase * c->B * c->ROWS + h / SH) * c->COLS + w / SW;
    }
    for (int64_t i = 0; i < P; i++) {
        const int64_t row = i / c->OW;
        c->place[i] = (row / c->BH * c->ROWS + row % c->BH) * c->COLS + i % c->OW;
    }
    for (int64_t i = 0; i < c->B * PLANE; i++) c->slab[(image - PLANE) * c->B + i] = 1;
    return STATUS_OK;
}

/* A phase of a channel of an image: rows and columns from (h, w) on, 0 outside. */
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
        for (int64_t i = 0; i < count; i += LANES / 2) {  // next channel, to L2
            __builtin_prefetch(row + input->stride[1] + i * STEP, 0, 2);
        }
        if (STEP == 1) memcpy(padded, row, (size_t)count * sizeof(real));
        if (STEP == 2)
            for (int64_t i = 0; i < count; i++) padded[i] = row[2 * i];
        if (STEP > 2 || STEP == 0)
            for (int64_t i = 0; i < count; i++) padded[i] = row[i * STEP];
    }
}

/* sums (MR, VECS*LANES) += what MR elements of a filter see (MR, P) @ panel */
EXPAND void multiply(int VECS, const conv_t *c, int64_t P, int64_t k, real *sums)
{
    const int64_t *restrict place = c->place;
    const real *restrict panel = c->panel;
    const real *seen[MR];
    vec sum[MR][NV] = {0}, y[NV];
    for (int m = 0; m < MR; m++) seen[m] = c->slab + c->offset[k + m];
    for (int i = 0; i < MR * VECS; i++) __builtin_prefetch(sums + i * LANES, 1);
    for (int64_t p = 0; p < P; p++, panel += VECS * LANES) {
        const int64_t at = place[p];
        UNROLL
        for (int v = 0; v < VECS; v++) {
            y[v] = vec_keep(vec_load(panel + v * LANES));
            __builtin_prefetch(panel + 4 * NR + v * LANES);
        }
        UNROLL
        for (int m = 0; m < MR; m++)
            for (int v = 0; v < VECS; v++) sum[m][v] += seen[m][at] * y[v];
    }
    UNROLL
    for (int m = 0; m < MR; m++)
        for (int v = 0; v < VECS; v++, sums += LANES)
            vec_store(sums, vec_load(sums) + sum[m][v]);
}

// not inlined: among its caller's pointers its own would not fit into the registers
__attribute__((noinline)) static void tile(const conv_t *c, int64_t P, int64_t k,
                                           real *sums)
{
    c->W == NR          ? multiply(NV, c, P, k, sums)
    : c->W == 2 * LANES ? multiply(2, c, P, k, sums)
                        : multiply(1, c, P, k, sums);
}

/* PASS filters of group g: the pixels of B images from n on, BH rows from oh on */
static void add_pixels(const conv_t *c, const real *grad, const tensor_t *input,
                       int64_t g, int64_t first, int64_t n, int64_t oh)
{
    const int64_t SH = c->p.stride_h, SW = c->p.stride_w, PHASES = SH * SW;
    const int64_t B = least(c->B, c->N - n), P = least(c->BH, c->OH - oh) * c->OW;
    for (int64_t i = 0; i < B * c->IC * PHASES; i++) {
        const int64_t b = i / PHASES / c->IC, f = i % (c->IC * PHASES);
        pad(c, input, n + b, g * c->IC + f / PHASES,
            oh * SH + f / SW % SH - c->p.padding_h, f % SW - c->p.padding_w,
            c->slab + (f * c->B + b) * c->ROWS * c->COLS);
    }
    for (int64_t oc = first; oc < least(c->OC, first + c->PASS); oc += c->W) {
        for (int64_t b = 0; b < B; b++) {
            const int64_t plane = ((n + b) * c->p.groups + g) * c->OC + oc;
            vec_transpose_copy(grad + (plane * c->OH + oh) * c->OW, c->OH * c->OW,
                               c->panel + b * P * c->W, c->W, least(c->W, c->OC - oc),
                               P);
        }
        for (int64_t k = 0; k < c->K; k += MR)
            tile(c, B * P, k, c->sums + (oc - first) * c->K + k * c->W);
    }
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 119 lines)

/* grad_weight (OC, K) = grad_output (OC, pixels) @ column matrix^T (pixels, K) */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    const int64_t *size = weight->size, *out = grad_output->size;
    if (grad_input) {
        const status_t status = fallback_backward(ctx, grad_output, input, weight, p,
                                                  grad_input, NULL, NULL);
        if (status != STATUS_OK) return status;
    }
    if (!grad_weight && !grad_bias) return STATUS_OK;
    const int64_t G = p.groups, OC = size[0] / G, IC = grad_weight ? size[1] : 0,
                  TERMS = IC * size[2] * size[3];
    conv_t c = {p, out[0], IC, OC, out[2], out[3], size[2], size[3], .sums = NULL};
    const real *grad = out[0] ? tensor_contiguous(ctx, grad_output) : NULL;
    if ((!grad && out[0]) || plan(ctx, &c) != STATUS_OK) return STATUS_NO_MEMORY;

    const int64_t PASSES = (OC + c.PASS - 1) / c.PASS;
    for (int64_t i = 0; i < G * PASSES; i++) {
        const int64_t g = i / PASSES, first = i % PASSES * c.PASS;
        memset(c.sums, 0, (size_t)(c.PASS * c.K) * sizeof(real));
        for (int64_t n = 0; n < c.N; n += c.B)
            for (int64_t oh = 0; oh < c.OH; oh += c.BH)
                add_pixels(&c, grad, input, g, first, n, oh);
        for (int64_t oc = first; oc < least(OC, first + c.PASS); oc += c.W) {
            const int64_t at = g * OC + oc, count = least(c.W, OC - oc);
            const real *sums = c.sums + (oc - first) * c.K;
            if (grad_weight)
                vec_transpose_copy(sums, c.W, real_data(grad_weight) + at * TERMS,
                                   TERMS, TERMS, count);
            for (int64_t k = 0; grad_bias && k < count; k++)
                real_data(grad_bias)[at + k] = sums[TERMS * c.W + k];
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 30 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
