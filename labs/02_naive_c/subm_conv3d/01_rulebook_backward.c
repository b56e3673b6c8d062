/* 01 rulebook backward
 *
 *   idea    backward: loop over the pairs of the rulebook, without any search
 *   expect  no factor: no other file of this ladder has backward
 *   limit   each pair reads two scattered rows: of features and of grad_output
 *   run     make grade T=02_naive_c/subm_conv3d/01
 */
#include "points.h"

/* Forward stored pairs (read, write) of points in the rulebook. rulebook[k] lists the
 * pairs of kernel position (kd, kh, kw), k = (kd*KH + kh)*KW + kw. For each pair:
 *
 *     forward    features[read]       -- weight[:,:,kd,kh,kw] ->  output[write]
 *     backward   grad_features[read]  <-    its transpose    --  grad_output[write]  */

/* In a pair, forward added products x * w to output[write]. Adds grad * w to the
 * gradient of x, and grad * x to the gradient of w. Skips a gradient that is NULL. */
static void pair_backward(const tensor_t *grad_output, const tensor_t *features,
                          const tensor_t *matrix, int64_t read, int64_t write,
                          tensor_t *grad_features, tensor_t *grad_matrix)
{
    // BEGIN SOLUTION
    for (int64_t oc = 0; oc < matrix->size[0]; oc++) {
        const real grad = *at2(grad_output, write, oc);
        for (int64_t ic = 0; ic < matrix->size[1]; ic++) {
            const real x = *at2(features, read, ic), w = *at2(matrix, oc, ic);
            if (grad_features) *at2(grad_features, read, ic) += grad * w;
            if (grad_matrix) *at2(grad_matrix, oc, ic) += grad * x;
        }
    }
    // END SOLUTION
    // STARTER // your code: loops over oc and ic (the reference takes 8 lines)
}

/* Adds the gradients of all count[k] pairs of kernel position k. Pair i is (read,
 * write) = rulebook[k, i, 0], rulebook[k, i, 1]. */
static void place_backward(const tensor_t *grad_output, const tensor_t *features,
                           const tensor_t *rulebook, const tensor_t *count, int64_t k,
                           const tensor_t *matrix, tensor_t *grad_features,
                           tensor_t *grad_matrix)
{
    // BEGIN SOLUTION
    const int64_t *stride = rulebook->stride;
    const int64_t pairs = ((const int64_t *)count->data)[k * count->stride[0]];
    for (int64_t i = 0; i < pairs; i++) {
        const int32_t *pair = rulebook->data;
        pair += k * stride[0] + i * stride[1];
        pair_backward(grad_output, features, matrix, pair[0], pair[stride[2]],
                      grad_features, grad_matrix);
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER (void)pair_backward;  // delete this line when you call it
}

static void set_zero(tensor_t *output)
{
    if (!output) return;  // the caller does not want this gradient
    for (int64_t i = 0; i < tensor_numel(output); i++) real_data(output)[i] = 0;
}

/* Many pairs read the same point or use the same weight, so each gradient is a sum. */
status_t subm_conv3d_backward(ctx_t *ctx, const tensor_t *grad_output,
                              const tensor_t *features, const tensor_t *weight,
                              const tensor_t *rulebook, const tensor_t *count,
                              subm_conv3d_params_t p, tensor_t *grad_features,
                              tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    (void)ctx, (void)p;  // the rulebook contains the dilation
    set_zero(grad_features), set_zero(grad_weight), set_zero(grad_bias);
    int64_t k = 0;
    for (int64_t kd = 0; kd < weight->size[2]; kd++) {
        for (int64_t kh = 0; kh < weight->size[3]; kh++) {
            for (int64_t kw = 0; kw < weight->size[4]; kw++, k++) {
                const tensor_t matrix = matrix_at(weight, kd, kh, kw);
                tensor_t grad_matrix = {0};
                if (grad_weight) grad_matrix = matrix_at(grad_weight, kd, kh, kw);
                place_backward(grad_output, features, rulebook, count, k, &matrix,
                               grad_features, grad_weight ? &grad_matrix : NULL);
            }
        }
    }
    // BEGIN SOLUTION
    if (!grad_bias) return STATUS_OK;
    for (int64_t row = 0; row < grad_output->size[0]; row++) {
        for (int64_t oc = 0; oc < grad_output->size[1]; oc++) {
            *at1(grad_bias, oc) += *at2(grad_output, row, oc);
        }
    }
    // END SOLUTION
    // STARTER // your code: the gradient of bias (the reference takes 6 lines)
    return STATUS_OK;
}
