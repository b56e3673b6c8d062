// SPDX-License-Identifier: MIT
/* real.h - types and functions of rungs that are compiled for several dtypes
 *
 * `real` is the type of tensor elements, `accum` the type of sums. The build compiles
 * each rung once per dtype, with -DREAL_F32 (the default), -DREAL_F64, or, in CUDA,
 * -DREAL_F16:
 *
 *     build     real      accum
 *     f32       float     float
 *     f64       double    double
 *     f16       __half    float     11 bits: for storage, never for sums
 *
 * Write a constant as double and cast it to real: (real)0.5. Call real_exp, not exp or
 * expf. A constant with an `f` (0.5f), or expf, makes the double build inexact.
 */
#ifndef CONVLAB_REAL_H
#define CONVLAB_REAL_H

#include <math.h>

#include "context.h"

#if defined(REAL_F64)
typedef double real;
typedef double accum;
#define REAL_DTYPE      DTYPE_F64
#define REAL_MATH(name) name
#elif defined(REAL_F16)
#if !defined(__CUDACC__)
#error "REAL_F16 is a dtype of CUDA rungs: C has no __half"
#endif
#include <cuda_fp16.h>
typedef __half real;
typedef float accum;
#define REAL_DTYPE      DTYPE_F16
#define REAL_MATH(name) name##f
#else
typedef float real;
typedef float accum;
#define REAL_DTYPE      DTYPE_F32
#define REAL_MATH(name) name##f
#endif

/* real_from and accum_from convert between real and accum, in rungs that are also built
 * for f16. In other builds both return x. real_from rounds to nearest even. A cast is
 * an error in programs with __CUDA_NO_HALF_CONVERSIONS__, such as PyTorch. */
#if defined(REAL_F16)
static inline HOST_DEVICE real real_from(accum x)
{
    return __float2half(x);
}
static inline HOST_DEVICE accum accum_from(real x)
{
    return __half2float(x);
}
#else
static inline HOST_DEVICE real real_from(accum x)
{
    return x;
}
static inline HOST_DEVICE accum accum_from(real x)
{
    return x;
}
#endif

// clang-format off
static inline HOST_DEVICE accum real_exp(accum x)   { return REAL_MATH(exp)(x); }
static inline HOST_DEVICE accum real_expm1(accum x) { return REAL_MATH(expm1)(x); }
static inline HOST_DEVICE accum real_tanh(accum x)  { return REAL_MATH(tanh)(x); }
static inline HOST_DEVICE accum real_erf(accum x)   { return REAL_MATH(erf)(x); }
static inline HOST_DEVICE accum real_sqrt(accum x)  { return REAL_MATH(sqrt)(x); }

/* Returns the elements of t, a tensor of dtype REAL_DTYPE. */
static inline HOST_DEVICE real *real_data(const tensor_t *t) { return (real *)t->data; }

/* at1 to at5 return a pointer to the element of t at an index. Do not write to an
 * input: the grader maps the memory of inputs read-only. */
static inline HOST_DEVICE real *at1(const tensor_t *t, int64_t i)
{
    return real_data(t) + i * t->stride[0];
}
static inline HOST_DEVICE real *at2(const tensor_t *t, int64_t i, int64_t j)
{
    return real_data(t) + i * t->stride[0] + j * t->stride[1];
}
static inline HOST_DEVICE real *at3(const tensor_t *t, int64_t i, int64_t j, int64_t k)
{
    return real_data(t) + i * t->stride[0] + j * t->stride[1] + k * t->stride[2];
}
static inline HOST_DEVICE real *at4(const tensor_t *t, int64_t i, int64_t j, int64_t k,
                                    int64_t l)
{
    return real_data(t) + i * t->stride[0] + j * t->stride[1] + k * t->stride[2]
           + l * t->stride[3];
}
static inline HOST_DEVICE real *at5(const tensor_t *t, int64_t i, int64_t j, int64_t k,
                                    int64_t l, int64_t m)
{
    return real_data(t) + i * t->stride[0] + j * t->stride[1] + k * t->stride[2]
           + l * t->stride[3] + m * t->stride[4];
}
// clang-format on

#if !defined(__CUDACC__)  // launch.h has a version for GPU memory
/* Returns the elements of t as a contiguous array: t->data if t is contiguous, else a
 * copy in scratch memory. Returns NULL if there is no memory for the copy. Only call it
 * if t has elements, because t->data of an empty tensor may be NULL. */
static inline const real *tensor_contiguous(ctx_t *ctx, const tensor_t *t)
{
    if (tensor_is_contiguous(t)) return real_data(t);
    const int64_t COUNT = tensor_numel(t);
    real *copy = (real *)ctx_scratch(ctx, (size_t)COUNT * sizeof(real));
    if (!copy) return NULL;
    int32_t axes = t->ndim - 1;  // the outer axes; the inner ones have one stride
    const int64_t step = t->stride[axes];
    int64_t RUN = t->size[axes];
    while (axes > 0 && t->stride[axes - 1] == RUN * step) RUN *= t->size[--axes];
    for (int64_t at = 0; at < COUNT; at += RUN) {
        const real *from = real_data(t) + tensor_offset(t, axes, at / RUN);
        for (int64_t i = 0; i < RUN; i++) copy[at + i] = from[i * step];
    }
    return copy;
}
#endif

#endif
