// SPDX-License-Identifier: MIT
/* check.c - checks the arguments of every operator; the caller runs it once
 *
 * Each direction of each operator has one check: a list of calls of these functions.
 *
 *     takes        an input; the text says how many axes it has: "(N, IC)", "(..., D)"
 *     takes_shape  an input; earlier arguments decide its sizes
 *     gives        an output of free sizes: contiguous, in separate memory
 *     gives_shape  an output; earlier arguments decide its sizes
 *     gradient     an output that may be NULL, if the caller does not want it
 *
 * The first wrong argument writes an error message to ctx->error. After that all other
 * calls do nothing, and `size` returns 1 (arguments.h). Outputs are checked after
 * inputs, because an output may not overlap an earlier argument.
 *
 * A check does not depend on the rung's dtype. Only the check of subm_conv3d reads
 * elements: the coordinates. This file compiles as C11 and as C++17.
 */
#include "operators.h"

#include <stdlib.h>

#include "arguments.h"

/* ---- add ------------------------------------------------------------------------- */

/* Returns the common shape of `left` and `right`, aligned at the last axis. */
static shape_t broadcast(arguments_t *args, const char *left_name, shape_t left,
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
        fail(args, "'%s' %s and '%s' %s cannot be broadcast: axis %d is %lld and %lld",
             left_name, shape_text(left).chars, right_name, shape_text(right).chars,
             (int)d, (long long)left_size, (long long)right_size);
    }
    return common;
}

status_t add_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                           add_params_t p, tensor_t *output)
{
    (void)p;  // any alpha will do
    arguments_t args = arguments_of("add", ctx);
    takes(&args, "input", input, "(...)");
    takes(&args, "other", other, "(...)");
    const shape_t common = broadcast(&args, "input", shape_of(&args, input), "other",
                                     shape_of(&args, other));
    gives_shape(&args, "output", output, REAL, common);
    return args.status;
}

/* If a gradient is NULL, the operand may have any shape: use grad_output's shape. */
status_t add_backward_check(ctx_t *ctx, const tensor_t *grad_output, add_params_t p,
                            tensor_t *grad_input, tensor_t *grad_other)
{
    (void)p;
    arguments_t args = arguments_of("add", ctx);
    takes(&args, "grad_output", grad_output, "(...)");
    if (grad_input) gives(&args, "grad_input", grad_input, "(...)");
    if (grad_other) gives(&args, "grad_other", grad_other, "(...)");
    const shape_t common =
        broadcast(&args, grad_input ? "grad_input" : "grad_output",
                  shape_of(&args, grad_input ? grad_input : grad_output),
                  grad_other ? "grad_other" : "grad_output",
                  shape_of(&args, grad_other ? grad_other : grad_output));
    has_shape(&args, "grad_output", grad_output, common);
    return args.status;
}

/* ---- matmul ---------------------------------------------------------------------- */

/* Checks both operands of matmul. Returns the shape of output. */
static shape_t matmul_operands(arguments_t *args, const tensor_t *input,
                               const tensor_t *other)
{
    takes(args, "input", input, "(..., M, K)");
    takes(args, "other", other, "(..., K, N)");
    const shape_t batch = leading(args, input, 2);
    bool same = batch.ndim == leading(args, other, 2).ndim;
    for (int32_t d = 0; same && d < batch.ndim; d++) {
        same = size(args, input, d) == size(args, other, d);
    }
    if (!same) {
        fail(args,
             "'input' %s and 'other' %s differ in their batch axes, expected equal "
             "batch axes (expand the smaller operand)",
             size_text(input).chars, size_text(other).chars);
    }
    if (size(args, input, -1) != size(args, other, -2)) {
        fail(args,
             "'input' %s has %lld columns, 'other' %s has %lld rows, expected the same "
             "number (is an operand transposed?)",
             size_text(input).chars, size(args, input, -1), size_text(other).chars,
             size(args, other, -2));
    }
    return append(leading(args, input, 1), size(args, other, -1));
}

status_t matmul_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                              tensor_t *output)
{
    arguments_t args = arguments_of("matmul", ctx);
    const shape_t result = matmul_operands(&args, input, other);
    gives_shape(&args, "output", output, REAL, result);
    return args.status;
}

status_t matmul_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *input, const tensor_t *other,
                               tensor_t *grad_input, tensor_t *grad_other)
{
    arguments_t args = arguments_of("matmul", ctx);
    const shape_t result = matmul_operands(&args, input, other);
    takes_shape(&args, "grad_output", grad_output, REAL, result);
    gradient(&args, "grad_input", grad_input, shape_of(&args, input));
    gradient(&args, "grad_other", grad_other, shape_of(&args, other));
    return args.status;
}

/* ---- linear ---------------------------------------------------------------------- */

/* Checks input and weight of linear. Returns the shape of output. */
static shape_t linear_operands(arguments_t *args, const tensor_t *input,
                               const tensor_t *weight)
{
    takes(args, "input", input, "(..., IC)");
    takes(args, "weight", weight, "(OC, IC)");
    if (size(args, weight, 1) != size(args, input, -1)) {
        fail(args,
             "'weight' expects %lld features, 'input' has %lld (is it transposed?)",
             size(args, weight, 1), size(args, input, -1));
    }
    return append(leading(args, input, 1), size(args, weight, 0));
}

status_t linear_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                              const tensor_t *bias, tensor_t *output)
{
    arguments_t args = arguments_of("linear", ctx);
    const shape_t result = linear_operands(&args, input, weight);
    const long long OC = size(&args, weight, 0);
    if (bias) takes_shape(&args, "bias", bias, REAL, shape1(OC));
    gives_shape(&args, "output", output, REAL, result);
    return args.status;
}

status_t linear_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *input, const tensor_t *weight,
                               tensor_t *grad_input, tensor_t *grad_weight,
                               tensor_t *grad_bias)
{
    arguments_t args = arguments_of("linear", ctx);
    const shape_t result = linear_operands(&args, input, weight);
    const long long OC = size(&args, weight, 0);
    takes_shape(&args, "grad_output", grad_output, REAL, result);
    gradient(&args, "grad_input", grad_input, shape_of(&args, input));
    gradient(&args, "grad_weight", grad_weight, shape_of(&args, weight));
    gradient(&args, "grad_bias", grad_bias, shape1(OC));
    return args.status;
}

/* ---- windows, for unfold and the convolutions ------------------------------------ */

/* Checks the options of one axis, "_h" or "_w". Returns the number of windows along
 * this axis of tensor `image`, at least one. */
static int64_t windows(arguments_t *args, const char *image, const char *axis,
                       int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                       int64_t dilation)
{
    option(args, "stride", axis, stride, 1);
    option(args, "padding", axis, padding, 0);
    option(args, "dilation", axis, dilation, 1);
    if (args->status != STATUS_OK) return 1;
    const int64_t extent = conv2d_extent(in, kernel, stride, padding, dilation);
    if (extent < 1) {
        fail(args,
             "kernel%s %lld with dilation%s %lld spans %lld, '%s' has %lld with "
             "padding%s %lld",
             axis, (long long)kernel, axis, (long long)dilation,
             (long long)(dilation * (kernel - 1) + 1), image,
             (long long)(in + 2 * padding), axis, (long long)padding);
    }
    return extent;
}

/* ---- unfold ---------------------------------------------------------------------- */

static void unfold_options(arguments_t *args, unfold_params_t p)
{
    option(args, "kernel", "_h", p.kernel_h, 1);
    option(args, "kernel", "_w", p.kernel_w, 1);
}

/* Returns the shape (N, IC*KH*KW, OH*OW) of unfold's output for `image`. */
static shape_t unfold_columns(arguments_t *args, const char *name,
                              const tensor_t *image, unfold_params_t p)
{
    const long long N = size(args, image, 0), IC = size(args, image, 1);
    const long long IH = size(args, image, 2), IW = size(args, image, 3);
    const int64_t OH = windows(args, name, "_h", IH, p.kernel_h, p.stride_h,
                               p.padding_h, p.dilation_h);
    const int64_t OW = windows(args, name, "_w", IW, p.kernel_w, p.stride_w,
                               p.padding_w, p.dilation_w);
    if (args->status != STATUS_OK) return shape1(0);
    return shape3(N, times(IC, times(p.kernel_h, p.kernel_w)), times(OH, OW));
}

status_t unfold_forward_check(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                              tensor_t *output)
{
    arguments_t args = arguments_of("unfold", ctx);
    unfold_options(&args, p);
    takes(&args, "input", input, "(N, IC, IH, IW)");
    has_elements(&args, "input", input, 1);
    const shape_t columns = unfold_columns(&args, "input", input, p);
    gives_shape(&args, "output", output, REAL, columns);
    return args.status;
}

/* If grad_input is NULL, the image's size is unknown: nothing more to check. */
status_t unfold_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               unfold_params_t p, tensor_t *grad_input)
{
    arguments_t args = arguments_of("unfold", ctx);
    unfold_options(&args, p);
    takes(&args, "grad_output", grad_output, "(N, IC*KH*KW, OH*OW)");
    if (!grad_input) return args.status;
    gives(&args, "grad_input", grad_input, "(N, IC, IH, IW)");
    has_elements(&args, "grad_input", grad_input, 1);
    const shape_t columns = unfold_columns(&args, "grad_input", grad_input, p);
    has_shape(&args, "grad_output", grad_output, columns);
    return args.status;
}

/* Checks bias and output of a convolution. `result` is the output's (N, OC, OH, OW). */
static status_t convolution_forward(arguments_t *args, shape_t result,
                                    const tensor_t *bias, tensor_t *output)
{
    if (bias) takes_shape(args, "bias", bias, REAL, shape1(result.size[1]));
    gives_shape(args, "output", output, REAL, result);
    return args->status;
}

/* Checks a convolution's gradients. `result` is the output's shape (N, OC, OH, OW). */
static status_t convolution_backward(arguments_t *args, shape_t result,
                                     const tensor_t *grad_output, const tensor_t *input,
                                     const tensor_t *weight, tensor_t *grad_input,
                                     tensor_t *grad_weight, tensor_t *grad_bias)
{
    takes_shape(args, "grad_output", grad_output, REAL, result);
    gradient(args, "grad_input", grad_input, shape_of(args, input));
    gradient(args, "grad_weight", grad_weight, shape_of(args, weight));
    gradient(args, "grad_bias", grad_bias, shape1(result.size[1]));
    return args->status;
}

/* ---- conv2d ---------------------------------------------------------------------- */

static void conv2d_channels(arguments_t *args, const tensor_t *input,
                            const tensor_t *weight, int64_t groups)
{
    option(args, "groups", "", groups, 1);
    if (args->status != STATUS_OK) return;
    const long long IC = input->size[1], OC = weight->size[0], G = groups;
    const long long expected = weight->size[1];  // input channels per group
    if (IC % G != 0) {
        fail(args, "groups is %lld, which does not divide the %lld channels of 'input'",
             G, IC);
    } else if (OC % G != 0) {
        fail(args, "groups is %lld, which does not divide the %lld filters of 'weight'",
             G, OC);
    } else if (expected != IC / G && G == 1) {
        fail(args,
             "'weight' expects %lld input channels, 'input' has %lld "
             "(is groups wrong?)",
             expected, IC);
    } else if (expected != IC / G) {
        fail(args,
             "'weight' expects %lld input channels per group, 'input' has %lld "
             "channels in %lld groups (is groups wrong?)",
             expected, IC, G);
    }
}

/* Checks input, weight and options of conv2d. Returns the shape of output. */
static shape_t conv2d_operands(arguments_t *args, const tensor_t *input,
                               const tensor_t *weight, conv2d_params_t p)
{
    takes(args, "input", input, "(N, IC, IH, IW)");
    has_elements(args, "input", input, 1);
    takes(args, "weight", weight, "(OC, IC/G, KH, KW)");
    has_elements(args, "weight", weight, 0);
    conv2d_channels(args, input, weight, p.groups);
    const int64_t OH =
        windows(args, "input", "_h", size(args, input, 2), size(args, weight, 2),
                p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW =
        windows(args, "input", "_w", size(args, input, 3), size(args, weight, 3),
                p.stride_w, p.padding_w, p.dilation_w);
    return append(shape3(size(args, input, 0), size(args, weight, 0), OH), OW);
}

status_t conv2d_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                              const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    arguments_t args = arguments_of("conv2d", ctx);
    const shape_t result = conv2d_operands(&args, input, weight, p);
    return convolution_forward(&args, result, bias, output);
}

status_t conv2d_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *input, const tensor_t *weight,
                               conv2d_params_t p, tensor_t *grad_input,
                               tensor_t *grad_weight, tensor_t *grad_bias)
{
    arguments_t args = arguments_of("conv2d", ctx);
    const shape_t result = conv2d_operands(&args, input, weight, p);
    return convolution_backward(&args, result, grad_output, input, weight, grad_input,
                                grad_weight, grad_bias);
}

/* ---- depthwise_conv2d ------------------------------------------------------------ */

/* Checks input, weight, options of depthwise_conv2d. Returns the shape of output. */
static shape_t depthwise_operands(arguments_t *args, const tensor_t *input,
                                  const tensor_t *weight, depthwise_conv2d_params_t p)
{
    takes(args, "input", input, "(N, IC, IH, IW)");
    has_elements(args, "input", input, 1);
    takes(args, "weight", weight, "(OC, 1, KH, KW)");
    has_elements(args, "weight", weight, 0);
    const long long IC = size(args, input, 1), OC = size(args, weight, 0);
    if (size(args, weight, 1) != 1) {
        fail(args, "'weight' must be (OC, 1, KH, KW), got %s", size_text(weight).chars);
    }
    if (OC % IC != 0) {
        fail(args,
             "'weight' has %lld filters, expected a multiple of the %lld channels of "
             "'input'",
             OC, IC);
    }
    const int64_t OH =
        windows(args, "input", "_h", size(args, input, 2), size(args, weight, 2),
                p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW =
        windows(args, "input", "_w", size(args, input, 3), size(args, weight, 3),
                p.stride_w, p.padding_w, p.dilation_w);
    return append(shape3(size(args, input, 0), OC, OH), OW);
}

status_t depthwise_conv2d_forward_check(ctx_t *ctx, const tensor_t *input,
                                        const tensor_t *weight, const tensor_t *bias,
                                        depthwise_conv2d_params_t p, tensor_t *output)
{
    arguments_t args = arguments_of("depthwise_conv2d", ctx);
    const shape_t result = depthwise_operands(&args, input, weight, p);
    return convolution_forward(&args, result, bias, output);
}

status_t depthwise_conv2d_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                                         const tensor_t *input, const tensor_t *weight,
                                         depthwise_conv2d_params_t p,
                                         tensor_t *grad_input, tensor_t *grad_weight,
                                         tensor_t *grad_bias)
{
    arguments_t args = arguments_of("depthwise_conv2d", ctx);
    const shape_t result = depthwise_operands(&args, input, weight, p);
    return convolution_backward(&args, result, grad_output, input, weight, grad_input,
                                grad_weight, grad_bias);
}

/* ---- gelu ------------------------------------------------------------------------ */

/* Checks input and option of gelu. Returns the shape of output. */
static shape_t gelu_operand(arguments_t *args, const tensor_t *input, gelu_params_t p)
{
    takes(args, "input", input, "(...)");
    if (p.approximate != GELU_NONE && p.approximate != GELU_TANH) {
        fail(args, "approximate is %lld, expected GELU_NONE (%d) or GELU_TANH (%d)",
             (long long)p.approximate, (int)GELU_NONE, (int)GELU_TANH);
    }
    return shape_of(args, input);
}

status_t gelu_forward_check(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                            tensor_t *output)
{
    arguments_t args = arguments_of("gelu", ctx);
    const shape_t shape = gelu_operand(&args, input, p);
    gives_shape(&args, "output", output, REAL, shape);
    return args.status;
}

status_t gelu_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                             const tensor_t *input, gelu_params_t p,
                             tensor_t *grad_input)
{
    arguments_t args = arguments_of("gelu", ctx);
    const shape_t shape = gelu_operand(&args, input, p);
    takes_shape(&args, "grad_output", grad_output, REAL, shape);
    gradient(&args, "grad_input", grad_input, shape);
    return args.status;
}

/* ---- layer_norm ------------------------------------------------------------------ */

/* Checks input and eps of layer_norm. Returns D, the size of the last axis. */
static int64_t layer_norm_input(arguments_t *args, const tensor_t *input,
                                layer_norm_params_t p)
{
    takes(args, "input", input, "(..., D)");
    if (size(args, input, -1) < 1) {
        fail(args, "'input' %s has no features, expected D at least 1",
             size_text(input).chars);
    }
    if (!(p.eps > 0)) {  // also NaN
        fail(args, "eps is %g, expected more than 0%s", p.eps,
             p.eps == 0 ? " (was the options struct filled?)" : "");
    }
    return size(args, input, -1);
}

status_t layer_norm_forward_check(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *bias,
                                  layer_norm_params_t p, tensor_t *output,
                                  tensor_t *mean, tensor_t *rstd)
{
    arguments_t args = arguments_of("layer_norm", ctx);
    const int64_t D = layer_norm_input(&args, input, p);
    const shape_t rows = leading(&args, input, 1);
    if (weight) takes_shape(&args, "weight", weight, REAL, shape1(D));
    if (bias) takes_shape(&args, "bias", bias, REAL, shape1(D));
    gives_shape(&args, "output", output, REAL, shape_of(&args, input));
    if (mean) gives_shape(&args, "mean", mean, ACCUM, rows);
    if (rstd) gives_shape(&args, "rstd", rstd, ACCUM, rows);
    return args.status;
}

status_t layer_norm_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                                   const tensor_t *input, const tensor_t *weight,
                                   const tensor_t *mean, const tensor_t *rstd,
                                   layer_norm_params_t p, tensor_t *grad_input,
                                   tensor_t *grad_weight, tensor_t *grad_bias)
{
    arguments_t args = arguments_of("layer_norm", ctx);
    const int64_t D = layer_norm_input(&args, input, p);
    const shape_t rows = leading(&args, input, 1);
    takes_shape(&args, "grad_output", grad_output, REAL, shape_of(&args, input));
    if (weight) takes_shape(&args, "weight", weight, REAL, shape1(D));
    takes_shape(&args, "mean", mean, ACCUM, rows);
    takes_shape(&args, "rstd", rstd, ACCUM, rows);
    gradient(&args, "grad_input", grad_input, shape_of(&args, input));
    gradient(&args, "grad_weight", grad_weight, shape1(D));
    gradient(&args, "grad_bias", grad_bias, shape1(D));
    return args.status;
}

/* ---- lltm ------------------------------------------------------------------------ */

/* Checks input, weight and h, which both directions of lltm get. Returns H. */
static int64_t lltm_operands(arguments_t *args, const tensor_t *input,
                             const tensor_t *weight, const tensor_t *h)
{
    takes(args, "input", input, "(N, IC)");
    takes(args, "h", h, "(N, H)");
    const long long N = size(args, input, 0), IC = size(args, input, 1);
    const long long H = size(args, h, 1);
    has_shape(args, "h", h, shape2(N, H));
    takes_shape(args, "weight", weight, REAL, shape2(3 * H, H + IC));
    return H;
}

status_t lltm_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, const tensor_t *h, const tensor_t *c,
                            tensor_t *new_h, tensor_t *new_c, tensor_t *gates)
{
    arguments_t args = arguments_of("lltm", ctx);
    const int64_t H = lltm_operands(&args, input, weight, h);
    const long long N = size(&args, input, 0);
    takes_shape(&args, "bias", bias, REAL, shape1(3 * H));
    takes_shape(&args, "c", c, REAL, shape2(N, H));
    gives_shape(&args, "new_h", new_h, REAL, shape2(N, H));
    gives_shape(&args, "new_c", new_c, REAL, shape2(N, H));
    if (gates) gives_shape(&args, "gates", gates, REAL, shape2(N, 3 * H));
    return args.status;
}

status_t lltm_backward_check(ctx_t *ctx, const tensor_t *grad_new_h,
                             const tensor_t *grad_new_c, const tensor_t *input,
                             const tensor_t *weight, const tensor_t *h,
                             const tensor_t *new_c, const tensor_t *gates,
                             tensor_t *grad_input, tensor_t *grad_weight,
                             tensor_t *grad_bias, tensor_t *grad_h, tensor_t *grad_c)
{
    arguments_t args = arguments_of("lltm", ctx);
    const int64_t H = lltm_operands(&args, input, weight, h);
    const long long N = size(&args, input, 0);
    takes_shape(&args, "grad_new_h", grad_new_h, REAL, shape2(N, H));
    takes_shape(&args, "grad_new_c", grad_new_c, REAL, shape2(N, H));
    takes_shape(&args, "new_c", new_c, REAL, shape2(N, H));
    takes_shape(&args, "gates", gates, REAL, shape2(N, 3 * H));
    gradient(&args, "grad_input", grad_input, shape_of(&args, input));
    gradient(&args, "grad_weight", grad_weight, shape_of(&args, weight));
    gradient(&args, "grad_bias", grad_bias, shape1(3 * H));
    gradient(&args, "grad_h", grad_h, shape2(N, H));
    gradient(&args, "grad_c", grad_c, shape2(N, H));
    return args.status;
}

/* ---- subm_conv3d ----------------------------------------------------------------- */

typedef struct {
    int32_t place[4];  // n, z, y, x
    int64_t row;       // its row in coordinates
} point_t;

static int compare_points(const void *left, const void *right)
{
    const point_t *a = (const point_t *)left, *b = (const point_t *)right;
    for (int i = 0; i < 4; i++) {
        if (a->place[i] != b->place[i]) return a->place[i] < b->place[i] ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Checks that no two rows are equal: sorts a copy. On a GPU it checks nothing. */
static void rows_differ(arguments_t *args, const tensor_t *coordinates)
{
    if (args->status != STATUS_OK || coordinates->device != DEVICE_CPU) return;
    const int64_t P = coordinates->size[0];
    if (P < 2) return;
    point_t *point = (point_t *)ctx_scratch(args->ctx, (size_t)P * sizeof *point);
    if (!point) {
        fail(args, "no scratch memory to compare the %lld rows of 'coordinates'",
             (long long)P);
        args->status = STATUS_NO_MEMORY;
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
        fail(args, "'coordinates' has (%d, %d, %d, %d) twice, in rows %lld and %lld",
             (int)place[0], (int)place[1], (int)place[2], (int)place[3],
             (long long)point[i - 1].row, (long long)point[i].row);
    }
}

/* Checks features, weight and options of subm_conv3d. Returns rulebook's shape. */
static shape_t subm_conv3d_operands(arguments_t *args, const tensor_t *features,
                                    const tensor_t *weight, subm_conv3d_params_t p)
{
    takes(args, "features", features, "(P, IC)");
    takes(args, "weight", weight, "(OC, IC, KD, KH, KW)");
    const long long P = size(args, features, 0), IC = size(args, features, 1);
    const long long KD = size(args, weight, 2);
    const long long KH = size(args, weight, 3), KW = size(args, weight, 4);
    if (size(args, weight, 1) != IC) {
        fail(args, "'weight' expects %lld input channels, 'features' has %lld",
             size(args, weight, 1), IC);
    }
    if (KD % 2 == 0 || KH % 2 == 0 || KW % 2 == 0) {
        fail(args, "'weight' has a kernel of %lld x %lld x %lld, expected odd sizes",
             KD, KH, KW);
    }
    option(args, "dilation", "_d", p.dilation_d, 1);
    option(args, "dilation", "_h", p.dilation_h, 1);
    option(args, "dilation", "_w", p.dilation_w, 1);
    return shape3(times(KD, times(KH, KW)), P, 2);
}

status_t subm_conv3d_forward_check(ctx_t *ctx, const tensor_t *features,
                                   const tensor_t *coordinates, const tensor_t *weight,
                                   const tensor_t *bias, subm_conv3d_params_t p,
                                   tensor_t *output, tensor_t *rulebook,
                                   tensor_t *count)
{
    arguments_t args = arguments_of("subm_conv3d", ctx);
    const shape_t pairs = subm_conv3d_operands(&args, features, weight, p);
    const long long P = size(&args, features, 0), OC = size(&args, weight, 0);
    takes_shape(&args, "coordinates", coordinates, I32, shape2(P, 4));
    if (bias) takes_shape(&args, "bias", bias, REAL, shape1(OC));
    gives_shape(&args, "output", output, REAL, shape2(P, OC));
    if (!rulebook != !count) {
        fail(&args, "'%s' is NULL and '%s' is not, expected both or neither",
             rulebook ? "count" : "rulebook", rulebook ? "rulebook" : "count");
    }
    if (rulebook) gives_shape(&args, "rulebook", rulebook, I32, pairs);
    if (count) gives_shape(&args, "count", count, I64, shape1(pairs.size[0]));
    rows_differ(&args, coordinates);
    return args.status;
}

status_t subm_conv3d_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *features, const tensor_t *weight,
                                    const tensor_t *rulebook, const tensor_t *count,
                                    subm_conv3d_params_t p, tensor_t *grad_features,
                                    tensor_t *grad_weight, tensor_t *grad_bias)
{
    arguments_t args = arguments_of("subm_conv3d", ctx);
    const shape_t pairs = subm_conv3d_operands(&args, features, weight, p);
    const long long P = size(&args, features, 0), OC = size(&args, weight, 0);
    takes_shape(&args, "grad_output", grad_output, REAL, shape2(P, OC));
    takes_shape(&args, "rulebook", rulebook, I32, pairs);
    takes_shape(&args, "count", count, I64, shape1(pairs.size[0]));
    gradient(&args, "grad_features", grad_features, shape_of(&args, features));
    gradient(&args, "grad_weight", grad_weight, shape_of(&args, weight));
    gradient(&args, "grad_bias", grad_bias, shape1(OC));
    return args.status;
}
