/* 03 stride phases
 *
 *   idea    grad_input is a convolution: run forward at stride 1 on grad_output
 *   expect  1.1x to 2x the speed of 01_unfold_blocks for grad_input
 *   limit   the limit of the convolution that is called
 *   run     make bench T=03_im2col_cpu/conv2d/03
 *
 * Covers grad_input, all shapes. Workspace: a copy of weight; with a stride, a copy
 * of grad_input; for each phase, the workspace of the convolution.
 */
#include "turned.h"

conv2d_forward_fn convolution_forward;

/* Take one axis with stride 3 and 5 taps. Which taps kh does each pixel ih need?
 *
 *     ih + padding    0   1   2   3   4   5   6   7   8   ...
 *     taps kh        0,3 1,4  2  0,3 1,4  2  0,3 1,4  2
 *
 * At stride 3, a phase is every third pixel of grad_input. A phase is a convolution
 * of grad_output with the phase's flipped taps, at stride 1, without inserted zeros. */
typedef struct {
    int64_t first, COUNT;  // elements of grad_input: first, first + stride, ...
    taps_t taps;           // the taps of these elements
    int64_t dilation, padding, skip;  // of the convolution; results to skip
} axis_t;

/* Describes one phase of an axis: I pixels of grad_input, O of grad_output, K taps. The
 * convolution pads both sides equally. This may add results before the first pixel. */
static axis_t phase_of(int64_t phase, int64_t I, int64_t O, int64_t K, int64_t stride,
                       int64_t padding, int64_t dilation)
{
    axis_t a = {.taps = {.tap = K, .STEP = K}, .dilation = 1};
    // BEGIN SOLUTION
    a.first = (phase - padding % stride + stride) % stride;
    a.COUNT = (I - a.first + stride - 1) / stride;
    for (int64_t k = K - 1; k >= 0; k--) {
        if (k * dilation % stride != phase) continue;
        if (a.taps.T++) a.taps.STEP = a.taps.tap - k;
        a.taps.tap = k;
    }
    if (a.taps.T > 1) a.dilation = a.taps.STEP * dilation / stride;
    // before: how many elements before grad_output the first pixel's window reads
    const int64_t halo = (a.taps.T - 1) * a.dilation;
    const int64_t before =
        a.taps.tap * dilation / stride + halo - (a.first + padding) / stride;
    const int64_t after = a.COUNT + halo - O - before;
    a.padding = before > after ? before : after;
    if (a.padding < 0) a.padding = 0;
    a.skip = a.padding - before;
    // END SOLUTION
    // STARTER // fill all fields of axis_t (the reference takes 15 lines)
    return a;
}

/* Copies the results (N, IC, H, W) of a convolution from `sums` to the pixels of one
 * phase of grad_input. If sums is NULL, writes 0 to these pixels. */
static void deal_out(const tensor_t *sums, axis_t h, axis_t w, conv2d_params_t p,
                     tensor_t *grad_input)
{
    for (int64_t i = 0; i < grad_input->size[0] * grad_input->size[1]; i++) {
        const int64_t n = i / grad_input->size[1], ic = i % grad_input->size[1];
        // BEGIN SOLUTION
        for (int64_t r = 0; r < h.COUNT; r++) {
            real *row = at4(grad_input, n, ic, h.first + r * p.stride_h, w.first);
            const real *from = sums ? at4(sums, n, ic, h.skip + r, w.skip) : NULL;
            for (int64_t c = 0; c < w.COUNT; c++)
                row[c * p.stride_w] = from ? from[c] : 0;
        }
        // END SOLUTION
        // STARTER (void)n, (void)ic;
        // STARTER // copy each row of the phase (the reference takes 6 lines)
    }
}

/* Computes one phase of grad_input. At stride 1, grad_input has only one phase. If the
 * convolution has the shape of grad_input, it writes directly to grad_input. */
static status_t backward_phase(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *weight, conv2d_params_t p, axis_t h,
                               axis_t w, tensor_t *grad_input)
{
    if (h.taps.T * w.taps.T == 0) {
        deal_out(NULL, h, w, p, grad_input);
        return STATUS_OK;
    }
    const int64_t *in = grad_input->size, *out = grad_output->size;
    const conv2d_params_t plain = {1,          1,          h.padding, w.padding,
                                   h.dilation, w.dilation, p.groups};
    const int64_t H = conv2d_extent(out[2], h.taps.T, 1, h.padding, h.dilation);
    const int64_t W = conv2d_extent(out[3], w.taps.T, 1, w.padding, w.dilation);
    const int whole = p.stride_h * p.stride_w == 1 && H == in[2] && W == in[3];
    // BEGIN SOLUTION
    const size_t COUNT = (size_t)(in[0] * in[1] * H * W);
    real *data = whole ? grad_input->data : ctx_scratch(ctx, COUNT * sizeof(real));
    const tensor_t filters = turned(ctx, weight, p.groups, h.taps, w.taps);
    if (!data || !filters.data) return STATUS_NO_MEMORY;
    tensor_t sums = dense(data, in[0], in[1], H, W);
    const status_t status =
        convolution_forward(ctx, grad_output, &filters, NULL, plain, &sums);
    if (status == STATUS_OK && !whole) deal_out(&sums, h, w, p, grad_input);
    return status;
    // END SOLUTION
    // STARTER (void)plain, (void)whole;
    // STARTER // convolve with flipped filters (the reference takes 9 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Computes grad_input, phase by phase. A lower rung computes the other gradients. */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    if (!grad_input) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_WEIGHT | GRAD_BIAS;
    if (tensor_numel(grad_input) == 0) return STATUS_OK;
    status_t status = STATUS_OK;
    const int64_t *out = grad_output->size, *in = grad_input->size;
    for (int64_t i = 0; i < p.stride_h && status == STATUS_OK; i++) {
        const axis_t h = phase_of(i, in[2], out[2], weight->size[2], p.stride_h,
                                  p.padding_h, p.dilation_h);
        for (int64_t j = 0; j < p.stride_w && status == STATUS_OK; j++) {
            const axis_t w = phase_of(j, in[3], out[3], weight->size[3], p.stride_w,
                                      p.padding_w, p.dilation_w);
            if (h.COUNT <= 0 || w.COUNT <= 0) continue;
            status = backward_phase(ctx, grad_output, weight, p, h, w, grad_input);
        }
    }
    return status;
    // END SOLUTION
    // STARTER (void)phase_of, (void)backward_phase;
    // STARTER // set ctx->left, then compute each phase of both axes
    // STARTER // (the reference takes 16 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
