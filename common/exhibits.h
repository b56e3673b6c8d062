// SPDX-License-Identifier: MIT
/* exhibits.h - the operators that only exhibits of a bug hunt have
 *
 * The rules at the beginning of operators.h hold for them, too: order of arguments,
 * strides, memory, results. They have no <operator>_<direction>_check.
 */
#ifndef CONVLAB_EXHIBITS_H
#define CONVLAB_EXHIBITS_H

#include "operators.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- avg_pool2d ---------------------------------------------------------------------
 * torch.nn.functional.avg_pool2d(input, kernel_size, stride, padding=0)
 *
 *   output[n,c,oh,ow] = sum over kh, kw of input[n,c,ih,iw] / (KH*KW)
 *   where ih = oh*stride_h - padding_h + kh, and iw is alike; outside, input reads as 0
 *
 *   shapes     input (N, C, IH, IW)   output (N, C, OH, OW)
 */
typedef struct {
    int64_t kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w;
} avg_pool2d_params_t;

status_t avg_pool2d_forward(ctx_t *ctx, const tensor_t *input, avg_pool2d_params_t p,
                            tensor_t *output);
status_t avg_pool2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                             avg_pool2d_params_t p, tensor_t *grad_input);

/* ---- bilinear -----------------------------------------------------------------------
 * torch.nn.functional.bilinear(input1, input2, weight, bias)
 *
 *   output[n,oc] = bias[oc] + sum of input1[n,ic] * weight[oc,ic,jc] * input2[n,jc]
 *   over all ic, jc
 *
 *   shapes     input1 (N, IC)   input2 (N, JC)   weight (OC, IC, JC)
 *              bias (OC), may be NULL   output (N, OC)
 */
status_t bilinear_forward(ctx_t *ctx, const tensor_t *input1, const tensor_t *input2,
                          const tensor_t *weight, const tensor_t *bias,
                          tensor_t *output);
status_t bilinear_backward(ctx_t *ctx, const tensor_t *grad_output,
                           const tensor_t *input1, const tensor_t *input2,
                           const tensor_t *weight, tensor_t *grad_input1,
                           tensor_t *grad_input2, tensor_t *grad_weight,
                           tensor_t *grad_bias);

/* ---- cdist --------------------------------------------------------------------------
 * torch.cdist(x1, x2, p=1)
 *
 *   output[p,r] = sum over d of |x1[p,d] - x2[r,d]|
 *   grad_x1[p,d] = sum over r of grad_output[p,r] * sign(x1[p,d] - x2[r,d])
 *   grad_x2[r,d] = sum over p of grad_output[p,r] * sign(x2[r,d] - x1[p,d])
 *
 *   shapes     x1 (P, D)   x2 (R, D)   output (P, R)
 */
status_t cdist_forward(ctx_t *ctx, const tensor_t *x1, const tensor_t *x2,
                       tensor_t *output);
status_t cdist_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *x1,
                        const tensor_t *x2, tensor_t *grad_x1, tensor_t *grad_x2);

/* ---- conv_transpose2d ---------------------------------------------------------------
 * torch.nn.functional.conv_transpose2d(input, weight, bias, stride, padding, 0, 1,
 *                                      dilation), with one group
 *
 *   output[n,oc,oh,ow] = bias[oc] + sum of input[n,ic,ih,iw] * weight[ic,oc,kh,kw]
 *   over all ic, ih, iw, kh, kw with oh = ih*stride_h - padding_h + kh*dilation_h, and
 *   ow alike
 *
 *   shapes     input (N, IC, IH, IW)   weight (IC, OC, KH, KW)   bias (OC), may be NULL
 *              output (N, OC, OH, OW)
 */
typedef struct {
    int64_t stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w;
} conv_transpose2d_params_t;

status_t conv_transpose2d_forward(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *bias,
                                  conv_transpose2d_params_t p, tensor_t *output);
status_t conv_transpose2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                   const tensor_t *input, const tensor_t *weight,
                                   conv_transpose2d_params_t p, tensor_t *grad_input,
                                   tensor_t *grad_weight, tensor_t *grad_bias);

/* ---- cumsum -------------------------------------------------------------------------
 * torch.cumsum(input, -1)
 *
 *   output[r,d] = sum of input[r,0] to input[r,d]
 *   grad_input[r,d] = sum of grad_output[r,d] to grad_output[r,D-1]
 *
 *   shapes     input (..., D)   output (..., D)
 */
status_t cumsum_forward(ctx_t *ctx, const tensor_t *input, tensor_t *output);
status_t cumsum_backward(ctx_t *ctx, const tensor_t *grad_output, tensor_t *grad_input);

/* ---- group_norm ---------------------------------------------------------------------
 * torch.nn.functional.group_norm(input, num_groups, weight, bias, eps=1e-5)
 *
 *   output = (input - mean) / sqrt(variance + eps) * weight[c] + bias[c]
 *   mean and variance are those of the C/num_groups * L numbers of a group.
 *
 *   shapes     input (N, C, L)   weight (C), may be NULL   bias (C), may be NULL
 *              output (N, C, L)
 */
typedef struct {
    int64_t num_groups;
    double eps;
} group_norm_params_t;

status_t group_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, group_norm_params_t p,
                            tensor_t *output);
status_t group_norm_backward(ctx_t *ctx, const tensor_t *grad_output,
                             const tensor_t *input, const tensor_t *weight,
                             group_norm_params_t p, tensor_t *grad_input,
                             tensor_t *grad_weight, tensor_t *grad_bias);

/* ---- prelu --------------------------------------------------------------------------
 * torch.nn.functional.prelu(input, weight)
 *
 *   output = input above 0, and weight[c] * input below
 *   grad_input = grad_output above 0, and weight[c] * grad_output below
 *   grad_weight[c] = sum over n, l of grad_output * input, where input is below 0
 *
 *   shapes     input (N, C, L)   weight (C)   output (N, C, L)
 */
status_t prelu_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                       tensor_t *output);
status_t prelu_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                        const tensor_t *weight, tensor_t *grad_input,
                        tensor_t *grad_weight);

/* ---- rms_norm -----------------------------------------------------------------------
 * torch.nn.functional.rms_norm(input, [D], weight, eps=1e-5)
 *
 *   output[r,d] = input[r,d] * scale[r] * weight[d]
 *   where scale[r] = 1 / sqrt(mean of the squares of row r + eps)
 *
 *   shapes     input (..., D)   weight (D), may be NULL   output (..., D)
 */
typedef struct {
    double eps;
} rms_norm_params_t;

status_t rms_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                          rms_norm_params_t p, tensor_t *output);
status_t rms_norm_backward(ctx_t *ctx, const tensor_t *grad_output,
                           const tensor_t *input, const tensor_t *weight,
                           rms_norm_params_t p, tensor_t *grad_input,
                           tensor_t *grad_weight);

#ifdef __cplusplus
}
#endif

#endif
