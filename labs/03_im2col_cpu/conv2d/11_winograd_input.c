/* 11 winograd input
 *
 *   idea    grad_input is grad_output convolved with flipped filters: use Winograd
 *   expect  2x the speed of 03_stride_phases for 3x3 at stride 1; one digit is lost
 *   limit   the transforms, and transformed filters, which are 4x as large
 *   run     make bench T=03_im2col_cpu/conv2d/11
 *
 * Covers grad_input for 3x3, stride 1, dilation 1, padding below 3, one group. An
 * infinity or NaN in grad_output reaches all pixels of its tile of grad_input.
 * Workspace: a copy of weight, and the workspace of 10_winograd_4x4.
 */
#include "turned.h"

conv2d_forward_fn tiles_forward;

enum { KERNEL = 3 };

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

/* Computes 4 x 4 tiles of grad_input from 6 x 6 of grad_output and flipped filters. */
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
    // padding: the first window that reads a pixel begins KERNEL - 1 pixels before it
    p.padding_h = KERNEL - 1 - p.padding_h, p.padding_w = KERNEL - 1 - p.padding_w;
    return tiles_forward(ctx, grad_output, &filters, NULL, p, grad_input);
    // END SOLUTION
    // STARTER (void)fits;
    // STARTER // ctx->left, turned.h, padding, then 10 (the reference takes 8 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
