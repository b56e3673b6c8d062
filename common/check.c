// SPDX-License-Identifier: MIT
/* check.c - the arguments of every operator, looked at once, at the door
 *
 * One function per operator and direction, a list of statements about its arguments:
 *
 *     takes        an input; the text says how many axes it has: "(N, IC)", "(..., D)"
 *     takes_shape  an input whose sizes follow from what came before
 *     gives        an output of free sizes: contiguous, in memory of its own
 *     gives_shape  an output whose sizes follow
 *     gradient     the same, unless it is not wanted
 *
 * The first that does not hold leaves its sentence in ctx->error and shuts the door:
 * all later ones do nothing, and `size` answers 1 (door.h). Inputs come before outputs,
 * because an output may not overlap anything that was let in before it.
 *
 * Nothing here depends on the rung's dtype, and no data is read but the coordinates of
 * subm_conv3d. The file is C11 and C++17.
 */
#include "operators.h"

#include <stdlib.h>

#include "door.h"

/* ---- add ------------------------------------------------------------------------- */

/* The common shape of two operands, aligned at the last axis. */
static shape_t broadcast(door_t *door, const char *left_name, shape_t left,
                         const char *right_name, shape_t right)
{
    shape_t common = left.ndim > right.ndim ? left : right;
    for (int32_t d = 0; d < common.ndim; d++) {
        const int32_t l = d - (common.ndim - left.ndim);
        const int32_t r = d - (common.ndim - right.ndim);
        const int64_t left_size = l < 0 ? 1 : left.size[l];
        const int64_t right_size = r < 0 ? 1 : right.size[r];
        common.size[d] = left_size == 1 ? right_size : left_size;
        if (left_size == right_size || left_size == 1 || right_size == 1) continue;
        fail(door, "'%s' %s and '%s' %s cannot be broadcast: axis %d is %lld and %lld",
             left_name, shape_text(left).chars, right_name, shape_text(right).chars,
             (int)d, (long long)left_size, (long long)right_size);
    }
    return common;
}

status_t add_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                           add_params_t p, tensor_t *output)
{
    (void)p;  // any alpha will do
    door_t door = door_to("add", ctx);
    takes(&door, "input", input, "(...)");
    takes(&door, "other", other, "(...)");
    const shape_t common = broadcast(&door, "input", shape_of(&door, input), "other",
                                     shape_of(&door, other));
    gives_shape(&door, "output", output, REAL, common);
    return door.status;
}

/* An operand whose gradient is not wanted may have any shape: say, grad_output's. */
status_t add_backward_check(ctx_t *ctx, const tensor_t *grad_output, add_params_t p,
                            tensor_t *grad_input, tensor_t *grad_other)
{
    (void)p;
    door_t door = door_to("add", ctx);
    takes(&door, "grad_output", grad_output, "(...)");
    if (grad_input) gives(&door, "grad_input", grad_input, "(...)");
    if (grad_other) gives(&door, "grad_other", grad_other, "(...)");
    const shape_t common =
        broadcast(&door, grad_input ? "grad_input" : "grad_output",
                  shape_of(&door, grad_input ? grad_input : grad_output),
                  grad_other ? "grad_other" : "grad_output",
                  shape_of(&door, grad_other ? grad_other : grad_output));
    has_shape(&door, "grad_output", grad_output, common);
    return door.status;
}

/* ---- matmul ---------------------------------------------------------------------- */

/* Takes both operands; the shape of output. */
static shape_t matmul_operands(door_t *door, const tensor_t *input,
                               const tensor_t *other)
{
    takes(door, "input", input, "(..., M, K)");
    takes(door, "other", other, "(..., K, N)");
    const shape_t batch = leading(door, input, 2);
    bool same = batch.ndim == leading(door, other, 2).ndim;
    for (int32_t d = 0; same && d < batch.ndim; d++) {
        same = size(door, input, d) == size(door, other, d);
    }
    if (!same) {
        fail(door,
             "'input' %s and 'other' %s differ in their batch axes, expected equal "
             "ones (expand the smaller operand)",
             size_text(input).chars, size_text(other).chars);
    }
    if (size(door, input, -1) != size(door, other, -2)) {
        fail(door,
             "'input' %s has %lld columns, 'other' %s has %lld rows, expected as many "
             "(is an operand transposed?)",
             size_text(input).chars, size(door, input, -1), size_text(other).chars,
             size(door, other, -2));
    }
    return append(leading(door, input, 1), size(door, other, -1));
}

status_t matmul_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                              tensor_t *output)
{
    door_t door = door_to("matmul", ctx);
    const shape_t result = matmul_operands(&door, input, other);
    gives_shape(&door, "output", output, REAL, result);
    return door.status;
}

status_t matmul_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *input, const tensor_t *other,
                               tensor_t *grad_input, tensor_t *grad_other)
{
    door_t door = door_to("matmul", ctx);
    const shape_t result = matmul_operands(&door, input, other);
    takes_shape(&door, "grad_output", grad_output, REAL, result);
    gradient(&door, "grad_input", grad_input, shape_of(&door, input));
    gradient(&door, "grad_other", grad_other, shape_of(&door, other));
    return door.status;
}

/* ---- linear ---------------------------------------------------------------------- */

/* Takes input and weight; the shape of output. */
static shape_t linear_operands(door_t *door, const tensor_t *input,
                               const tensor_t *weight)
{
    takes(door, "input", input, "(..., IC)");
    takes(door, "weight", weight, "(OC, IC)");
    if (size(door, weight, 1) != size(door, input, -1)) {
        fail(door,
             "'weight' expects %lld features, 'input' has %lld (is it transposed?)",
             size(door, weight, 1), size(door, input, -1));
    }
    return append(leading(door, input, 1), size(door, weight, 0));
}

status_t linear_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                              const tensor_t *bias, tensor_t *output)
{
    door_t door = door_to("linear", ctx);
    const shape_t result = linear_operands(&door, input, weight);
    const long long OC = size(&door, weight, 0);
    if (bias) takes_shape(&door, "bias", bias, REAL, shape1(OC));
    gives_shape(&door, "output", output, REAL, result);
    return door.status;
}

status_t linear_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *input, const tensor_t *weight,
                               tensor_t *grad_input, tensor_t *grad_weight,
                               tensor_t *grad_bias)
{
    door_t door = door_to("linear", ctx);
    const shape_t result = linear_operands(&door, input, weight);
    const long long OC = size(&door, weight, 0);
    takes_shape(&door, "grad_output", grad_output, REAL, result);
    gradient(&door, "grad_input", grad_input, shape_of(&door, input));
    gradient(&door, "grad_weight", grad_weight, shape_of(&door, weight));
    gradient(&door, "grad_bias", grad_bias, shape1(OC));
    return door.status;
}

/* ---- windows, for unfold and the convolutions ------------------------------------ */

/* `axis` is "_h" or "_w". */
static void window_options(door_t *door, const char *axis, int64_t stride,
                           int64_t padding, int64_t dilation)
{
    option(door, "stride", axis, stride, 1);
    option(door, "padding", axis, padding, 0);
    option(door, "dilation", axis, dilation, 1);
}

/* How many windows fit along one axis of an image: at least one. */
static int64_t windows(door_t *door, const char *axis, int64_t in, int64_t kernel,
                       int64_t stride, int64_t padding, int64_t dilation)
{
    if (door->status != STATUS_OK) return 1;
    const int64_t extent = conv2d_extent(in, kernel, stride, padding, dilation);
    if (extent < 1) {
        fail(door,
             "kernel%s %lld with dilation%s %lld spans %lld, the image has %lld with "
             "padding%s %lld",
             axis, (long long)kernel, axis, (long long)dilation,
             (long long)(dilation * (kernel - 1) + 1), (long long)(in + 2 * padding),
             axis, (long long)padding);
    }
    return extent;
}

/* ---- unfold ---------------------------------------------------------------------- */

static void unfold_options(door_t *door, unfold_params_t p)
{
    option(door, "kernel", "_h", p.kernel_h, 1);
    option(door, "kernel", "_w", p.kernel_w, 1);
    window_options(door, "_h", p.stride_h, p.padding_h, p.dilation_h);
    window_options(door, "_w", p.stride_w, p.padding_w, p.dilation_w);
}

/* What unfold makes of an image: (N, IC*KH*KW, OH*OW). */
static shape_t unfold_columns(door_t *door, const tensor_t *image, unfold_params_t p)
{
    const long long N = size(door, image, 0), IC = size(door, image, 1);
    const long long IH = size(door, image, 2), IW = size(door, image, 3);
    const int64_t OH =
        windows(door, "_h", IH, p.kernel_h, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW =
        windows(door, "_w", IW, p.kernel_w, p.stride_w, p.padding_w, p.dilation_w);
    if (door->status != STATUS_OK) return shape1(0);
    return shape3(N, times(IC, times(p.kernel_h, p.kernel_w)), times(OH, OW));
}

status_t unfold_forward_check(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                              tensor_t *output)
{
    door_t door = door_to("unfold", ctx);
    unfold_options(&door, p);
    takes(&door, "input", input, "(N, IC, IH, IW)");
    has_elements(&door, "input", input, 1);
    const shape_t columns = unfold_columns(&door, input, p);
    gives_shape(&door, "output", output, REAL, columns);
    return door.status;
}

/* Only grad_input tells the size of the image. */
status_t unfold_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               unfold_params_t p, tensor_t *grad_input)
{
    door_t door = door_to("unfold", ctx);
    unfold_options(&door, p);
    takes(&door, "grad_output", grad_output, "(N, IC*KH*KW, OH*OW)");
    if (!grad_input) return door.status;
    gives(&door, "grad_input", grad_input, "(N, IC, IH, IW)");
    has_elements(&door, "grad_input", grad_input, 1);
    const shape_t columns = unfold_columns(&door, grad_input, p);
    has_shape(&door, "grad_output", grad_output, columns);
    return door.status;
}

/* ---- conv2d ---------------------------------------------------------------------- */

static void conv2d_channels(door_t *door, const tensor_t *input, const tensor_t *weight,
                            int64_t groups)
{
    option(door, "groups", "", groups, 1);
    if (door->status != STATUS_OK) return;
    const long long IC = input->size[1], OC = weight->size[0], G = groups;
    const long long expected = weight->size[1];  // input channels per group
    if (IC % G != 0) {
        fail(door, "groups is %lld, which does not divide the %lld channels of 'input'",
             G, IC);
    } else if (OC % G != 0) {
        fail(door, "groups is %lld, which does not divide the %lld filters of 'weight'",
             G, OC);
    } else if (expected != IC / G && G == 1) {
        fail(door,
             "'weight' expects %lld input channels, 'input' has %lld "
             "(is groups wrong?)",
             expected, IC);
    } else if (expected != IC / G) {
        fail(door,
             "'weight' expects %lld input channels per group, 'input' has %lld "
             "channels in %lld groups (is groups wrong?)",
             expected, IC, G);
    }
}

/* Takes input and weight; the shape of output. */
static shape_t conv2d_operands(door_t *door, const tensor_t *input,
                               const tensor_t *weight, conv2d_params_t p)
{
    takes(door, "input", input, "(N, IC, IH, IW)");
    has_elements(door, "input", input, 1);
    takes(door, "weight", weight, "(OC, IC/G, KH, KW)");
    has_elements(door, "weight", weight, 0);
    conv2d_channels(door, input, weight, p.groups);
    window_options(door, "_h", p.stride_h, p.padding_h, p.dilation_h);
    window_options(door, "_w", p.stride_w, p.padding_w, p.dilation_w);
    const int64_t OH = windows(door, "_h", size(door, input, 2), size(door, weight, 2),
                               p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW = windows(door, "_w", size(door, input, 3), size(door, weight, 3),
                               p.stride_w, p.padding_w, p.dilation_w);
    return append(shape3(size(door, input, 0), size(door, weight, 0), OH), OW);
}

status_t conv2d_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                              const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    door_t door = door_to("conv2d", ctx);
    const shape_t result = conv2d_operands(&door, input, weight, p);
    const long long OC = size(&door, weight, 0);
    if (bias) takes_shape(&door, "bias", bias, REAL, shape1(OC));
    gives_shape(&door, "output", output, REAL, result);
    return door.status;
}

status_t conv2d_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *input, const tensor_t *weight,
                               conv2d_params_t p, tensor_t *grad_input,
                               tensor_t *grad_weight, tensor_t *grad_bias)
{
    door_t door = door_to("conv2d", ctx);
    const shape_t result = conv2d_operands(&door, input, weight, p);
    const long long OC = size(&door, weight, 0);
    takes_shape(&door, "grad_output", grad_output, REAL, result);
    gradient(&door, "grad_input", grad_input, shape_of(&door, input));
    gradient(&door, "grad_weight", grad_weight, shape_of(&door, weight));
    gradient(&door, "grad_bias", grad_bias, shape1(OC));
    return door.status;
}

/* ---- depthwise_conv2d ------------------------------------------------------------ */

/* Takes input and weight; the shape of output. */
static shape_t depthwise_operands(door_t *door, const tensor_t *input,
                                  const tensor_t *weight, depthwise_conv2d_params_t p)
{
    takes(door, "input", input, "(N, IC, IH, IW)");
    has_elements(door, "input", input, 1);
    takes(door, "weight", weight, "(OC, 1, KH, KW)");
    has_elements(door, "weight", weight, 0);
    const long long IC = size(door, input, 1), OC = size(door, weight, 0);
    if (size(door, weight, 1) != 1) {
        fail(door, "'weight' must be (OC, 1, KH, KW), got %s", size_text(weight).chars);
    }
    if (OC % IC != 0) {
        fail(door,
             "'weight' has %lld filters, expected a multiple of the %lld channels of "
             "'input'",
             OC, IC);
    }
    window_options(door, "_h", p.stride_h, p.padding_h, p.dilation_h);
    window_options(door, "_w", p.stride_w, p.padding_w, p.dilation_w);
    const int64_t OH = windows(door, "_h", size(door, input, 2), size(door, weight, 2),
                               p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW = windows(door, "_w", size(door, input, 3), size(door, weight, 3),
                               p.stride_w, p.padding_w, p.dilation_w);
    return append(shape3(size(door, input, 0), OC, OH), OW);
}

status_t depthwise_conv2d_forward_check(ctx_t *ctx, const tensor_t *input,
                                        const tensor_t *weight, const tensor_t *bias,
                                        depthwise_conv2d_params_t p, tensor_t *output)
{
    door_t door = door_to("depthwise_conv2d", ctx);
    const shape_t result = depthwise_operands(&door, input, weight, p);
    const long long OC = size(&door, weight, 0);
    if (bias) takes_shape(&door, "bias", bias, REAL, shape1(OC));
    gives_shape(&door, "output", output, REAL, result);
    return door.status;
}

status_t depthwise_conv2d_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                                         const tensor_t *input, const tensor_t *weight,
                                         depthwise_conv2d_params_t p,
                                         tensor_t *grad_input, tensor_t *grad_weight,
                                         tensor_t *grad_bias)
{
    door_t door = door_to("depthwise_conv2d", ctx);
    const shape_t result = depthwise_operands(&door, input, weight, p);
    const long long OC = size(&door, weight, 0);
    takes_shape(&door, "grad_output", grad_output, REAL, result);
    gradient(&door, "grad_input", grad_input, shape_of(&door, input));
    gradient(&door, "grad_weight", grad_weight, shape_of(&door, weight));
    gradient(&door, "grad_bias", grad_bias, shape1(OC));
    return door.status;
}

/* ---- gelu ------------------------------------------------------------------------ */

/* Takes input; the shape of output. */
static shape_t gelu_operand(door_t *door, const tensor_t *input, gelu_params_t p)
{
    takes(door, "input", input, "(...)");
    if (p.approximate != GELU_NONE && p.approximate != GELU_TANH) {
        fail(door, "approximate is %lld, expected GELU_NONE (%d) or GELU_TANH (%d)",
             (long long)p.approximate, (int)GELU_NONE, (int)GELU_TANH);
    }
    return shape_of(door, input);
}

status_t gelu_forward_check(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                            tensor_t *output)
{
    door_t door = door_to("gelu", ctx);
    const shape_t shape = gelu_operand(&door, input, p);
    gives_shape(&door, "output", output, REAL, shape);
    return door.status;
}

status_t gelu_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                             const tensor_t *input, gelu_params_t p,
                             tensor_t *grad_input)
{
    door_t door = door_to("gelu", ctx);
    const shape_t shape = gelu_operand(&door, input, p);
    takes_shape(&door, "grad_output", grad_output, REAL, shape);
    gradient(&door, "grad_input", grad_input, shape);
    return door.status;
}

/* ---- layer_norm ------------------------------------------------------------------ */

/* Takes input; D. */
static int64_t layer_norm_input(door_t *door, const tensor_t *input,
                                layer_norm_params_t p)
{
    takes(door, "input", input, "(..., D)");
    if (size(door, input, -1) < 1) {
        fail(door, "'input' %s has no features, expected D at least 1",
             size_text(input).chars);
    }
    if (!(p.eps > 0)) {  // also NaN
        fail(door, "eps is %g, expected more than 0%s", p.eps,
             p.eps == 0 ? " (was the options struct filled?)" : "");
    }
    return size(door, input, -1);
}

status_t layer_norm_forward_check(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *bias,
                                  layer_norm_params_t p, tensor_t *output,
                                  tensor_t *mean, tensor_t *rstd)
{
    door_t door = door_to("layer_norm", ctx);
    const int64_t D = layer_norm_input(&door, input, p);
    const shape_t rows = leading(&door, input, 1);
    if (weight) takes_shape(&door, "weight", weight, REAL, shape1(D));
    if (bias) takes_shape(&door, "bias", bias, REAL, shape1(D));
    gives_shape(&door, "output", output, REAL, shape_of(&door, input));
    if (mean) gives_shape(&door, "mean", mean, ACCUM, rows);
    if (rstd) gives_shape(&door, "rstd", rstd, ACCUM, rows);
    return door.status;
}

status_t layer_norm_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                                   const tensor_t *input, const tensor_t *weight,
                                   const tensor_t *mean, const tensor_t *rstd,
                                   layer_norm_params_t p, tensor_t *grad_input,
                                   tensor_t *grad_weight, tensor_t *grad_bias)
{
    door_t door = door_to("layer_norm", ctx);
    const int64_t D = layer_norm_input(&door, input, p);
    const shape_t rows = leading(&door, input, 1);
    takes_shape(&door, "grad_output", grad_output, REAL, shape_of(&door, input));
    if (weight) takes_shape(&door, "weight", weight, REAL, shape1(D));
    takes_shape(&door, "mean", mean, ACCUM, rows);
    takes_shape(&door, "rstd", rstd, ACCUM, rows);
    gradient(&door, "grad_input", grad_input, shape_of(&door, input));
    gradient(&door, "grad_weight", grad_weight, shape1(D));
    gradient(&door, "grad_bias", grad_bias, shape1(D));
    return door.status;
}

/* ---- lltm ------------------------------------------------------------------------ */

/* Takes what both directions are given; H. N and IC are input's. */
static int64_t lltm_operands(door_t *door, const tensor_t *input,
                             const tensor_t *weight, const tensor_t *h)
{
    takes(door, "input", input, "(N, IC)");
    takes(door, "h", h, "(N, H)");
    const long long N = size(door, input, 0), IC = size(door, input, 1);
    const long long H = size(door, h, 1);
    has_shape(door, "h", h, shape2(N, H));
    takes_shape(door, "weight", weight, REAL, shape2(3 * H, H + IC));
    return H;
}

status_t lltm_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, const tensor_t *h, const tensor_t *c,
                            tensor_t *new_h, tensor_t *new_c, tensor_t *gates)
{
    door_t door = door_to("lltm", ctx);
    const int64_t H = lltm_operands(&door, input, weight, h);
    const long long N = size(&door, input, 0);
    takes_shape(&door, "bias", bias, REAL, shape1(3 * H));
    takes_shape(&door, "c", c, REAL, shape2(N, H));
    gives_shape(&door, "new_h", new_h, REAL, shape2(N, H));
    gives_shape(&door, "new_c", new_c, REAL, shape2(N, H));
    if (gates) gives_shape(&door, "gates", gates, REAL, shape2(N, 3 * H));
    return door.status;
}

status_t lltm_backward_check(ctx_t *ctx, const tensor_t *grad_new_h,
                             const tensor_t *grad_new_c, const tensor_t *input,
                             const tensor_t *weight, const tensor_t *h,
                             const tensor_t *new_c, const tensor_t *gates,
                             tensor_t *grad_input, tensor_t *grad_weight,
                             tensor_t *grad_bias, tensor_t *grad_h, tensor_t *grad_c)
{
    door_t door = door_to("lltm", ctx);
    const int64_t H = lltm_operands(&door, input, weight, h);
    const long long N = size(&door, input, 0);
    takes_shape(&door, "grad_new_h", grad_new_h, REAL, shape2(N, H));
    takes_shape(&door, "grad_new_c", grad_new_c, REAL, shape2(N, H));
    takes_shape(&door, "new_c", new_c, REAL, shape2(N, H));
    takes_shape(&door, "gates", gates, REAL, shape2(N, 3 * H));
    gradient(&door, "grad_input", grad_input, shape_of(&door, input));
    gradient(&door, "grad_weight", grad_weight, shape_of(&door, weight));
    gradient(&door, "grad_bias", grad_bias, shape1(3 * H));
    gradient(&door, "grad_h", grad_h, shape2(N, H));
    gradient(&door, "grad_c", grad_c, shape2(N, H));
    return door.status;
}

/* ---- subm_conv3d ----------------------------------------------------------------- */

typedef struct {
    int32_t place[4];  // n, z, y, x
    int64_t row;       // of coordinates
} point_t;

static int compare_points(const void *left, const void *right)
{
    const point_t *a = (const point_t *)left, *b = (const point_t *)right;
    for (int i = 0; i < 4; i++) {
        if (a->place[i] != b->place[i]) return a->place[i] < b->place[i] ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

/* No two rows are equal: sorted, equal ones are neighbours. Not read on a GPU. */
static void rows_differ(door_t *door, const tensor_t *coordinates)
{
    if (door->status != STATUS_OK || coordinates->device != DEVICE_CPU) return;
    const int64_t P = coordinates->size[0];
    if (P < 2) return;
    point_t *point = (point_t *)ctx_scratch(door->ctx, (size_t)P * sizeof *point);
    if (!point) {
        fail(door, "no scratch memory to compare the %lld rows of 'coordinates'",
             (long long)P);
        door->status = STATUS_NO_MEMORY;
        return;
    }
    const int32_t *data = (const int32_t *)coordinates->data;
    for (int64_t row = 0; row < P; row++) {
        for (int64_t i = 0; i < 4; i++) {
            point[row].place[i] =
                data[row * coordinates->stride[0] + i * coordinates->stride[1]];
        }
        point[row].row = row;
    }
    qsort(point, (size_t)P, sizeof *point, compare_points);
    for (int64_t i = 1; i < P; i++) {
        const int32_t *place = point[i].place;
        if (memcmp(point[i - 1].place, place, sizeof point->place) != 0) continue;
        fail(door, "'coordinates' has (%d, %d, %d, %d) twice, in rows %lld and %lld",
             (int)place[0], (int)place[1], (int)place[2], (int)place[3],
             (long long)point[i - 1].row, (long long)point[i].row);
    }
}

/* Takes features and weight; the shape of rulebook. */
static shape_t subm_conv3d_operands(door_t *door, const tensor_t *features,
                                    const tensor_t *weight, subm_conv3d_params_t p)
{
    takes(door, "features", features, "(P, IC)");
    takes(door, "weight", weight, "(OC, IC, KD, KH, KW)");
    const long long P = size(door, features, 0), IC = size(door, features, 1);
    const long long KD = size(door, weight, 2);
    const long long KH = size(door, weight, 3), KW = size(door, weight, 4);
    if (size(door, weight, 1) != IC) {
        fail(door, "'weight' expects %lld input channels, 'features' has %lld",
             size(door, weight, 1), IC);
    }
    if (KD % 2 == 0 || KH % 2 == 0 || KW % 2 == 0) {
        fail(door, "'weight' has a kernel of %lld x %lld x %lld, expected odd sizes",
             KD, KH, KW);
    }
    option(door, "dilation", "_d", p.dilation_d, 1);
    option(door, "dilation", "_h", p.dilation_h, 1);
    option(door, "dilation", "_w", p.dilation_w, 1);
    return shape3(times(KD, times(KH, KW)), P, 2);
}

status_t subm_conv3d_forward_check(ctx_t *ctx, const tensor_t *features,
                                   const tensor_t *coordinates, const tensor_t *weight,
                                   const tensor_t *bias, subm_conv3d_params_t p,
                                   tensor_t *output, tensor_t *rulebook,
                                   tensor_t *count)
{
    door_t door = door_to("subm_conv3d", ctx);
    const shape_t pairs = subm_conv3d_operands(&door, features, weight, p);
    const long long P = size(&door, features, 0), OC = size(&door, weight, 0);
    takes_shape(&door, "coordinates", coordinates, I32, shape2(P, 4));
    if (bias) takes_shape(&door, "bias", bias, REAL, shape1(OC));
    gives_shape(&door, "output", output, REAL, shape2(P, OC));
    if (!rulebook != !count) {
        fail(&door, "'%s' is NULL and '%s' is not, expected both or neither",
             rulebook ? "count" : "rulebook", rulebook ? "rulebook" : "count");
    }
    if (rulebook) gives_shape(&door, "rulebook", rulebook, I32, pairs);
    if (count) gives_shape(&door, "count", count, I64, shape1(pairs.size[0]));
    rows_differ(&door, coordinates);
    return door.status;
}

status_t subm_conv3d_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *features, const tensor_t *weight,
                                    const tensor_t *rulebook, const tensor_t *count,
                                    subm_conv3d_params_t p, tensor_t *grad_features,
                                    tensor_t *grad_weight, tensor_t *grad_bias)
{
    door_t door = door_to("subm_conv3d", ctx);
    const shape_t pairs = subm_conv3d_operands(&door, features, weight, p);
    const long long P = size(&door, features, 0), OC = size(&door, weight, 0);
    takes_shape(&door, "grad_output", grad_output, REAL, shape2(P, OC));
    takes_shape(&door, "rulebook", rulebook, I32, pairs);
    takes_shape(&door, "count", count, I64, shape1(pairs.size[0]));
    gradient(&door, "grad_features", grad_features, shape_of(&door, features));
    gradient(&door, "grad_weight", grad_weight, shape_of(&door, weight));
    gradient(&door, "grad_bias", grad_bias, shape1(OC));
    return door.status;
}
