/* 01 rational
 *
 *   idea    compute erf and tanh of a whole vector as a quotient of two polynomials
 *   expect  20x the speed of 00_libm for erf, 50x for tanh, in float
 *   limit   each vector needs about 15 multiply-adds and a division
 *   run     make bench T=03_im2col_cpu/gelu/01
 *
 * Computes forward for all shapes and strides. Workspace: copies of non-contiguous
 * inputs. A library's erf branches on the size of x. Lanes of a vector cannot branch,
 * so all lanes use one quotient. Beyond its range, erf and tanh round to 1 or -1. erf
 * and tanh are odd: x * P(x^2) / Q(x^2). The coefficients of P and Q keep the largest
 * relative error small. All floats were tested: with fused multiply-adds, erf is off by
 * at most 7 ulp, tanh by at most 6. In double, each lane calls libm.
 */
#include "operators.h"
#include "vector.h"

#if defined(REAL_F64)
static inline vec vec_erf(vec x)
{
    for (int i = 0; i < LANES; i++) x[i] = real_erf(x[i]);
    return x;
}

static inline vec vec_tanh(vec x)
{
    for (int i = 0; i < LANES; i++) x[i] = real_tanh(x[i]);
    return x;
}
#else
typedef uint32_t bits __attribute__((vector_size(VECTOR_BYTES)));

// BEGIN SOLUTION
/* Returns c[0] + c[1] * x + c[2] * x^2 + ..., a polynomial of `terms` terms. */
EXPAND vec polynomial(vec x, const double *c, int terms)
{
    vec sum = vec_splat((real)c[terms - 1]);
    UNROLL
    for (int i = terms - 2; i >= 0; i--) sum = sum * x + (real)c[i];
    return sum;
}

/* Returns x * P(x^2) / Q(x^2). If x^2 > border, returns 1 with the sign of x. A
 * comparison of two vectors sets all bits or no bit in each lane of `far`. */
EXPAND vec odd_quotient(vec x, const double *P, const double *Q, int terms, real border)
{
    const vec square = x * x;
    const vec near = x * polynomial(square, P, terms) / polynomial(square, Q, terms);
    const bits sign = (bits)x & (bits)vec_splat((real)-0.0);
    const bits one = (bits)vec_splat(1) | sign, far = (bits)(square > border);
    return (vec)((far & one) | (~far & (bits)near));
}
// END SOLUTION
// STARTER // x * P(x^2) / Q(x^2), and 1 beyond a border (the reference takes 15 lines)

static inline vec vec_erf(vec x)  // 1 or -1 if x^2 > 15.4
{
    static const double P[] = {1.128379107e+00, 1.907819062e-01, 5.278999358e-02,
                               3.779516323e-03, 2.848052245e-04, 2.041969083e-06};
    static const double Q[] = {1.000000000e+00, 5.024087429e-01, 1.142566800e-01,
                               1.499725226e-02, 1.165187801e-03, 3.800388004e-05};
    // BEGIN SOLUTION
    return odd_quotient(x, P, Q, 6, (real)15.4);
    // END SOLUTION
    // STARTER return (void)P, (void)Q, x;  // your code (the reference takes 1 line)
}

static inline vec vec_tanh(vec x)  // 1 or -1 if x^2 > 81.5
{
    static const double P[] = {1, 1.337970644e-01, 3.494020784e-03, 2.058325663e-05,
                               1.331876831e-08};
    static const double Q[] = {1, 4.671301842e-01, 2.587102167e-02, 3.283070400e-04,
                               7.761893244e-07};
    // BEGIN SOLUTION
    return odd_quotient(x, P, Q, 5, (real)81.5);
    // END SOLUTION
    // STARTER return (void)P, (void)Q, x;  // your code (the reference takes 1 line)
}
#endif

// BEGIN SOLUTION
/* x/2 * (1 + erf(x / sqrt(2))), or x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) */
EXPAND vec gelu(vec x, int64_t approximate)
{
    const real sqrt_1_2 = (real)0.70710678118654752440, cubic = (real)0.044715;
    const real sqrt_2_pi = (real)0.79788456080286535588;
    const vec half = (real)0.5 * x;
    if (approximate == GELU_NONE) return half * (1 + vec_erf(sqrt_1_2 * x));
    return half * (1 + vec_tanh(sqrt_2_pi * (x + cubic * x * x * x)));
}

/* y = gelu(x) for COUNT numbers. The arrays x and y do not overlap. */
EXPAND void row(const real *x, int64_t COUNT, int64_t approximate, real *restrict y)
{
    int64_t i = 0;
    for (; i + LANES <= COUNT; i += LANES) {
        vec_store(y + i, gelu(vec_load(x + i), approximate));
    }
    const vec last = gelu(vec_load_first(x + i, COUNT - i), approximate);
    vec_store_first(y + i, last, COUNT - i);
}
// END SOLUTION
// STARTER // write helper functions here, if needed (the reference takes 17 lines)

/* output = gelu(input), element by element */
status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);
    if (!x) return STATUS_NO_MEMORY;
    if (p.approximate == GELU_NONE) row(x, COUNT, GELU_NONE, real_data(output));
    if (p.approximate == GELU_TANH) row(x, COUNT, GELU_TANH, real_data(output));
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 7 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
