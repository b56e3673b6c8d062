/* 02 exponential
 *
 *   idea    the exponential in the slope of erf also gives erf: compute it only once
 *   expect  20x the speed of 00_libm for erf, 30x for tanh, in float
 *   limit   each vector needs about 25 multiply-adds and a division
 *   run     make bench T=03_im2col_cpu/gelu/02
 *
 * Backward for all shapes and strides. Workspace: copies of non-contiguous inputs.
 * output = x * share(x). Since share(-x) = 1 - share(x), tail = share(-|x|) is enough.
 *     none   e = exp(-x^2/2)   slope of share = e/sqrt(2*pi)   tail: normal_tail
 *     tanh   e = exp(-2*u)     slope = 2*tail/(1 + e) * du/dx  tail = e/(1 + e)
 *            u = sqrt(2/pi) * (|x| + 0.044715 * |x|^3); in double, libm does it
 */
#include "operators.h"
#include "vector.h"

typedef uint32_t bits __attribute__((vector_size(VECTOR_BYTES)));

#if defined(REAL_F64)
static inline vec vec_exp(vec x)
{
    for (int i = 0; i < LANES; i++) x[i] = real_exp(x[i]);
    return x;
}

static inline vec normal_tail(vec x, vec density)
{
    for (int i = 0; i < LANES; i++) x[i] = real_erf(x[i] * 0.70710678118654752440);
    return (void)density, (1 - x) / 2;
}
#else
/* exp(x) = 2^n * exp(rest) for -87 < x <= 0. n is x / log(2), rounded to an integer. */
static inline vec vec_exp(vec x)
{
    // BEGIN SOLUTION
    // 1.5 * 2^23 leaves no bits for a fraction: n is in the last bits of the sum
    const vec shifted = x * (real)1.4426950408889634074 + 12582912;
    const vec n = shifted - 12582912, rest = x - n * (real)0.69314718055994530942;
    vec sum = rest * (real)(1 / 720.0) + (real)(1 / 120.0);
    sum = sum * rest + (real)(1 / 24.0);
    sum = sum * rest + (real)(1 / 6.0);
    sum = sum * rest + (real)0.5;
    sum = (sum * rest + 1) * rest + 1;
    return (vec)((bits)sum + ((bits)shifted << 23));  // n is added to the exponent
    // END SOLUTION
    // STARTER return x;  // your code (the reference takes 8 lines)
}

/* For 0 <= x <= 9, returns P(a normal number > x), which is density * Mills' ratio. */
static inline vec normal_tail(vec x, vec density)
{
    vec P = x * (real)2.695819745e-02 + (real)2.273733194e-01;
    P = P * x + (real)7.701437156e-01;
    P = P * x + (real)1.253314136e+00;
    vec Q = x * (real)2.701274538e-02 + (real)2.262257861e-01;
    Q = Q * x + (real)8.083281818e-01;
    Q = (Q * x + (real)1.412370205e+00) * x + 1;
    return density * P / Q;
}
#endif

// BEGIN SOLUTION
/* With gelu(x) = x * share(x), the slope is share + x * slope of share. The slope at -x
 * is 1 minus the slope at x. Beyond |x| = 9 it is 1 or 0, so 9 replaces |x|. */
EXPAND vec gelu_slope(vec x, int64_t approximate)
{
    const real sqrt_2_pi = (real)0.79788456080286535588, cubic = (real)0.044715;
    const bits sign = (bits)x & (bits)vec_splat((real)-0.0), size = (bits)x ^ sign;
    const bits far = (bits)((vec)size > 9), nine = (bits)vec_splat(9);
    const vec near = (vec)((far & nine) | (~far & size)), square = near * near;
    vec tail, slope;
    if (approximate == GELU_NONE) {
        slope = vec_exp((real)-0.5 * square) * (sqrt_2_pi / 2);
        tail = normal_tail(near, slope);
    } else {
        const vec u = sqrt_2_pi * (near + cubic * square * near);
        const vec e = vec_exp(-2 * u), share = 1 / (1 + e);
        tail = e * share;
        slope = 2 * tail * share * sqrt_2_pi * (1 + 3 * cubic * square);
    }
    const vec above = (real)0.5 - tail + near * slope;  // the slope at |x|, minus 1/2
    return (real)0.5 + (vec)((bits)above ^ sign);
}
// END SOLUTION
// STARTER // write the slope of a vec (the reference takes 19 lines)

/* dx = dy * gelu_slope(x) for COUNT numbers. dx overlaps neither dy nor x. */
// BEGIN SOLUTION
EXPAND void row(const real *dy, const real *x, int64_t COUNT, int64_t approximate,
                real *restrict dx)
{
    int64_t i = 0;
    for (; i + LANES <= COUNT; i += LANES) {
        const vec slope = gelu_slope(vec_load(x + i), approximate);
        vec_store(dx + i, vec_load(dy + i) * slope);
    }
    const vec last = gelu_slope(vec_load_first(x + i, COUNT - i), approximate);
    vec_store_first(dx + i, vec_load_first(dy + i, COUNT - i) * last, COUNT - i);
}
// END SOLUTION
// STARTER // write the loop over all numbers (the reference takes 11 lines)

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
    real *dx = real_data(grad_input);
    if (p.approximate == GELU_NONE) row(dy, x, COUNT, GELU_NONE, dx);
    if (p.approximate == GELU_TANH) row(dy, x, COUNT, GELU_TANH, dx);
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 9 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
