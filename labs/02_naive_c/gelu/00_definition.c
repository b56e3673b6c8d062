/* 00 definition
 *
 *   idea    x times the probability that a normal random number is below x
 *   expect  no factor: this ladder has only one file
 *   limit   each element needs one call of erf or tanh
 *   run     make grade T=02_naive_c/gelu/00
 */
#include "operators.h"

static const double SQRT_1_2 = 0.70710678118654752440;    // sqrt(1/2)
static const double SQRT_2_PI = 0.79788456080286535588;   // sqrt(2/pi)
static const double SQRT_1_2PI = 0.39894228040143267794;  // 1/sqrt(2*pi)
static const double CUBIC = 0.044715;                     // the constant of the paper

/* Returns the argument of tanh in GELU_TANH: sqrt(2/pi) * (x + 0.044715 * x^3). */
static accum tanh_argument(accum x)
{
    return (accum)SQRT_2_PI * (x + (accum)CUBIC * x * x * x);
}

/* Returns gelu(x). approximate is GELU_NONE (uses erf) or GELU_TANH (uses tanh). */
static accum gelu(accum x, int64_t approximate)
{
    // BEGIN SOLUTION
    const accum squashed = approximate == GELU_NONE ? real_erf(x * (accum)SQRT_1_2)
                                                    : real_tanh(tanh_argument(x));
    return (accum)0.5 * x * (1 + squashed);
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
    // STARTER (void)SQRT_1_2, (void)tanh_argument;  // delete when you use them
    // STARTER return 0;
}

/* Returns d gelu / d x: (1 + squashed)/2 + x/2 * d squashed/d x, with erf or tanh. */
static accum gelu_slope(accum x, int64_t approximate)
{
    // BEGIN SOLUTION
    const accum half = (accum)0.5;
    if (approximate == GELU_NONE) {
        const accum density = (accum)SQRT_1_2PI * real_exp(-half * x * x);
        return half * (1 + real_erf(x * (accum)SQRT_1_2)) + x * density;
    }
    const accum squashed = real_tanh(tanh_argument(x));
    const accum inner = (accum)SQRT_2_PI * (1 + 3 * (accum)CUBIC * x * x);
    return half * (1 + squashed) + half * x * (1 - squashed * squashed) * inner;
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER (void)SQRT_1_2PI;  // delete this line when you use it
    // STARTER return 0;
}

/* Computes output = gelu(input) for each element. */
status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    // BEGIN SOLUTION
    (void)ctx;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const real x = real_data(input)[tensor_offset(input, input->ndim, i)];
        real_data(output)[i] = (real)gelu(x, p.approximate);
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: one loop over output (the reference takes 6 lines)
    // STARTER (void)gelu;  // delete this line when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Computes grad_input = grad_output * gelu_slope(input). It needs no output. */
status_t gelu_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                       gelu_params_t p, tensor_t *grad_input)
{
    // BEGIN SOLUTION
    (void)ctx;
    if (!grad_input) return STATUS_OK;
    for (int64_t i = 0; i < tensor_numel(grad_input); i++) {
        const real x = real_data(input)[tensor_offset(input, input->ndim, i)];
        const int64_t at = tensor_offset(grad_output, grad_output->ndim, i);
        const accum slope = gelu_slope(x, p.approximate);
        real_data(grad_input)[i] = (real)(real_data(grad_output)[at] * slope);
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: one loop over grad_input (the reference takes 9 lines)
    // STARTER (void)gelu_slope;  // delete this line when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
