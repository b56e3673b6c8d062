// SPDX-License-Identifier: MIT
/* depthwise.h - depthwise layers with the arguments of conv2d
 *
 *     depthwise_forward, depthwise_backward    one group for each input channel
 *
 * In lab.toml, `uses.channels` names the rung that computes the channels_* functions.
 */
#ifndef CONVLAB_DEPTHWISE_H
#define CONVLAB_DEPTHWISE_H

#include "operators.h"

depthwise_conv2d_forward_fn channels_forward;
depthwise_conv2d_backward_fn channels_backward;

/* Returns the options without groups: a depthwise layer has a group per channel. */
static inline depthwise_conv2d_params_t options_of(conv2d_params_t p)
{
    return (depthwise_conv2d_params_t){p.stride_h,  p.stride_w,   p.padding_h,
                                       p.padding_w, p.dilation_h, p.dilation_w};
}

static inline status_t depthwise_forward(ctx_t *ctx, const tensor_t *input,
                                         const tensor_t *weight, const tensor_t *bias,
                                         conv2d_params_t p, tensor_t *output)
{
    return channels_forward(ctx, input, weight, bias, options_of(p), output);
}

static inline status_t depthwise_backward(ctx_t *ctx, const tensor_t *grad_output,
                                          const tensor_t *input, const tensor_t *weight,
                                          conv2d_params_t p, tensor_t *grad_input,
                                          tensor_t *grad_weight, tensor_t *grad_bias)
{
    return channels_backward(ctx, grad_output, input, weight, options_of(p), grad_input,
                             grad_weight, grad_bias);
}

#endif
