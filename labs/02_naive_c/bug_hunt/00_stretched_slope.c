/* 00 stretched slope
 *
 *   does     prelu backward: the gradient of a slope is a sum over its channel
 *   seen     deeplearning4j/nd4j issue 2424 (2017), in the gradients of an addition
 *   passes   the tests of that project
 *   run      make grade T=02_naive_c/bug_hunt/00
 */
#include "exhibits.h"

/* Writes grad_input: grad_output where input is above 0, else weight * grad_output. */
static void to_input(const tensor_t *grad_output, const tensor_t *input,
                     const tensor_t *weight, tensor_t *grad_input)
{
    const int64_t C = input->size[1], L = input->size[2];
    for (int64_t i = 0; i < tensor_numel(input); i++) {
        const int64_t n = i / (C * L), c = i / L % C, l = i % L;
        const real slope = *at3(input, n, c, l) > 0 ? 1 : *at1(weight, c);
        *at3(grad_input, n, c, l) = slope * *at3(grad_output, n, c, l);
    }
}

/* grad_weight[c] = sum over n, l of grad_output * input, where input is below 0 */
status_t prelu_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                        const tensor_t *weight, tensor_t *grad_input,
                        tensor_t *grad_weight)
{
    (void)ctx;
    const int64_t N = input->size[0], C = input->size[1], L = input->size[2];
    if (grad_input) to_input(grad_output, input, weight, grad_input);
    if (!grad_weight) return STATUS_OK;  // not wanted

    real *to = real_data(grad_weight);
    // BEGIN SOLUTION
    for (int64_t c = 0; c < C; c++) to[c] = 0;
    // END SOLUTION
    // STARTER for (int64_t i = 0; i < tensor_numel(input); i++) to[i] = 0;
    for (int64_t n = 0; n < N; n++) {
        for (int64_t c = 0; c < C; c++) {
            for (int64_t l = 0; l < L; l++) {
                const real x = *at3(input, n, c, l);
                if (x < 0) to[c] += x * *at3(grad_output, n, c, l);
            }
        }
    }
    return STATUS_OK;
}
