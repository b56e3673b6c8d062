/* 17 dispatch
 *
 *   idea    no algorithm is the fastest everywhere: choose one for each shape
 *   expect  1x to 2.9x PyTorch on the layers of `make bench`
 *   limit   that of the rung that was chosen
 *   run     make bench T=03_im2col_cpu/conv2d/17
 *
 * For every shape. Workspace: that of the chosen rung. The rule, from the tables of the
 * lab's README:
 *
 *     layers of one group            forward        grad_input     grad_weight
 *     up to 4 input channels         few channels   few channels   few channels
 *     1x1, stride 1, no padding      pointwise      pointwise      pointwise
 *     3x3, stride 1, dilation 1 *    Winograd 4x4   Winograd 4x4   Winograd
 *     5x5, stride 1, dilation 1 *    Winograd 5x5   Winograd 5x5   Winograd
 *     3x3, stride 2, dilation 1 *    Winograd       Winograd **    Winograd
 *     strided or dilated, not 1x1 *  implicit GEMM  strided input  pixels
 *     everything else                implicit GEMM  phases         pixels
 *     a group for each channel       the ladder depthwise_conv2d
 *
 * (*) with 16 input channels or more, (**) and padding 1, else strided input. Other
 * layers of several groups are everything else; 18_parts makes of them, and of dilated
 * ones, what this table knows.
 */
#include "operators.h"

conv2d_forward_fn implicit_forward, few_forward, pointwise_forward, tiles_forward,
    fives_forward, twos_forward;
conv2d_backward_fn phases_backward, pixels_backward, few_backward, pointwise_backward,
    tiles_input_backward, tiles_weight_backward, fives_backward, strided_backward,
    twos_backward, twos_weight_backward;
depthwise_conv2d_forward_fn channels_forward;
depthwise_conv2d_backward_fn channels_backward;

enum { FEW = 4, MANY = 16 };  // channels

typedef enum {
    OTHER,
    FEW_CHANNELS,
    POINTWISE,
    TILES,
    FIVES,
    TWOS,     // tiles at stride 2
    STRIDED,  // in another way, or dilated
    DEPTHWISE
} shape_t;

/* What a layer is, for the rule above. OC has no say: threads share out filters. */
static shape_t shape_of(const tensor_t *weight, conv2d_params_t p)
{
    // BEGIN SOLUTION
    const int64_t IC = weight->size[1], KH = weight->size[2], KW = weight->size[3];
    const int unit = p.stride_h == 1 && p.stride_w == 1;
    const int dense = p.dilation_h == 1 && p.dilation_w == 1;
    if (p.groups == 1 && IC <= FEW) return FEW_CHANNELS;
    if (p.groups > 1 && IC == 1) return DEPTHWISE;  // weight has a channel of a group
    if (p.groups > 1) return OTHER;
    if (KH == 1 && KW == 1)
        return unit && p.padding_h + p.padding_w == 0 ? POINTWISE : OTHER;
    if (IC < MANY) return OTHER;  // too few to fill products over channels
    const int threes = KH == 3 && KW == 3;
    if (threes && p.stride_h == 2 && p.stride_w == 2 && dense) return TWOS;
    if (!unit || !dense) return STRIDED;
    if (threes) return TILES;
    return KH == 5 && KW == 5 ? FIVES : OTHER;
    // END SOLUTION
    // STARTER // the table above, from its first line on (the reference takes 14 lines)
    // STARTER return OTHER;
}

/* The options without groups, of which there are as many as channels. */
static depthwise_conv2d_params_t options_of(conv2d_params_t p)
{
    return (depthwise_conv2d_params_t){p.stride_h,  p.stride_w,   p.padding_h,
                                       p.padding_w, p.dilation_h, p.dilation_w};
}

/* output (N, OC, OH, OW) */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    switch (shape_of(weight, p)) {
    case FEW_CHANNELS: return few_forward(ctx, input, weight, bias, p, output);
    case POINTWISE: return pointwise_forward(ctx, input, weight, bias, p, output);
    case TILES: return tiles_forward(ctx, input, weight, bias, p, output);
    case FIVES: return fives_forward(ctx, input, weight, bias, p, output);
    case TWOS: return twos_forward(ctx, input, weight, bias, p, output);
    case DEPTHWISE:
        return channels_forward(ctx, input, weight, bias, options_of(p), output);
    case STRIDED:
    case OTHER: break;
    }
    return implicit_forward(ctx, input, weight, bias, p, output);
    // END SOLUTION
    // STARTER (void)shape_of, (void)options_of;
    // STARTER // your code (the reference takes 12 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* grad_input (N, IC, IH, IW), grad_weight (OC, IC/G, KH, KW), grad_bias (OC): the first
 * by one rung, the other two by another */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    const shape_t shape = shape_of(weight, p);
    conv2d_backward_fn *first = phases_backward, *second = pixels_backward;
    if (shape == DEPTHWISE)
        return channels_backward(ctx, grad_output, input, weight, options_of(p),
                                 grad_input, grad_weight, grad_bias);
    if (shape == FEW_CHANNELS) first = few_backward, second = few_backward;
    if (shape == POINTWISE) first = pointwise_backward, second = pointwise_backward;
    if (shape == TILES) first = tiles_input_backward, second = tiles_weight_backward;
    if (shape == FIVES) first = fives_backward, second = tiles_weight_backward;
    if (shape == STRIDED || shape == TWOS) first = strided_backward;
    if (shape == TWOS) second = twos_weight_backward;
    if (shape == TWOS && p.padding_h == 1 && p.padding_w == 1) first = twos_backward;

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
    // STARTER // your code (the reference takes 21 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
