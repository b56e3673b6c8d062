/* 03 stride phases
 *
 *   idea    grad_input is a convolution too: of grad_output, forward, at stride 1
 *   expect  1.1x to 2x over 01_unfold_blocks for grad_input
 *   limit   that of the convolution used
 *   run     make bench T=03_im2col_cpu/conv2d/03
 *
 * For all shapes; the other gradients are the fallback's. Workspace: some channels'
 * filters, ROOM elements or one channel's; a phase of them, PIXELS or one image; and
 * that of the convolution, once.
 */
#include "operators.h"

enum { ROOM = 3 << 19, PIXELS = 512 };  // elements of filters; about so many pixels

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

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Scratch memory for one convolution after the other: what is asked for first in one is
 * asked for first in the next. */
typedef struct {
    ctx_t *ctx;
    int asked;
    size_t bytes[8];
    void *blocks[8];
} again_t;

static void *again(ctx_t *ctx, size_t bytes)
{
    again_t *a = ctx->scratch_state;
    if (a->asked == 8) return ctx_scratch(a->ctx, bytes);
    const int i = a->asked++;
    if (a->bytes[i] < bytes) {
        a->blocks[i] = ctx_scratch(a->ctx, bytes);
        a->bytes[i] = a->blocks[i] ? bytes : 0;
    }
    return a->bytes[i] < bytes ? NULL : a->blocks[i];
}

static tensor_t dense(real *data, int64_t A, int64_t B, int64_t H, int64_t W)
{
    const int64_t HW = H * W;
    return (tensor_t){
        data, 4, REAL_DTYPE, DEVICE_CPU, {A, B, H, W}, {B * HW, HW, W, 1}};
}

/* The part from first on, at most count long, along an axis: a view */
static tensor_t part(tensor_t t, int32_t axis, int64_t first, int64_t count)
{
    t.data = real_data(&t) + first * t.stride[axis];
    t.size[axis] = least(count, t.size[axis] - first);
    return t;
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
                               const tensor_t *filters, conv2d_params_t p, axis_t h,
                               axis_t w, const tensor_t *grad_input)
{
    const int64_t *in = grad_input->size, *out = grad_output->size;
    const int64_t H = conv2d_extent(out[2], h.T, 1, h.padding, h.dilation);
    const int64_t W = conv2d_extent(out[3], w.T, 1, w.padding, w.dilation);
    const int whole = p.stride_h * p.stride_w == 1 && H == in[2] && W == in[3] &&
                      tensor_is_contiguous(grad_input);
    const int none = h.T * w.T == 0;  // nothing arrives
    real *sums = real_data(grad_input);
    if (!whole) sums = ctx_scratch(ctx, (size_t)(in[0] * in[1] * H * W) * sizeof(real));
    if (!sums && !none) return STATUS_NO_MEMORY;
    const conv2d_params_t plain = {1,          1,          h.padding, w.padding,
                                   h.dilation, w.dilation, p.groups};
    tensor_t result = dense(sums, in[0], in[1], H, W);
    const status_t status =
        none ? STATUS_OK
             : convolution_forward(ctx, grad_output, filters, NULL, plain, &result);
    for (int64_t i = 0; !whole && i < in[0] * in[1] * h.COUNT; i++) {
        const int64_t plane = i / h.COUNT, r = i % h.COUNT;
        const real *restrict from = sums + (plane * H + h.skip + r) * W + w.skip;
        real *restrict row = at4(grad_input, plane / in[1], plane % in[1],
                                 h.first + r * p.stride_h, w.first);
        for (int64_t c = 0; c < w.COUNT; c++) row[c * p.stride_w] = none ? 0 : from[c];
    }
    return status;
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 101 lines)

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
    const int64_t SH = p.stride_h, SW = p.stride_w, FILTER = size[2] * size[3];
    const int64_t FIT = p.groups > 1 ? size[1] : 1 + ROOM / (size[0] * FILTER);
    const int64_t PARTS = (size[1] + FIT - 1) / FIT, IC = (size[1] + PARTS - 1) / PARTS;
    const int64_t N = 1 + PIXELS / (out[2] * out[3]);
    real *turned = ctx_scratch(ctx, (size_t)(size[0] * IC * FILTER) * sizeof(real));
    int64_t *taps = ctx_scratch(ctx, (size_t)FILTER * sizeof(int64_t));
    if (!turned || !taps) return STATUS_NO_MEMORY;
    again_t state = {.ctx = ctx};
    ctx_t mine = *ctx;
    mine.scratch = again, mine.scratch_state = &state;
    for (int64_t ic = 0; ic < size[1]; ic += IC) {
        for (int64_t n = 0; n < in[0]; n += N) {
            const tensor_t some = part(*weight, 1, ic, IC),
                           y = part(*grad_output, 0, n, N);
            const tensor_t channels =
                part(*grad_input, 1, ic, p.groups > 1 ? in[1] : IC);
            const tensor_t x = part(channels, 0, n, N);
            real *filters = turned;
            for (int64_t i = 0; i < SH * SW && status == STATUS_OK; i++) {
                const axis_t h = phase_of(i / SW, in[2], out[2], size[2], SH,
                                          p.padding_h, p.dilation_h);
                const axis_t w = phase_of(i % SW, in[3], out[3], size[3], SW,
                                          p.padding_w, p.dilation_w);
                const tensor_t t =
                    dense(filters, x.size[1], size[0] / p.groups, h.T, w.T);
                for (int64_t k = 0; n == 0 && k < h.T * w.T; k++) {
                    taps[k] = (h.tap + k / w.T * h.STEP) * weight->stride[2] +
                              (w.tap + k % w.T * w.STEP) * weight->stride[3];
                }
                if (n == 0) turn(&some, p.groups, taps, h.T * w.T, filters);
                filters += tensor_numel(&t), state.asked = 0;
                if (h.COUNT > 0 && w.COUNT > 0)
                    status = backward_phase(&mine, &y, &t, p, h, w, &x);
            }
        }
    }
    return status;
    // END SOLUTION
    // STARTER // your code (the reference takes 45 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
