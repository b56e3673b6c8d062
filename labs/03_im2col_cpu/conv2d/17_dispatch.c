/* 17 dispatch
 *
 *   idea    no algorithm is the fastest for every shape: choose one for each shape
 *   expect  1x to 2.9x PyTorch on the layers of `make bench`
 *   limit   the limit of the chosen rung
 *   run     make bench T=03_im2col_cpu/conv2d/17
 *
 * Covers all shapes. Workspace: the workspace of the chosen rung. The rules come from
 * the tables in the README of lab 03. The first line that fits a layer is used:
 *
 *     layers of one group               forward        grad_input     grad_weight
 *     up to 4 input channels            few channels   few channels   few channels
 *     1x1, stride 1, no padding         pointwise      pointwise      pointwise
 *     3x3, stride 1, dilation 1 *       Winograd 4x4   Winograd 4x4   Winograd
 *     5x5, stride 1, dilation 1 *       Winograd 5x5   Winograd 5x5   Winograd
 *     3x3, stride 2, dil. 1, pad 1 *    Winograd       Winograd       Winograd
 *     3x3, stride 2, dilation 1 *       Winograd       strided input  Winograd
 *     1x1                               implicit GEMM  phases         pixels
 *     stride 1, dilation 1              implicit GEMM  phases         pixels
 *     other strides and dilations *     implicit GEMM  strided input  pixels
 *     layers of several groups          forward        grad_input     grad_weight
 *     a group for each input channel    the ladder depthwise_conv2d
 *     everything else                   implicit GEMM  phases         pixels
 *
 * (*) means at least 16 input channels. 18_parts handles groups and dilation.
 */
#include "depthwise.h"

conv2d_forward_fn implicit_forward, few_forward, pointwise_forward, tiles_forward,
    fives_forward, twos_forward;
conv2d_backward_fn phases_backward, pixels_backward, few_backward, pointwise_backward,
    tiles_input_backward, tiles_weight_backward, fives_backward, strided_backward,
    twos_backward, twos_weight_backward;

/* The ways to compute a layer. TILES, FIVES and TWOS use Winograd, TWOS at stride 2. */
typedef enum {
    FEW_CHANNELS,
    POINTWISE,
    TILES,
    FIVES,
    TWOS,
    TWOS_AND_STRIDED,
    STRIDED,
    DEPTHWISE,
    OTHER
} way_t;

/* For each way: functions for output, for grad_input, for grad_weight and grad_bias. */
static const struct {
    conv2d_forward_fn *output;
    conv2d_backward_fn *input, *weight;
} WAYS[] = {
    [FEW_CHANNELS] = {few_forward, few_backward, few_backward},
    [POINTWISE] = {pointwise_forward, pointwise_backward, pointwise_backward},
    [TILES] = {tiles_forward, tiles_input_backward, tiles_weight_backward},
    [FIVES] = {fives_forward, fives_backward, tiles_weight_backward},
    [TWOS] = {twos_forward, twos_backward, twos_weight_backward},
    [TWOS_AND_STRIDED] = {twos_forward, strided_backward, twos_weight_backward},
    [STRIDED] = {implicit_forward, strided_backward, pixels_backward},
    [DEPTHWISE] = {depthwise_forward, depthwise_backward, depthwise_backward},
    [OTHER] = {implicit_forward, phases_backward, pixels_backward},
};

/* One rule: a range of input channels, a size or ANY for each option, and the way. */
typedef struct {
    int64_t groups, least, most;  // the range of a group's input channels
    int64_t kernel, stride, dilation, padding;
    way_t way;
} rule_t;

enum { ANY = -1 };
#define MANY INT64_MAX  // no limit

static const rule_t RULES[] = {
    // BEGIN SOLUTION
    {1, 0, 4, ANY, ANY, ANY, ANY, FEW_CHANNELS},
    {1, 5, MANY, 1, 1, ANY, 0, POINTWISE},
    {1, 16, MANY, 3, 1, 1, ANY, TILES},
    {1, 16, MANY, 5, 1, 1, ANY, FIVES},
    {1, 16, MANY, 3, 2, 1, 1, TWOS},
    {1, 16, MANY, 3, 2, 1, ANY, TWOS_AND_STRIDED},
    {1, 16, MANY, 1, ANY, ANY, ANY, OTHER},
    {1, 16, MANY, ANY, 1, 1, ANY, OTHER},
    {1, 16, MANY, ANY, ANY, ANY, ANY, STRIDED},
    {ANY, 1, 1, ANY, ANY, ANY, ANY, DEPTHWISE},
    // END SOLUTION
    // STARTER // write the lines of the table above (the reference takes 10 lines)
    {ANY, 0, MANY, ANY, ANY, ANY, ANY, OTHER},
};

/* Returns 1 if h and w are both equal to `wanted`, or if `wanted` is ANY. */
static int fits(int64_t wanted, int64_t h, int64_t w)
{
    return wanted == ANY || (h == wanted && w == wanted);
}

/* Returns the way of the first rule that fits a layer. No rule tests the number of
 * filters OC, because 19_threads divides the filters among threads. */
static way_t way_of(const tensor_t *weight, conv2d_params_t p)
{
    // BEGIN SOLUTION
    const int64_t IC = weight->size[1], KH = weight->size[2], KW = weight->size[3];
    for (const rule_t *rule = RULES;; rule++) {  // the last rule fits every layer
        if (!fits(rule->groups, p.groups, p.groups)) continue;
        if (IC < rule->least || IC > rule->most) continue;
        if (!fits(rule->kernel, KH, KW)) continue;
        if (!fits(rule->stride, p.stride_h, p.stride_w)) continue;
        if (!fits(rule->dilation, p.dilation_h, p.dilation_w)) continue;
        if (!fits(rule->padding, p.padding_h, p.padding_w)) continue;
        return rule->way;
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 10 lines)
    // STARTER return fits(RULES->groups, p.groups, weight->size[1]) ? OTHER : TILES;
}

/* Calls the rung of the layer's way, which computes output (N, OC, OH, OW). */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    return WAYS[way_of(weight, p)].output(ctx, input, weight, bias, p, output);
    // END SOLUTION
    // STARTER // your code (the reference takes 1 line)
    // STARTER (void)way_of, (void)WAYS;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* One rung computes grad_input (N, IC, IH, IW). Another rung, or the same, computes
 * grad_weight (OC, IC/G, KH, KW) and grad_bias (OC). */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    const way_t way = way_of(weight, p);
    conv2d_backward_fn *first = WAYS[way].input, *second = WAYS[way].weight;
    if (first == second)
        return first(ctx, grad_output, input, weight, p, grad_input, grad_weight,
                     grad_bias);
    status_t status = STATUS_OK;
    if (grad_input) {
        status = first(ctx, grad_output, input, weight, p, grad_input, NULL, NULL);
    }
    if (status == STATUS_OK && (grad_weight || grad_bias)) {
        status =
            second(ctx, grad_output, input, weight, p, NULL, grad_weight, grad_bias);
    }
    return status;
    // END SOLUTION
    // STARTER // your code (the reference takes 14 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
