/* 04 pixel gemm
 *
 *   idea    grad_weight is a matrix product that sums over the pixels of all images
 *   expect  1.3x to 2.4x the speed of 01_unfold_blocks for grad_weight
 *   limit   lanes hold output channels: with few output channels, lanes are empty
 *   run     make bench T=03_im2col_cpu/conv2d/04
 *
 * Covers grad_weight and grad_bias, all shapes. Workspace: at most 2^20 sums, and sums
 * for NR more filters; the padded input for about PIXELS pixels of output; a copy of a
 * non-contiguous grad_output.
 */
#include "phases.h"

enum { MR = CHANNEL_ROWS, NV = CHANNEL_VECTORS, NR = NV * LANES };  // MR x NR sums
enum { PIXELS = 384, SLAB = 1 << 17 };  // terms of a sum; elements of padded input
enum { SUMS = 1 << 20 };                // sums that one pass over the input adds to

/* The slab of phases.h holds the inputs of some images or some rows of output. At pixel
 * p, element k of a filter multiplies data[offset[k] + place[p]]. After the slab, data
 * has a plane of ones: the sum of grad_output * 1 is grad_bias. */
typedef struct {
    phases_t slab;
    int64_t OC, TERMS, K;       // filters per group; filter elements; with the ones
    int64_t PASS;               // filters that one pass over the input computes
    int64_t W;                  // filters in one panel: up to NR
    int64_t *offset, *place;    // offset (K), place (pixels)
    real *panel, *sums, *data;  // panel (pixels, W), sums (PASS/W, K, W)
} conv_t;

/* Allocates scratch memory and fills offset, place and the plane of ones. */
static status_t prepare(ctx_t *ctx, conv_t *c)
{
    const phases_t *slab = &c->slab;
    const int64_t Q = slab->N * slab->OH * slab->OW, ALL = phases_size(slab);
    const int64_t ONES = slab->N * slab->ROWS * slab->COLS;
    c->K = parts(c->TERMS + 1, MR) * MR;
    c->W = c->OC > 2 * LANES ? NR : c->OC > LANES ? 2 * LANES : LANES;
    c->PASS = least(parts(c->OC, c->W), 1 + SUMS / (c->K * c->W)) * c->W;
    c->offset = ctx_scratch(ctx, (size_t)(c->K + Q) * sizeof(int64_t));
    c->panel = ctx_scratch(ctx, (size_t)(Q * c->W) * sizeof(real));
    c->sums = ctx_scratch(ctx, (size_t)(c->PASS * c->K) * sizeof(real));
    c->data = ctx_scratch(ctx, (size_t)(ALL + ONES) * sizeof(real));
    if (!c->offset || !c->panel || !c->sums || !c->data) return STATUS_NO_MEMORY;
    c->place = c->offset + c->K;
    // BEGIN SOLUTION
    for (int64_t k = 0; k < c->TERMS; k++) c->offset[k] = phases_element(slab, k);
    for (int64_t k = c->TERMS; k < c->K; k++) c->offset[k] = ALL;  // only TERMS is used
    for (int64_t q = 0; q < Q; q++) c->place[q] = phases_window(slab, q);
    for (int64_t i = 0; i < ONES; i++) c->data[ALL + i] = 1;
    // END SOLUTION
    // STARTER // fill offset, place and the plane of ones (the reference takes 4 lines)
    return STATUS_OK;
}

/* For MR filter elements from k on: sums += inputs (MR, P) @ panel (P, VECS*LANES) */
EXPAND void multiply(int VECS, const conv_t *c, int64_t P, int64_t k, real *sums)
{
    const int64_t *restrict place = c->place;
    const real *restrict panel = c->panel;
    // BEGIN SOLUTION
    const real *seen[MR];
    vec sum[MR][NV] = {0}, y[NV];
    for (int m = 0; m < MR; m++) seen[m] = c->data + c->offset[k + m];
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
    // END SOLUTION
    // STARTER (void)place, (void)panel;
    // STARTER // keep MR * VECS sums in registers (the reference takes 19 lines)
}

// noinline: if inlined, the pointers of tile and its caller would not fit in registers
__attribute__((noinline)) static void tile(const conv_t *c, int64_t P, int64_t k,
                                           real *sums)
{
    if (c->W == NR) {
        multiply(NV, c, P, k, sums);
    } else if (c->W == 2 * LANES) {
        multiply(2, c, P, k, sums);
    } else {
        multiply(1, c, P, k, sums);
    }
}

/* Adds the pixels of one block to the sums of PASS filters of group g, from `first` on.
 * The block begins at image n, row oh. The slab has its input. grad is grad_output. */
static void add_pixels(const conv_t *c, const real *grad, const int64_t *out, int64_t g,
                       int64_t first, int64_t n, int64_t oh)
{
    const int64_t N = least(c->slab.N, out[0] - n), PLANE = out[2] * out[3];
    const int64_t P = least(c->slab.OH, out[2] - oh) * out[3];  // pixels per image
    // BEGIN SOLUTION
    for (int64_t oc = first; oc < least(c->OC, first + c->PASS); oc += c->W) {
        for (int64_t b = 0; b < N; b++) {
            const int64_t plane = (n + b) * out[1] + g * c->OC + oc;
            vec_transpose_copy(grad + plane * PLANE + oh * out[3], PLANE,
                               c->panel + b * P * c->W, c->W, least(c->W, c->OC - oc),
                               P);
        }
        for (int64_t k = 0; k < c->K; k += MR)
            tile(c, N * P, k, c->sums + (oc - first) * c->K + k * c->W);
    }
    // END SOLUTION
    // STARTER (void)tile, (void)PLANE, (void)N, (void)P;
    // STARTER // W filters at a time: panel, then tiles (the reference takes 10 lines)
}

/* Copies the sums of PASS filters to grad_weight and grad_bias. Each may be NULL. */
static void take(const conv_t *c, int64_t g, int64_t first, tensor_t *grad_weight,
                 tensor_t *grad_bias)
{
    for (int64_t oc = first; oc < least(c->OC, first + c->PASS); oc += c->W) {
        const int64_t at = g * c->OC + oc, count = least(c->W, c->OC - oc);
        const real *sums = c->sums + (oc - first) * c->K;
        if (grad_weight) {
            vec_transpose_copy(sums, c->W, real_data(grad_weight) + at * c->TERMS,
                               c->TERMS, c->TERMS, count);
        }
        if (!grad_bias) continue;
        for (int64_t i = 0; i < count; i++)
            real_data(grad_bias)[at + i] = sums[c->TERMS * c->W + i];
    }
}

/* For each group: grad_weight (OC, IC*KH*KW) = grad_output (OC, pixels) @ columns^T */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    const int64_t *size = weight->size, *out = grad_output->size;
    if (!grad_weight && !grad_bias) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_INPUT;
    const int64_t IC = grad_weight ? size[1] : 0, OC = size[0] / p.groups;
    conv_t c = {.OC = OC, .TERMS = IC * size[2] * size[3]};
    // a block has about PIXELS output pixels: some rows, or whole images
    const int64_t BH = least(out[2], parts(PIXELS, out[3]));
    c.slab = phases_of(p, out, size, IC, 1, BH);
    const int64_t IMAGE = phases_size(&c.slab) + c.slab.ROWS * c.slab.COLS;
    if (BH == out[2]) c.slab.N = least(1 + SLAB / IMAGE, parts(PIXELS, BH * out[3]));
    const real *grad = out[0] ? tensor_contiguous(ctx, grad_output) : NULL;
    if ((!grad && out[0]) || prepare(ctx, &c) != STATUS_OK) return STATUS_NO_MEMORY;
    for (int64_t g = 0; g < p.groups; g++) {
        for (int64_t first = 0; first < OC; first += c.PASS) {
            memset(c.sums, 0, (size_t)(c.PASS * c.K) * sizeof(real));
            // BEGIN SOLUTION
            for (int64_t n = 0; n < out[0]; n += c.slab.N) {
                for (int64_t oh = 0; oh < out[2]; oh += BH) {
                    phases_fill(&c.slab, input, g * IC, IC, n,
                                least(c.slab.N, out[0] - n), oh, c.data);
                    add_pixels(&c, grad, out, g, first, n, oh);
                }
            }
            // END SOLUTION
            // STARTER (void)add_pixels;
            // STARTER // for each block: slab, pixels (the reference takes 7 lines)
            // STARTER return STATUS_NOT_IMPLEMENTED;
            take(&c, g, first, grad_weight, grad_bias);
        }
    }
    return STATUS_OK;
}
