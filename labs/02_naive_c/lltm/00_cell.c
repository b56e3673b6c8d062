/* 00 cell
 *
 *   idea    one unit at a time: three dot products, three gates, a new state
 *   expect  no factor: this ladder has only one file
 *   limit   each addition of a dot product waits for the previous addition
 *   run     make grade T=02_naive_c/lltm/00
 */
#include "operators.h"

/* A row of weight has H numbers for the old state h[n], then IC numbers for input[n].
 * The 3*H rows are three blocks i, o, g. Unit j of the state uses row j of each block.
 * (j counts the H units, because h is the name of the old state.)
 *
 *     weight   | 0 ... H-1 | H ... H+IC-1 |
 *     times    |   h[n]    |   input[n]   |      rows  i 0..  o H..  g 2*H..   */

/* Returns bias[row] plus the dot product of weight[row] and h[n] joined to input[n]. */
static accum preact(const tensor_t *input, const tensor_t *weight, const tensor_t *bias,
                    const tensor_t *h, int64_t n, int64_t row)
{
    // BEGIN SOLUTION
    const int64_t H = h->size[1], IC = input->size[1];
    accum sum = *at1(bias, row);
    for (int64_t j = 0; j < H; j++) sum += *at2(weight, row, j) * *at2(h, n, j);
    for (int64_t ic = 0; ic < IC; ic++) {
        sum += *at2(weight, row, H + ic) * *at2(input, n, ic);
    }
    return sum;
    // END SOLUTION
    // STARTER // your code: two loops (the reference takes 7 lines)
    // STARTER return 0;
}

static accum sigmoid(accum x)
{
    return 1 / (1 + real_exp(-x));
}

static accum elu(accum x)
{
    return x > 0 ? x : real_expm1(x);  // expm1 keeps the digits of a small exp(x) - 1
}

/* Computes the gates i, o, g, then new_c = c + g * i, new_h = tanh(new_c) * o. */
status_t lltm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                      const tensor_t *bias, const tensor_t *h, const tensor_t *c,
                      tensor_t *new_h, tensor_t *new_c, tensor_t *gates)
{
    // BEGIN SOLUTION
    (void)ctx;
    const int64_t N = h->size[0], H = h->size[1];
    for (int64_t n = 0; n < N; n++) {
        for (int64_t j = 0; j < H; j++) {
            const accum i = sigmoid(preact(input, weight, bias, h, n, j));
            const accum o = sigmoid(preact(input, weight, bias, h, n, H + j));
            const accum g = elu(preact(input, weight, bias, h, n, 2 * H + j));
            const accum state = *at2(c, n, j) + g * i;
            *at2(new_c, n, j) = (real)state;
            *at2(new_h, n, j) = (real)(real_tanh(state) * o);
            if (!gates) continue;  // no backward follows
            *at2(gates, n, j) = (real)i;
            *at2(gates, n, H + j) = (real)o;
            *at2(gates, n, 2 * H + j) = (real)g;
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: loops over n and j (the reference takes 17 lines)
    // STARTER (void)preact, (void)sigmoid, (void)elu;  // delete when you call them
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* grad is the gradient of preact[n,row]. Adds grad to grad_bias[row]. For each product
 * x * w of preact, adds grad * w to the gradient of x, and grad * x to that of w. */
static void preact_backward(accum grad, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *h, int64_t n, int64_t row,
                            tensor_t *grad_input, tensor_t *grad_weight,
                            tensor_t *grad_bias, tensor_t *grad_h)
{
    // BEGIN SOLUTION
    const int64_t H = h->size[1], IC = input->size[1];
    if (grad_bias) *at1(grad_bias, row) += grad;
    for (int64_t j = 0; j < H; j++) {
        if (grad_h) *at2(grad_h, n, j) += grad * *at2(weight, row, j);
        if (grad_weight) *at2(grad_weight, row, j) += grad * *at2(h, n, j);
    }
    for (int64_t ic = 0; ic < IC; ic++) {
        if (grad_input) *at2(grad_input, n, ic) += grad * *at2(weight, row, H + ic);
        if (grad_weight) *at2(grad_weight, row, H + ic) += grad * *at2(input, n, ic);
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 10 lines)
}

static void set_zero(tensor_t *output)
{
    if (!output) return;  // the caller does not want this gradient
    for (int64_t i = 0; i < tensor_numel(output); i++) real_data(output)[i] = 0;
}

/* Applies the chain rule to each line of lltm_forward, from the last to the first. */
status_t lltm_backward(ctx_t *ctx, const tensor_t *grad_new_h,
                       const tensor_t *grad_new_c, const tensor_t *input,
                       const tensor_t *weight, const tensor_t *h, const tensor_t *new_c,
                       const tensor_t *gates, tensor_t *grad_input,
                       tensor_t *grad_weight, tensor_t *grad_bias, tensor_t *grad_h,
                       tensor_t *grad_c)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    (void)ctx;
    set_zero(grad_input), set_zero(grad_weight), set_zero(grad_bias), set_zero(grad_h);
    // BEGIN SOLUTION
    const int64_t N = h->size[0], H = h->size[1];
    for (int64_t n = 0; n < N; n++) {
        for (int64_t j = 0; j < H; j++) {
            const accum i = *at2(gates, n, j), o = *at2(gates, n, H + j);
            const accum g = *at2(gates, n, 2 * H + j);
            const accum squashed = real_tanh(*at2(new_c, n, j));
            // new_c is a result, and new_h depends on it: add both gradients
            const accum grad_state =
                *at2(grad_new_c, n, j) +
                *at2(grad_new_h, n, j) * o * (1 - squashed * squashed);
            if (grad_c) *at2(grad_c, n, j) = (real)grad_state;

            const accum grad_preact[] = {
                grad_state * g * i * (1 - i),
                *at2(grad_new_h, n, j) * squashed * o * (1 - o),
                grad_state * i * (g > 0 ? 1 : g + 1),
            };
            for (int64_t block = 0; block < 3; block++) {
                preact_backward(grad_preact[block], input, weight, h, n, block * H + j,
                                grad_input, grad_weight, grad_bias, grad_h);
            }
        }
    }
    // END SOLUTION
    // STARTER // your code: the loops of forward (the reference takes 21 lines)
    // STARTER (void)preact_backward;  // delete this line when you call it
    return STATUS_OK;
}
