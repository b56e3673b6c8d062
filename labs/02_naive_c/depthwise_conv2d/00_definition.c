/* 00 definition
 *
 *   idea    conv2d without the sum over channels: a filter reads one input channel
 *   expect  no factor: this ladder has only one file
 *   limit   border tests and index arithmetic take longer than the few multiply-adds
 *   run     make grade T=02_naive_c/depthwise_conv2d/00
 */
#include "operators.h"

/* Each input channel has its own OC/IC filters. For example, IC = 2 and OC = 6:
 *
 *     output channel  oc   0 1 2   3 4 5
 *     reads channel   ic     0       1        */

/* Returns the dot product of filter oc and the window at (oh, ow) of image n. */
static accum window_dot(const tensor_t *input, const tensor_t *weight,
                        depthwise_conv2d_params_t p, int64_t n, int64_t oc, int64_t oh,
                        int64_t ow)
{
    // BEGIN SOLUTION
    const int64_t IC = input->size[1], IH = input->size[2], IW = input->size[3];
    const int64_t OC = weight->size[0], KH = weight->size[2], KW = weight->size[3];
    const int64_t ic = oc / (OC / IC);

    accum sum = 0;
    for (int64_t kh = 0; kh < KH; kh++) {
        for (int64_t kw = 0; kw < KW; kw++) {
            const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
            const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
            if (ih < 0 || ih >= IH || iw < 0 || iw >= IW) continue;  // padding
            sum += *at4(input, n, ic, ih, iw) * *at4(weight, oc, 0, kh, kw);
        }
    }
    return sum;
    // END SOLUTION
    // STARTER // your code: two loops (the reference takes 13 lines)
    // STARTER return 0;
}

/* Computes output[n,oc,oh,ow] = bias[oc] + sum over kh, kw of input * weight. */
status_t depthwise_conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *bias,
                                  depthwise_conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    (void)ctx;
    const int64_t N = output->size[0], OC = output->size[1];
    const int64_t OH = output->size[2], OW = output->size[3];
    for (int64_t n = 0; n < N; n++) {
        for (int64_t oc = 0; oc < OC; oc++) {
            const accum start = bias ? *at1(bias, oc) : 0;
            for (int64_t oh = 0; oh < OH; oh++) {
                for (int64_t ow = 0; ow < OW; ow++) {
                    const accum sum = window_dot(input, weight, p, n, oc, oh, ow);
                    *at4(output, n, oc, oh, ow) = (real)(start + sum);
                }
            }
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: four loops around window_dot
    // STARTER // (the reference takes 15 lines)
    // STARTER (void)window_dot;  // delete this line when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* For one output: adds grad * weight to grad_input, and grad * pixel to grad_weight. */
static void window_backward(real grad, const tensor_t *input, const tensor_t *weight,
                            depthwise_conv2d_params_t p, int64_t n, int64_t oc,
                            int64_t oh, int64_t ow, tensor_t *grad_input,
                            tensor_t *grad_weight)
{
    // BEGIN SOLUTION
    const int64_t IC = input->size[1], IH = input->size[2], IW = input->size[3];
    const int64_t OC = weight->size[0], KH = weight->size[2], KW = weight->size[3];
    const int64_t ic = oc / (OC / IC);

    for (int64_t kh = 0; kh < KH; kh++) {
        for (int64_t kw = 0; kw < KW; kw++) {
            const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
            const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
            if (ih < 0 || ih >= IH || iw < 0 || iw >= IW) continue;  // padding
            const real x = *at4(input, n, ic, ih, iw), w = *at4(weight, oc, 0, kh, kw);
            if (grad_input) *at4(grad_input, n, ic, ih, iw) += grad * w;
            if (grad_weight) *at4(grad_weight, oc, 0, kh, kw) += grad * x;
        }
    }
    // END SOLUTION
    // STARTER // your code: the loops of window_dot (the reference takes 13 lines)
}

static void set_zero(tensor_t *output)
{
    if (!output) return;  // the caller does not want this gradient
    for (int64_t i = 0; i < tensor_numel(output); i++) real_data(output)[i] = 0;
}

/* Loops over all outputs. Windows share inputs and weights: each gradient is a sum. */
status_t depthwise_conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                   const tensor_t *input, const tensor_t *weight,
                                   depthwise_conv2d_params_t p, tensor_t *grad_input,
                                   tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    (void)ctx;
    set_zero(grad_input), set_zero(grad_weight), set_zero(grad_bias);
    // BEGIN SOLUTION
    const int64_t N = grad_output->size[0], OC = grad_output->size[1];
    const int64_t OH = grad_output->size[2], OW = grad_output->size[3];
    for (int64_t n = 0; n < N; n++) {
        for (int64_t oc = 0; oc < OC; oc++) {
            for (int64_t oh = 0; oh < OH; oh++) {
                for (int64_t ow = 0; ow < OW; ow++) {
                    const real grad = *at4(grad_output, n, oc, oh, ow);
                    if (grad_bias) *at1(grad_bias, oc) += grad;
                    window_backward(grad, input, weight, p, n, oc, oh, ow, grad_input,
                                    grad_weight);
                }
            }
        }
    }
    // END SOLUTION
    // STARTER // your code: the four loops of forward around window_backward
    // STARTER // (the reference takes 14 lines)
    // STARTER (void)window_backward;  // delete this line when you call it
    return STATUS_OK;
}
