/* 04 pixel gemm
 *
 *   idea    grad_weight is a product whose long side is the pixels of all images
 *   expect  1.5x over 01_unfold_blocks for grad_weight
 *   limit   channels of output are vectors: the less of them, the more lanes idle
 *   run     make bench T=03_im2col_cpu/conv2d/04
 *
 * For all shapes; grad_input is the fallback's. Workspace: NR filters of a group, the
 * padded input for about PIXELS pixels of output, grad_output again if it has gaps.
 */
#include "operators.h"
#include "vector.h"

enum { MR = 6, NV = VECTOR_REGISTERS == 32 ? 4 : 2, NR = NV * LANES };  // registers
enum { PIXELS = 384, SLAB = 1 << 17 };  // terms of a sum; elements of padded input

conv2d_backward_fn fallback_backward;

// BEGIN SOLUTION
/* A slab holds what B images or BH rows of output read: IC padded channels, each split
 * into phases, every stride-th row and column, so that windows step by 1. Pixel p sees
 * under element k of a filter slab[offset[k] + place[p]]. */
typedef struct {
    conv2d_params_t p;
    int64_t N, IC, OC, OH, OW, KH, KW;  // of one group
    int64_t B, BH, ROWS, COLS;          // the slab is (IC, phases, B, ROWS, COLS)
    int64_t *offset, *place;            // (K rounded up to MR), (B*BH*OW)
    real *slab, *panel, *sums;          // panel (B*BH*OW, NR), sums (K, NR)
} conv_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static status_t plan(ctx_t *ctx, conv_t *c)
{
    const int64_t SH = c->p.stride_h, SW = c->p.stride_w, AREA = c->KH * c->KW;
    const int64_t K = (c->IC * AREA + MR - 1) / MR * MR;
    c->BH = least(c->OH, 1 + (PIXELS - 1) / c->OW);
    c->COLS = c->OW + (c->KW - 1) * c->p.dilation_w / SW;
    c->ROWS = c->BH + (c->KH - 1) * c->p.dilation_h / SH;
    const int64_t image = c->IC * SH * SW * c->ROWS * c->COLS;
    c->B = c->BH < c->OH ? 1 : 1 + least(SLAB / image, (PIXELS - 1) / (c->OH * c->OW));
    const int64_t P = c->B * c->BH * c->OW;
    c->offset = ctx_scratch(ctx, (size_t)(K + P) * sizeof(int64_t));
    c->slab = ctx_scratch(ctx, (size_t)(image * c->B + (P + K) * NR) * sizeof(real));
    if (!c->offset || !c->slab) return STATUS_NO_MEMORY;
    c->place = c->offset + K;
    c->panel = c->slab + image * c->B, c->sums = c->panel + P * NR;
    for (int64_t k = 0; k < K; k++) {
        const int64_t h = k / c->KW % c->KH * c->p.dilation_h;
        const int64_t w = k % c->KW * c->p.dilation_w;
        const int64_t phase = (k / AREA * SH + h % SH) * SW + w % SW;
        c->offset[k] = (phase * c->B * c->ROWS + h / SH) * c->COLS + w / SW;
        if (k >= c->IC * AREA) c->offset[k] = 0;  // summed up, never used
    }
    for (int64_t i = 0; i < P; i++) {
        const int64_t row = i / c->OW;
        c->place[i] = (row / c->BH * c->ROWS + row % c->BH) * c->COLS + i % c->OW;
    }
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
        if (STEP == 1) memcpy(padded, row, (size_t)count * sizeof(real));
        if (STEP == 2)
            for (int64_t i = 0; i < count; i++) padded[i] = row[2 * i];
        if (STEP > 2 || STEP == 0)
            for (int64_t i = 0; i < count; i++) padded[i] = row[i * STEP];
    }
}

/* sums (MR, NR) += what MR elements of a filter see (MR, P) @ panel (P, NR) */
// not inlined: among its caller's pointers its own would not fit into the registers
__attribute__((noinline)) static void tile(const conv_t *c, int64_t P, int64_t k,
                                           const real *restrict panel,
                                           real *restrict sums)
{
    const int64_t *restrict place = c->place;
    const real *seen[MR];
    vec sum[MR][NV];
    UNROLL
    for (int i = 0; i < MR; i++) seen[i] = c->slab + c->offset[k + i];
    UNROLL
    for (int i = 0; i < MR * NV; i++) sum[i / NV][i % NV] = (vec){0};
    for (int64_t p = 0; p < P; p++, panel += NR) {
        const int64_t at = place[p];
        vec y[NV];
        UNROLL
        for (int j = 0; j < NV; j++) {
            y[j] = vec_load(panel + j * LANES);
            __builtin_prefetch(panel + 4 * NR + j * LANES);
        }
        UNROLL
        for (int i = 0; i < MR; i++) {
            const vec x = vec_splat(seen[i][at]);
            UNROLL
            for (int j = 0; j < NV; j++) sum[i][j] += x * y[j];
        }
    }
    UNROLL
    for (int i = 0; i < MR * NV; i++) {
        vec_store(sums + i * LANES, vec_load(sums + i * LANES) + sum[i / NV][i % NV]);
    }
}

/* The pixels of B images from n on, BH rows from oh on; filters from oc on */
static void add_pixels(const conv_t *c, const real *grad, const tensor_t *input,
                       int64_t n, int64_t oh, int64_t ic0, int64_t CHANNELS,
                       int64_t OCS)
{
    const int64_t SH = c->p.stride_h, SW = c->p.stride_w, PHASES = SH * SW;
    const int64_t B = least(c->B, c->N - n), BH = least(c->BH, c->OH - oh);
    const int64_t plane = c->ROWS * c->COLS, P = BH * c->OW;
    for (int64_t b = 0; b < B; b++) {
        for (int64_t i = 0; i < c->IC * PHASES; i++) {
            pad(c, input, n + b, ic0 + i / PHASES,
                oh * SH + i / SW % SH - c->p.padding_h, i % SW - c->p.padding_w,
                c->slab + (i * c->B + b) * plane);
        }
        vec_transpose_copy(grad + ((n + b) * OCS * c->OH + oh) * c->OW, c->OH * c->OW,
                           c->panel + b * P * NR, NR, CHANNELS, P);
    }
    for (int64_t k = 0; k < c->IC * c->KH * c->KW; k += MR)
        tile(c, B * P, k, c->panel, c->sums + k * NR);
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 107 lines)

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
    const int64_t OCS = size[0], OC = OCS / p.groups, K = size[1] * size[2] * size[3],
                  PLANE = out[2] * out[3];
    conv_t c = {p, out[0], size[1], OC, out[2], out[3], size[2], size[3], .sums = NULL};
    const real *grad = out[0] ? tensor_contiguous(ctx, grad_output) : NULL;
    if ((!grad && out[0]) || plan(ctx, &c) != STATUS_OK) return STATUS_NO_MEMORY;

    for (int64_t oc = 0; grad_bias && oc < OCS; oc++) {
        accum total = 0;
        for (int64_t n = 0; n < out[0]; n++) {
            const real *row = grad + (n * OCS + oc) * PLANE;
            vec sum = {0};
            for (int64_t i = 0; i < PLANE; i += LANES)
                sum += vec_load_first(row + i, least(LANES, PLANE - i));
            for (int l = 0; l < LANES; l++) total += sum[l];
        }
        real_data(grad_bias)[oc] = total;
    }
    for (int64_t oc = 0, n; grad_weight && oc < OCS; oc += n) {
        n = least(NR, OC - oc % OC);
        memset(c.sums, 0, (size_t)((K + MR - 1) / MR * MR * NR) * sizeof(real));
        for (int64_t image = 0; image < out[0]; image += c.B)
            for (int64_t oh = 0; oh < out[2]; oh += c.BH)
                add_pixels(&c, grad + oc * PLANE, input, image, oh, oc / OC * size[1],
                           n, OCS);
        vec_transpose_copy(c.sums, NR, real_data(grad_weight) + oc * K, K, K, n);
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 33 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
