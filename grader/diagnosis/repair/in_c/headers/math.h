// SPDX-License-Identifier: MIT
/* math.h - what a parser of C needs of math.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_MATH_H
#define CONVLAB_PARSED_MATH_H

#define INFINITY (__builtin_inff())
#define NAN      (__builtin_nanf(""))
double exp(double x);
double expm1(double x);
double exp2(double x);
double log(double x);
double log1p(double x);
double log2(double x);
double log10(double x);
double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double sinh(double x);
double cosh(double x);
double tanh(double x);
double erf(double x);
double erfc(double x);
double sqrt(double x);
double cbrt(double x);
double fabs(double x);
double floor(double x);
double ceil(double x);
double round(double x);
double trunc(double x);
double rint(double x);
double pow(double x, double y);
double fmin(double x, double y);
double fmax(double x, double y);
double fmod(double x, double y);
double hypot(double x, double y);
double atan2(double x, double y);
double copysign(double x, double y);
double fma(double x, double y, double z);
float expf(float x);
float expm1f(float x);
float exp2f(float x);
float logf(float x);
float log1pf(float x);
float log2f(float x);
float log10f(float x);
float sinf(float x);
float cosf(float x);
float tanf(float x);
float asinf(float x);
float acosf(float x);
float atanf(float x);
float sinhf(float x);
float coshf(float x);
float tanhf(float x);
float erff(float x);
float erfcf(float x);
float sqrtf(float x);
float cbrtf(float x);
float fabsf(float x);
float floorf(float x);
float ceilf(float x);
float roundf(float x);
float truncf(float x);
float rintf(float x);
float powf(float x, float y);
float fminf(float x, float y);
float fmaxf(float x, float y);
float fmodf(float x, float y);
float hypotf(float x, float y);
float atan2f(float x, float y);
float copysignf(float x, float y);
float fmaf(float x, float y, float z);

#endif
