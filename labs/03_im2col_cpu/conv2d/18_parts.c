/* 18 parts
 *
 *   idea    a group is a separate layer; at dilation d, so is every d-th row and column
 *   expect  1.6x the speed of 17_dispatch with dilation, 2x with 4 groups
 *   limit   memory: each element of input and output is copied once more
 *   run     make bench T=03_im2col_cpu/conv2d/18
 *
 * Covers 3x3, stride 1, at least 16 input channels per group, with groups or dilation.
 * 17_dispatch has no Winograd for these layers. Workspace: copies of the tensors of a
 * group, and for each group the workspace of 17_dispatch.
 */
#include <string.h>
#include "views.h"

conv2d_forward_fn layer_forward;
conv2d_backward_fn layer_backward;

enum { KERNEL = 3, MANY = 16 };  // MANY: input channels

/* Divides an axis into d parts. Element i of part a is element i * d + a - margin of
 * the axis. If d does not divide the padding, the padding becomes a margin of zeros.
 *
 *     d = 2, padding 1    . 0 1 2 3 4 .     part 0  . 1 3 .    output 0 reads . 1 3
 *                                           part 1  0 2 4      output 1 reads 0 2 4 */
typedef struct {
    int64_t d, margin, padding, SIZE;  // SIZE and padding of a part
} axis_t;

static int64_t ceil_of(int64_t COUNT, int64_t d)
{
    return (COUNT + d - 1) / d;
}

static axis_t axis_of(int64_t SIZE, int64_t d, int64_t padding)
{
    // BEGIN SOLUTION
    const int64_t margin = padding % d ? padding : 0;
    return (axis_t){d, margin, (padding - margin) / d, ceil_of(SIZE + 2 * margin, d)};
    // END SOLUTION
    // STARTER // your code (the reference takes 2 lines)
    // STARTER return (axis_t){d, 0, padding, SIZE};
}

/* Copies C channels of `whole`, from c0 on, to `dealt` (N*h.d*w.d, C, h.SIZE, w.SIZE).
 * Missing elements become 0. If `back`, copies `dealt` to these channels of `whole`. */
static void deal(const tensor_t *whole, int64_t c0, axis_t h, axis_t w, int back,
                 const tensor_t *dealt)
{
    // BEGIN SOLUTION
    const int64_t C = dealt->size[1], STEP = w.d * whole->stride[3];
    for (int64_t i = 0; i < dealt->size[0] * C; i++) {
        const int64_t part = i / C % (h.d * w.d), a = part % w.d - w.margin;
        const int64_t first = a < 0 ? ceil_of(-a, w.d) : 0;
        const int64_t count = ceil_of(whole->size[3] - a, w.d) - first;
        real *piece = real_data(dealt) + i * h.SIZE * w.SIZE + first;
        if (!back) memset(piece - first, 0, (size_t)(h.SIZE * w.SIZE) * sizeof(real));
        for (int64_t r = 0; r < h.SIZE; r++, piece += w.SIZE) {
            const int64_t at = r * h.d + part / w.d - h.margin;
            if (at < 0 || at >= whole->size[2]) continue;
            real *row = at4(whole, i / C / (h.d * w.d), c0 + i % C, at, 0) +
                        (first * w.d + a) * whole->stride[3];
            if (back) {
                for (int64_t k = 0; k < count; k++) row[k * STEP] = piece[k];
                continue;
            }
            for (int64_t k = 0; k < count; k++)  // becomes 3 loops, 2 vectorised
                piece[k] = STEP == 1 ? row[k] : STEP == 2 ? row[2 * k] : row[k * STEP];
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 20 lines)
}

typedef struct {
    axis_t h, w, oh, ow;  // axes of input (h, w) and output (oh, ow)
    conv2d_params_t plain;
    tensor_t x, gx, y;  // parts of input, of grad_input and of output, for one group
} layer_t;

/* Returns 1 for 3x3, stride 1, MANY input channels or more, and groups or dilation. */
static int fits(const tensor_t *input, const tensor_t *weight, conv2d_params_t p)
{
    // BEGIN SOLUTION
    const int64_t *size = weight->size, PARTS = p.groups * p.dilation_h * p.dilation_w;
    return size[2] == KERNEL && size[3] == KERNEL && size[1] >= MANY && PARTS > 1 &&
           p.stride_h * p.stride_w == 1 && input->size[0] > 0;
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
    // STARTER return input && weight && p.stride_h < 0;
}

/* Sets the axes and options of l, and allocates the parts x and y in scratch memory. */
static status_t plan(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                     const tensor_t *output, conv2d_params_t p, layer_t *l)
{
    // BEGIN SOLUTION
    const int64_t DH = p.dilation_h, DW = p.dilation_w, N = input->size[0] * DH * DW;
    l->h = axis_of(input->size[2], DH, p.padding_h);
    l->w = axis_of(input->size[3], DW, p.padding_w);
    l->oh = axis_of(output->size[2], DH, 0), l->ow = axis_of(output->size[3], DW, 0);
    l->plain = (conv2d_params_t){1, 1, l->h.padding, l->w.padding, 1, 1, 1};
    l->x = room(ctx, N, weight->size[1], l->h.SIZE, l->w.SIZE), l->gx = l->x;
    l->y = room(ctx, N, weight->size[0] / p.groups, l->oh.SIZE, l->ow.SIZE);
    return l->x.data && l->y.data ? STATUS_OK : STATUS_NO_MEMORY;
    // END SOLUTION
    // STARTER (void)axis_of, (void)ceil_of;  // delete when you call them
    // STARTER // your code (the reference takes 8 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* For each group: convolves the parts without dilation, then copies them to output. */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    if (!fits(input, weight, p)) return STATUS_UNSUPPORTED;
    layer_t l;
    tensor_t view[2];
    status_t status = plan(ctx, input, weight, output, p, &l);
    for (int64_t g = 0; g < p.groups && status == STATUS_OK; g++) {
        deal(input, g * l.x.size[1], l.h, l.w, 0, &l.x);
        status = layer_forward(ctx, &l.x, group(view, weight, g, p.groups),
                               group(view + 1, bias, g, p.groups), l.plain, &l.y);
        deal(output, g * l.y.size[1], l.oh, l.ow, 1, &l.y);
    }
    return status;
    // END SOLUTION
    // STARTER // your code (the reference takes 11 lines)
    // STARTER (void)deal, (void)fits, (void)plan;  // call all three
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* For each group: runs backward on all parts in one call, then copies grad_input. */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    if (!fits(input, weight, p)) return STATUS_UNSUPPORTED;
    layer_t l;
    tensor_t view[3];
    status_t status = plan(ctx, input, weight, grad_output, p, &l);
    if (status == STATUS_OK && grad_input)
        l.gx = room(ctx, l.x.size[0], l.x.size[1], l.h.SIZE, l.w.SIZE);
    if (!l.gx.data) return STATUS_NO_MEMORY;
    for (int64_t g = 0; g < p.groups && status == STATUS_OK; g++) {
        const int64_t IC = l.x.size[1], OC = l.y.size[1];
        deal(grad_output, g * OC, l.oh, l.ow, 0, &l.y);
        if (grad_weight || grad_bias) deal(input, g * IC, l.h, l.w, 0, &l.x);
        status = layer_backward(ctx, &l.y, &l.x, group(view, weight, g, p.groups),
                                l.plain, grad_input ? &l.gx : NULL,
                                group(view + 1, grad_weight, g, p.groups),
                                group(view + 2, grad_bias, g, p.groups));
        if (grad_input) deal(grad_input, g * IC, l.h, l.w, 1, &l.gx);
    }
    return status;
    // END SOLUTION
    // STARTER // your code (the reference takes 18 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
