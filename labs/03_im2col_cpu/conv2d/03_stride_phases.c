/* 03 stride phases
 *
 *   idea    grad_input is a convolution too: of grad_output, forward, at stride 1
 *   expect  2x over 01_unfold_packed for grad_input
 *   limit   that of the convolution used
 *   run     make bench T=03_im2col_cpu/conv2d/03
 *
 * For all shapes; the other gradients are the fallback's. Workspace: a copy of weight,
 * one phase of grad_input, and that of the convolution for each phase.
 */
#include <string.h>

#include "operators.h"

conv2d_backward_fn fallback_backward;
conv2d_forward_fn convolution_forward;

/* Stride 3, 5 taps, along one axis: which tap reaches which elements of grad_input
 *
 *     ih + padding    0   1   2   3   4   5   6   7   8   ...
 *     kh             0,3 1,4  2  0,3 1,4  2  0,3 1,4  2
 *
 * The elements of one phase, every third, are a convolution of grad_output with their
 * own taps, flipped: at stride 1, without zeros in between. */

// BEGIN SOLUTION
typedef struct {
    int64_t first, COUNT;  // elements of grad_input: first, first + stride, ...
    int64_t tap, STEP, T;  // taps: tap, tap + STEP, ..., T of them
    int64_t dilation, padding, skip;  // of the convolution; its elements to leave out
} axis_t;

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* One axis: sizes I and O of grad_input and grad_output, K taps. */
static axis_t phase_of(int64_t phase, int64_t I, int64_t O, int64_t K, int64_t stride,
                       int64_t padding, int64_t dilation)
{
    axis_t a = {.tap = K, .STEP = K};
    a.first = (phase - padding % stride + stride) % stride;
    a.COUNT = (I - a.first + stride - 1) / stride;
    for (int64_t k = K - 1; k >= 0; k--) {
        if (k * dilation % stride != phase) continue;
        if (a.T++) a.STEP = a.tap - k;
        a.tap = k;
    }
    a.dilation = a.STEP * dilation / stride;
    // the first element meets the last tap this many elements before grad_output
    const int64_t halo = (a.T - 1) * a.dilation;
    const int64_t before =
        a.tap * dilation / stride + halo - (a.first + padding) / stride;
    a.padding = most(0, most(before, a.COUNT + halo - O - before));
    a.skip = a.padding - before;
    if (a.T < 2) a.dilation = 1;
    return a;
}

static tensor_t dense(real *data, int64_t A, int64_t B, int64_t H, int64_t W)
{
    const int64_t HW = H * W;
    return (tensor_t){
        data, 4, REAL_DTYPE, DEVICE_CPU, {A, B, H, W}, {B * HW, HW, W, 1}};
}

/* The filters of a phase, flipped, input and output channels exchanged in each group;
 * taps holds where its T taps are in a filter. */
static void turn(const tensor_t *weight, int64_t G, const int64_t *taps, int64_t T,
                 real *turned)
{
    const int64_t OC = weight->size[0] / G, IC = weight->size[1];
    for (int64_t i = 0; i < G * IC; i++) {
        const real *filter = at4(weight, i / IC * OC, i % IC, 0, 0);
        for (int64_t oc = 0; oc < OC; oc++, filter += weight->stride[0], turned += T) {
            for (int64_t k = 0; k < T; k++) turned[k] = filter[taps[T - 1 - k]];
        }
    }
}

static status_t backward_phase(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *weight, conv2d_params_t p, axis_t h,
                               axis_t w, tensor_t *grad_input)
{
    const int64_t *in = grad_input->size, *out = grad_output->size, SW = p.stride_w;
    const conv2d_params_t plain = {1,          1,          h.padding, w.padding,
                                   h.dilation, w.dilation, p.groups};
    const int64_t H = conv2d_extent(out[2], h.T, 1, h.padding, h.dilation);
    const int64_t W = conv2d_extent(out[3], w.T, 1, w.padding, w.dilation);
    const int whole = p.stride_h * SW == 1 && H == in[2] && W == in[3];
    const int64_t FILTERS = tensor_numel(weight),
                  PART = whole ? 0 : in[0] * in[1] * H * W;
    real *turned = ctx_scratch(ctx, (size_t)(FILTERS + PART) * sizeof(real));
    int64_t *taps = ctx_scratch(ctx, (size_t)(h.T * w.T) * sizeof(int64_t));
    if (!turned || !taps) return STATUS_NO_MEMORY;
    for (int64_t k = 0; k < h.T * w.T; k++) {
        taps[k] = (h.tap + k / w.T * h.STEP) * weight->stride[2] +
                  (w.tap + k % w.T * w.STEP) * weight->stride[3];
    }
    real *part = whole ? real_data(grad_input) : turned + FILTERS;
    const tensor_t filters = dense(turned, in[1], weight->size[0] / p.groups, h.T, w.T);
    tensor_t result = dense(part, in[0], in[1], H, W);
    turn(weight, p.groups, taps, h.T * w.T, turned);
    const status_t status =
        convolution_forward(ctx, grad_output, &filters, NULL, plain, &result);
    for (int64_t i = 0; !whole && i < in[0] * in[1] * h.COUNT; i++) {
        const int64_t plane = i / h.COUNT, r = i % h.COUNT;
        const real *restrict sums = part + (plane * H + h.skip + r) * W + w.skip;
        real *restrict row = real_data(grad_input) +
                             (plane * in[2] + h.first + r * p.stride_h) * in[3] +
                             w.first;
        for (int64_t c = 0; c < w.COUNT; c++) row[c * SW] = sums[c];
    }
    return status;
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 81 lines)

/* grad_input, phase by phase */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    status_t status = STATUS_OK;
    if (grad_weight || grad_bias)
        status = fallback_backward(ctx, grad_output, input, weight, p, NULL,
                                   grad_weight, grad_bias);
    if (!grad_input || tensor_numel(grad_input) == 0 || status != STATUS_OK)
        return status;

    const int64_t *in = grad_input->size, *out = grad_output->size,
                  *size = weight->size;
    const int64_t SH = p.stride_h, SW = p.stride_w;
    memset(grad_input->data, 0, (size_t)tensor_numel(grad_input) * sizeof(real));
    for (int64_t i = 0; i < SH * SW && status == STATUS_OK; i++) {
        const axis_t h =
            phase_of(i / SW, in[2], out[2], size[2], SH, p.padding_h, p.dilation_h);
        const axis_t w =
            phase_of(i % SW, in[3], out[3], size[3], SW, p.padding_w, p.dilation_w);
        if (h.T * w.T == 0 || h.COUNT <= 0 || w.COUNT <= 0)
            continue;  // nothing arrives
        status = backward_phase(ctx, grad_output, weight, p, h, w, grad_input);
    }
    return status;
    // END SOLUTION
    // STARTER // your code (the reference takes 20 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
