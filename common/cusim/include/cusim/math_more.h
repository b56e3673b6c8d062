// SPDX-License-Identifier: MIT
/* math_more.h - functions of one or more numbers that CUDA has and C17 has not
 *
 * The functions are templates, because newer C libraries declare some (rsqrt, sinpi).
 * The compiler then prefers the library's function, without a conflict.
 */
#ifndef CUSIM_MATH_MORE_H
#define CUSIM_MATH_MORE_H

#include <math.h>

namespace cusim
{

constexpr double PI = 3.14159265358979323846;
constexpr double SQRT_HALF = 0.70710678118654752440;

/* Maps an integer type to double, because C's functions take integers as double. */
template <class T> struct Real {
    typedef double type;
};
template <> struct Real<float> {
    typedef float type;
};

/* Return sin(pi x) and cos(pi x), exact where the result is 0, 1 or -1. */
inline double sine_of_pi(double x)
{
    double r = fmod(x, 2.0);  // exact
    if (r > 1) r -= 2;
    if (r < -1) r += 2;
    if (r > 0.5) r = 1 - r;
    if (r < -0.5) r = -1 - r;
    return sin(PI * r);
}

inline double cosine_of_pi(double x)
{
    const double r = fabs(fmod(x, 2.0));
    return sine_of_pi(0.5 - (r > 1 ? 2 - r : r));
}

/* Returns y with erfc(y) = p: a formula exact to 1 in 500, then Newton's method. */
inline double inverse_erfc(double p)
{
    if (!(p > 0 && p < 2)) return p == 0 ? HUGE_VAL : p == 2 ? -HUGE_VAL : NAN;
    if (p > 1) return -inverse_erfc(2 - p);
    const double log_p = log(p) + log1p(1 - p), t = 2 / (PI * 0.147) + log_p / 2;
    double y = sqrt(sqrt(t * t - log_p / 0.147) - t);
    for (int i = 0; i < 4; i++) {
        const double slope = -2 / sqrt(PI) * exp(-y * y);
        const double step = (erfc(y) - p) / slope;
        y -= step / (1 + y * step);  // Halley: the second derivative is known
    }
    return y;
}

inline double inverse_erf(double x)
{
    if (!(fabs(x) < 0.5)) return x < 0 ? -inverse_erfc(1 + x) : inverse_erfc(1 - x);
    double y = x * sqrt(PI) / 2;
    for (int i = 0; i < 5; i++) y -= (erf(y) - x) * sqrt(PI) / 2 * exp(y * y);
    return y;
}

}  // namespace cusim

#define CUSIM_MORE(name, formula)                                                      \
    template <class T> inline typename cusim::Real<T>::type name(T argument)           \
    {                                                                                  \
        const double x = double(argument);                                             \
        return typename cusim::Real<T>::type(formula);                                 \
    }                                                                                  \
    template <class T> inline float name##f(T argument)                                \
    {                                                                                  \
        const double x = double(float(argument));                                      \
        return float(formula);                                                         \
    }
CUSIM_MORE(rsqrt, 1 / sqrt(x))
CUSIM_MORE(rcbrt, 1 / cbrt(x))
CUSIM_MORE(sinpi, cusim::sine_of_pi(x))
CUSIM_MORE(cospi, cusim::cosine_of_pi(x))
CUSIM_MORE(normcdf, 0.5 * erfc(-x * cusim::SQRT_HALF))
CUSIM_MORE(normcdfinv, -cusim::inverse_erfc(2 * x) / cusim::SQRT_HALF)
CUSIM_MORE(erfinv, cusim::inverse_erf(x))
CUSIM_MORE(erfcinv, cusim::inverse_erfc(x))
#undef CUSIM_MORE

#define CUSIM_MORE(type, letters)                                                      \
    inline type rhypot##letters(type x, type y)                                        \
    {                                                                                  \
        return type(1 / hypot(double(x), double(y)));                                  \
    }                                                                                  \
    inline type norm3d##letters(type x, type y, type z)                                \
    {                                                                                  \
        return type(hypot(hypot(double(x), double(y)), double(z)));                    \
    }                                                                                  \
    inline type rnorm3d##letters(type x, type y, type z)                               \
    {                                                                                  \
        return type(1 / hypot(hypot(double(x), double(y)), double(z)));                \
    }                                                                                  \
    inline type norm4d##letters(type x, type y, type z, type w)                        \
    {                                                                                  \
        return type(hypot(hypot(double(x), double(y)), hypot(double(z), double(w))));  \
    }                                                                                  \
    inline void sincospi##letters(type x, type *sine, type *cosine)                    \
    {                                                                                  \
        *sine = type(cusim::sine_of_pi(double(x)));                                    \
        *cosine = type(cusim::cosine_of_pi(double(x)));                                \
    }
CUSIM_MORE(float, f)
CUSIM_MORE(double, )
#undef CUSIM_MORE

#endif
