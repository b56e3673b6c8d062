/* 00 libm
 *
 *   idea    apply the definition to one long row of numbers, with erf or tanh of libm
 *   expect  no factor: 01_rational is compared with this file, not with PyTorch
 *   limit   each element needs a call of erf or tanh, which takes one number at a time
 *   run     make bench T=03_im2col_cpu/gelu/00
 */
#include "operators.h"

static const double SQRT_1_2 = 0.70710678118654752440;    // sqrt(1/2)
static const double SQRT_2_PI = 0.79788456080286535588;   // sqrt(2/pi)
static const double SQRT_1_2PI = 0.39894228040143267794;  // 1/sqrt(2*pi)
static const double CUBIC = 0.044715;                     // a constant in GELU's paper

/* Returns the argument of tanh in gelu: sqrt(2/pi) * (x + 0.044715 * x^3) */
static accum tanh_argument(accum x)
{
    return (accum)SQRT_2_PI * (x + (accum)CUBIC * x * x * x);
}

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

/* d gelu / d x = (1 + squashed)/2 + x/2 * d squashed / d x; squashed is erf or tanh */
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

/* output = gelu(input), element by element */
status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);
    if (!x) return STATUS_NO_MEMORY;
    real *restrict y = real_data(output);  // overlaps no input
    for (int64_t i = 0; i < COUNT; i++) y[i] = (real)gelu(x[i], p.approximate);
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 7 lines)
    // STARTER (void)tanh_argument, (void)gelu, (void)gelu_slope;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* grad_input = grad_output * d output / d input. Backward does not need output. */
status_t gelu_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                       gelu_params_t p, tensor_t *grad_input)
{
    // BEGIN SOLUTION
    const int64_t COUNT = grad_input ? tensor_numel(grad_input) : 0;
    if (COUNT == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);
    const real *dy = tensor_contiguous(ctx, grad_output);
    if (!x || !dy) return STATUS_NO_MEMORY;
    real *restrict dx = real_data(grad_input);  // overlaps no input
    for (int64_t i = 0; i < COUNT; i++) dx[i] = dy[i] * gelu_slope(x[i], p.approximate);
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
