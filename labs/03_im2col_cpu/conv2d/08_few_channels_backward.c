/* 08 few channels backward
 *
 *   idea    compute a small block of the columns, and fold it before the next block
 *   expect  3x the speed of 03_stride_phases for the layers that this rung covers
 *   limit   each sum has only OC terms before it is added to a padded image
 *   run     make bench T=03_im2col_cpu/conv2d/08
 *
 * Covers grad_input, if groups have at most 4 input channels. Workspace, for one group:
 * filters, NR pixels of grad_output, a padded image; copies of non-contiguous tensors.
 */
#include "phases.h"

enum { MR = BLOCK_ROWS, NV = BLOCK_VECTORS, NR = NV * LANES };  // MR x NR sums
enum { FEW = 4 };

/* Describes the padded image of one group. Each phase of a channel is ROWS x COLS. */
typedef struct {
    int64_t OC, K, P, OW, ROWS, COLS;
    int64_t *offset;  // offset[k]: where row k of column 0 is added to image
    real *image;      // (IC, phases, ROWS, COLS)
} fold_t;

/* Computes block (MR, NR) = filters^T (MR, OC) @ panel (OC, NR). */
static void tile(int64_t OC, const real *restrict filters, const real *restrict panel,
                 real *restrict block)
{
    // BEGIN SOLUTION
    vec sum[MR][NV] = {0}, y[NV];
    for (int64_t oc = 0; oc < OC; oc++, filters += MR, panel += NR) {
        UNROLL
        for (int v = 0; v < NV; v++) y[v] = vec_keep(vec_load(panel + v * LANES));
        UNROLL
        for (int m = 0; m < MR; m++)
            for (int v = 0; v < NV; v++) sum[m][v] += filters[m] * y[v];
    }
    UNROLL
    for (int m = 0; m < MR; m++)
        for (int v = 0; v < NV; v++) vec_store(block + m * NR + v * LANES, sum[m][v]);
    // END SOLUTION
    // STARTER // keep sums in registers, then store (the reference takes 11 lines)
}

/* Adds n columns of block to image. Row i of block is row k + i of the columns. */
static void fold(const fold_t *f, int64_t k, const real *block, int64_t n, real *image)
{
    // BEGIN SOLUTION
    for (int64_t i = 0; i < least(MR, f->K - k); i++) {
        real *restrict sums = image + f->offset[k + i];  // does not overlap block
        for (int64_t j = 0; j < n; j++) sums[j] += block[i * NR + j];
    }
    // END SOLUTION
    // STARTER // add each row to its offset (the reference takes 4 lines)
}

/* Computes the columns of one image and group, and folds them into the padded image. */
static void fold_all(const fold_t *f, const real *filters, const real *grad,
                     real *panel)
{
    // BEGIN SOLUTION
    real block[MR * NR];
    for (int64_t q = 0; q < f->P; q += NR) {
        const int64_t COUNT = least(NR, f->P - q);
        for (int64_t i = 0; i < f->OC * NV; i++) {
            const real *from = grad + i / NV * f->P + q + i % NV * LANES;
            const int64_t left = COUNT - i % NV * LANES;
            const vec y = vec_load_first(from, left < 0 ? 0 : least(left, LANES));
            vec_store(panel + i * LANES, y);
        }
        for (int64_t k = 0; k < f->K; k += MR) {
            tile(f->OC, filters + k * f->OC, panel, block);
            for (int64_t i = 0, n; i < COUNT; i += n) {
                const int64_t row = (q + i) / f->OW, col = q + i - row * f->OW;
                n = least(f->OW - col, COUNT - i);
                fold(f, k, block + i, n, f->image + row * f->COLS + col);
            }
        }
    }
    // END SOLUTION
    // STARTER (void)tile, (void)fold;
    // STARTER // NR pixels at a time: panel, tiles, fold (the reference takes 18 lines)
}

/* Copies a row of the padded image, stored as SW phases, to a row of grad_input. */
static void unpad(const fold_t *f, int64_t SW, int64_t padding, const real *phases,
                  int64_t IW, real *row)
{
    // BEGIN SOLUTION
    for (int64_t phase = 0; phase < SW; phase++, phases += f->ROWS * f->COLS) {
        const int64_t begin = phase < padding ? parts(padding - phase, SW) : 0;
        const real *from = phases + begin;
        for (int64_t iw = begin * SW + phase - padding; iw < IW; iw += SW)
            row[iw] = *from++;
    }
    // END SOLUTION
    // STARTER // phase by phase, without the padding (the reference takes 6 lines)
}

/* grad_input = fold(weight^T (IC*KH*KW, OC) @ grad_output (OC, OH*OW)), per group */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    const int64_t *size = weight->size, *out = grad_output->size;
    if (size[1] > FEW || !grad_input) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_WEIGHT | GRAD_BIAS;
    if (out[0] == 0) return STATUS_OK;

    const int64_t SH = p.stride_h, SW = p.stride_w, KH = size[2], KW = size[3];
    const int64_t IC = size[1], IH = grad_input->size[2], IW = grad_input->size[3];
    fold_t f = {size[0] / p.groups, IC * KH * KW, out[2] * out[3], out[3],
                .image = NULL};
    f.ROWS = parts(IH + 2 * p.padding_h, SH);
    f.COLS = parts(IW + 2 * p.padding_w, SW);
    const int64_t IMAGE = IC * SH * SW * f.ROWS * f.COLS;
    const real *weights = tensor_contiguous(ctx, weight);
    const real *grads = tensor_contiguous(ctx, grad_output);
    f.offset = ctx_scratch(ctx, (size_t)f.K * sizeof(int64_t));
    f.image = ctx_scratch(ctx, (size_t)(IMAGE + f.OC * (f.K + MR + NR)) * sizeof(real));
    if (!weights || !grads || !f.offset || !f.image) return STATUS_NO_MEMORY;
    real *panel = f.image + IMAGE, *filters = panel + f.OC * NR;
    for (int64_t k = 0; k < f.K; k++) {
        const int64_t h = k / KW % KH * p.dilation_h, w = k % KW * p.dilation_w;
        const int64_t phase = (k / (KH * KW) * SH + h % SH) * SW + w % SW;
        f.offset[k] = (phase * f.ROWS + h / SH) * f.COLS + w / SW;
    }
    for (int64_t i = 0; i < out[0] * p.groups; i++) {  // i is one group of one image
        const int64_t n = i % out[0], g = i / out[0];
        const real *filter = weights + g * f.OC * f.K;
        if (n == 0) {  // a new group: reorder its filters
            for (int64_t k = 0; k < f.K; k++) {
                real *to = filters + k / MR * MR * f.OC + k % MR;
                for (int64_t oc = 0; oc < f.OC; oc++)
                    to[oc * MR] = filter[oc * f.K + k];
            }
        }
        // BEGIN SOLUTION
        memset(f.image, 0, (size_t)IMAGE * sizeof(real));
        fold_all(&f, filters, grads + (n * p.groups + g) * f.OC * f.P, panel);
        for (int64_t r = 0; r < IC * IH; r++) {
            const int64_t h = r % IH + p.padding_h, phase = (r / IH * SH + h % SH) * SW;
            unpad(&f, SW, p.padding_w, f.image + (phase * f.ROWS + h / SH) * f.COLS, IW,
                  real_data(grad_input) + ((n * p.groups + g) * IC * IH + r) * IW);
        }
        // END SOLUTION
        // STARTER (void)fold_all, (void)unpad, (void)grads, (void)panel, (void)n;
        // STARTER // fold, then remove the padding (the reference takes 7 lines)
        // STARTER return STATUS_NOT_IMPLEMENTED;
    }
    return STATUS_OK;
}
