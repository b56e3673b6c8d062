/* 13 winograd 5x5
 *
 *   idea    F(2x2,5x5) uses the points of F(4x4,3x3): 2.8x fewer multiplications
 *   expect  1.5x the speed of 02_implicit_gemm for 5x5 at stride 1
 *   limit   the transforms: a tile of 36 numbers gives only 4 outputs
 *   run     make bench T=03_im2col_cpu/conv2d/13
 *
 * Covers 5x5, stride 1, dilation 1, padding below 5, one group. 10_winograd_4x4 makes
 * the tiles, because 3x3 and 5x5 use the same points. An infinity or NaN reaches its
 * whole tile. Workspace: a copy of weight, and the workspace of 10_winograd_4x4.
 */
#include "turned.h"

conv2d_forward_fn tiles_forward;

enum { KERNEL = 5 };

static int fits(const tensor_t *weight, conv2d_params_t p)
{
    // BEGIN SOLUTION
    return weight->size[2] == KERNEL && weight->size[3] == KERNEL && p.groups == 1 &&
           p.padding_h < KERNEL && p.padding_w < KERNEL &&
           p.stride_h * p.stride_w * p.dilation_h * p.dilation_w == 1;
    // END SOLUTION
    // STARTER // test for the layers of the head comment (the reference takes 3 lines)
    // STARTER return 0;
}

/* output = bias + each tile of 2 x 2 from its 6 x 6 inputs and all filters */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    if (!fits(weight, p)) return STATUS_UNSUPPORTED;
    return tiles_forward(ctx, input, weight, bias, p, output);
    // END SOLUTION
    // STARTER (void)fits;  // your code (the reference takes 2 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Computes 2 x 2 tiles of grad_input from 6 x 6 of grad_output and flipped filters. */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    if (!fits(weight, p) || !grad_input) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_WEIGHT | GRAD_BIAS;
    if (tensor_numel(grad_input) == 0) return STATUS_OK;
    const taps_t all = {.STEP = 1, .T = KERNEL};
    const tensor_t filters = turned(ctx, weight, 1, all, all);
    if (!filters.data) return STATUS_NO_MEMORY;
    p.padding_h = KERNEL - 1 - p.padding_h, p.padding_w = KERNEL - 1 - p.padding_w;
    return tiles_forward(ctx, grad_output, &filters, NULL, p, grad_input);
    // END SOLUTION
    // STARTER // as in 11_winograd_input (the reference takes 8 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
