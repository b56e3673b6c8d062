// SPDX-License-Identifier: MIT
/* math.h - what a parser of C needs of math.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_MATH_H
#define CONVLAB_PARSED_MATH_H

#define INFINITY (__builtin_inff())
#define NAN      (__builtin_nanf(""))
// each function for double and for float
#define OF_ONE(name)                                                                   \
    double name(double x);                                                             \
    float name##f(float x)
#define OF_TWO(name)                                                                   \
    double name(double x, double y);                                                   \
    float name##f(float x, float y)

OF_ONE(exp);
OF_ONE(expm1);
OF_ONE(exp2);
OF_ONE(log);
OF_ONE(log1p);
OF_ONE(log2);
OF_ONE(log10);
OF_ONE(sin);
OF_ONE(cos);
OF_ONE(tan);
OF_ONE(asin);
OF_ONE(acos);
OF_ONE(atan);
OF_ONE(sinh);
OF_ONE(cosh);
OF_ONE(tanh);
OF_ONE(erf);
OF_ONE(erfc);
OF_ONE(sqrt);
OF_ONE(cbrt);
OF_ONE(fabs);
OF_ONE(floor);
OF_ONE(ceil);
OF_ONE(round);
OF_ONE(trunc);
OF_ONE(rint);
OF_TWO(pow);
OF_TWO(fmin);
OF_TWO(fmax);
OF_TWO(fmod);
OF_TWO(hypot);
OF_TWO(atan2);
OF_TWO(copysign);
double fma(double x, double y, double z);
float fmaf(float x, float y, float z);

#endif
