/* 01 rulebook backward
 *
 *   idea    backward: no search at all, the pairs of the rulebook are walked once more
 *   expect  the baseline of this direction; forward is that of 00_rulebook
 *   limit   a row of features and one of grad_output per pair, wherever they lie
 *   run     make grade T=02_naive_c/subm_conv3d/01
 */
#include "operators.h"

/* Forward kept what it found. One pair (read, write) of the place (kd, kh, kw), listed
 * under k = (kd*KH + kh)*KW + kw, moves
 *
 *     forward    features[read]       -- weight[:,:,kd,kh,kw] ->  output[write]
 *     backward   grad_features[read]  <-    its transpose    --  grad_output[write]  */

// BEGIN SOLUTION
/* One pair: each product of forward hands the gradient on to both of its factors. */
static void pair_backward(const tensor_t *grad_output, const tensor_t *features,
                          const tensor_t *weight, int64_t k, int64_t read,
                          int64_t write, tensor_t *grad_features, tensor_t *grad_weight)
{
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t KH = weight->size[3], KW = weight->size[4];
    const int64_t kd = k / KW / KH, kh = k / KW % KH, kw = k % KW;
    for (int64_t oc = 0; oc < OC; oc++) {
        const real grad = *at2(grad_output, write, oc);
        for (int64_t ic = 0; ic < IC; ic++) {
            const real x = *at2(features, read, ic);
            const real w = *at5(weight, oc, ic, kd, kh, kw);
            if (grad_features) *at2(grad_features, read, ic) += grad * w;
            if (grad_weight) *at5(grad_weight, oc, ic, kd, kh, kw) += grad * x;
        }
    }
}

static void set_zero(tensor_t *output)
{
    if (!output) return;  // a gradient that nobody wants
    for (int64_t i = 0; i < tensor_numel(output); i++) real_data(output)[i] = 0;
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 22 lines)

/* Up to KD*KH*KW others read a point, all pairs of its place a weight: sums. */
status_t subm_conv3d_backward(ctx_t *ctx, const tensor_t *grad_output,
                              const tensor_t *features, const tensor_t *weight,
                              const tensor_t *rulebook, const tensor_t *count,
                              subm_conv3d_params_t p, tensor_t *grad_features,
                              tensor_t *grad_weight, tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    (void)ctx, (void)p;  // the rulebook knows the dilation
    const int64_t P = features->size[0], OC = weight->size[0];
    const int64_t *stride = rulebook->stride;
    set_zero(grad_features), set_zero(grad_weight), set_zero(grad_bias);

    for (int64_t k = 0; k < count->size[0]; k++) {
        const int64_t pairs = ((const int64_t *)count->data)[k * count->stride[0]];
        for (int64_t i = 0; i < pairs; i++) {
            const int32_t *pair = rulebook->data;
            pair += k * stride[0] + i * stride[1];
            pair_backward(grad_output, features, weight, k, pair[0], pair[stride[2]],
                          grad_features, grad_weight);
        }
    }
    for (int64_t i = 0; grad_bias && i < P * OC; i++) {
        *at1(grad_bias, i % OC) += *at2(grad_output, i / OC, i % OC);
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 17 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
