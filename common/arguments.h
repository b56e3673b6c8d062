// SPDX-License-Identifier: MIT
/* arguments.h - functions that check one argument and write an error message
 *
 * An arguments_t describes one call of an operator. Each function below checks one
 * argument. If the argument is wrong, the function sets args->status and writes an
 * error message to ctx->error. After an error, all later checks return at once, and
 * size() returns 1. So check.c needs no `if` after each check.
 *
 * Only check.c includes this file: the two files are compiled into one object file.
 */
#ifndef CONVLAB_ARGUMENTS_H
#define CONVLAB_ARGUMENTS_H

#include "operators.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 16 };  // of one call; lltm_backward has 12

/* Limits: with larger sizes or options, int64_t arithmetic could overflow. */
static const int64_t MAX_ELEMENTS = (int64_t)1 << 40;  // last minus first element
static const int64_t MAX_OPTION = (int64_t)1 << 20;

typedef enum { REAL, ACCUM, I32, I64 } kind_t;  // dtypes in operators.h; REAL is `real`

typedef struct {
    int32_t ndim;
    int64_t size[TENSOR_MAX_DIMS];
} shape_t;

typedef struct {
    char chars[136];  // six numbers of 20 digits, separators, end
} text_t;

typedef struct {
    ctx_t *ctx;
    const char *op;   // the operator's name, the first word of a message
    status_t status;  // STATUS_OK until an argument is wrong
    dtype_t real;     // the dtype of the first tensor of the call
    int32_t count;    // the number of tensors so far
    const char *name[MAX_TENSORS];
    const tensor_t *tensor[MAX_TENSORS];
} arguments_t;

/* ---- words ----------------------------------------------------------------------- */

/* Writes an error message to ctx->error, but only for the first wrong argument. */
static void fail(arguments_t *args, const char *format, ...)
{
    if (args->status != STATUS_OK) return;
    char *error = args->ctx->error;
    const size_t used = (size_t)snprintf(error, CTX_ERROR_BYTES, "%s: ", args->op);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error + used, CTX_ERROR_BYTES - used, format, arguments);
    va_end(arguments);
    args->status = STATUS_INVALID_ARGUMENT;
}

static text_t list_text(const int64_t *number, int32_t count)
{
    text_t text = {"("};
    size_t used = 1;
    for (int32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text.chars + used, sizeof text.chars - used,
                                 i ? ", %lld" : "%lld", (long long)number[i]);
    }
    snprintf(text.chars + used, sizeof text.chars - used, ")");
    return text;
}

static const char *dtype_name(dtype_t dtype)
{
    switch (dtype) {
    case DTYPE_F16: return "f16";
    case DTYPE_BF16: return "bf16";
    case DTYPE_F32: return "f32";
    case DTYPE_F64: return "f64";
    case DTYPE_I32: return "i32";
    case DTYPE_I64: return "i64";
    }
    return "of no known dtype";
}

static const char *device_name(device_t device)
{
    switch (device) {
    case DEVICE_CPU: return "cpu";
    case DEVICE_CUDA: return "cuda";
    }
    return "no known device";
}

/* ---- shapes ---------------------------------------------------------------------- */

/* Returns t->size[axis]. A negative axis counts from the end. After an error, size
 * returns 1. The type is long long, because printf's %lld prints a long long. */
static long long size(const arguments_t *args, const tensor_t *t, int32_t axis)
{
    if (args->status != STATUS_OK) return 1;
    return t->size[axis < 0 ? t->ndim + axis : axis];
}

/* Returns the shape of t without the last `less` axes; after an error, no axes. */
static shape_t leading(const arguments_t *args, const tensor_t *t, int32_t less)
{
    shape_t shape = {0, {0}};
    if (args->status != STATUS_OK) return shape;
    shape.ndim = t->ndim - less;
    memcpy(shape.size, t->size, sizeof shape.size);
    return shape;
}

static shape_t shape_of(const arguments_t *args, const tensor_t *t)
{
    return leading(args, t, 0);
}

static shape_t append(shape_t shape, int64_t size)
{
    shape.size[shape.ndim++] = size;
    return shape;
}

static shape_t shape1(int64_t i)
{
    const shape_t shape = {1, {i}};
    return shape;
}

static shape_t shape2(int64_t i, int64_t j)
{
    return append(shape1(i), j);
}

static shape_t shape3(int64_t i, int64_t j, int64_t k)
{
    return append(shape2(i, j), k);
}

/* Returns a * b, or MAX_ELEMENTS + 1 if the product is larger than MAX_ELEMENTS. */
static int64_t times(int64_t a, int64_t b)
{
    return b == 0 || a <= MAX_ELEMENTS / b ? a * b : MAX_ELEMENTS + 1;
}

static text_t shape_text(shape_t shape)
{
    return list_text(shape.size, shape.ndim);
}

static text_t size_text(const tensor_t *t)
{
    return list_text(t->size, t->ndim);
}

static void has_shape(arguments_t *args, const char *name, const tensor_t *t,
                      shape_t shape)
{
    if (args->status != STATUS_OK) return;
    bool same = t->ndim == shape.ndim;
    for (int32_t d = 0; same && d < t->ndim; d++) same = t->size[d] == shape.size[d];
    if (same) return;
    fail(args, "'%s' must be %s for these arguments, got %s", name,
         shape_text(shape).chars, size_text(t).chars);
}

/* Requires that each axis of t from axis `first` on has at least one element. */
static void has_elements(arguments_t *args, const char *name, const tensor_t *t,
                         int32_t first)
{
    if (args->status != STATUS_OK) return;
    for (int32_t d = first; d < t->ndim; d++) {
        if (t->size[d] > 0) continue;
        fail(args, "'%s' %s is empty along axis %d, expected at least 1", name,
             size_text(t).chars, (int)d);
    }
}

/* ---- tensors --------------------------------------------------------------------- */

static arguments_t arguments_of(const char *op, ctx_t *ctx)
{
    arguments_t args;
    memset(&args, 0, sizeof args);
    args.op = op;
    args.ctx = ctx;
    if (!ctx) {
        args.status = STATUS_INVALID_ARGUMENT;  // there is no ctx->error to write to
        return args;
    }
    ctx->error[0] = '\0';
    if (ctx->threads < 1) {
        fail(&args, "ctx->threads is %d, expected at least 1", (int)ctx->threads);
    }
    if (ctx->device != DEVICE_CPU && ctx->device != DEVICE_CUDA) {
        fail(&args, "ctx->device is %d, expected DEVICE_CPU (%d) or DEVICE_CUDA (%d)",
             (int)ctx->device, (int)DEVICE_CPU, (int)DEVICE_CUDA);
    }
    return args;
}

/* Returns the offset of t's last element, or -1 if it is above MAX_ELEMENTS. */
static int64_t reach(const tensor_t *t)
{
    int64_t count = 1, distance = 0;
    for (int32_t d = 0; d < t->ndim; d++) {
        if (t->size[d] < 2) continue;
        const int64_t steps = t->size[d] - 1;
        if (steps >= MAX_ELEMENTS / count) return -1;
        if (t->stride[d] > (MAX_ELEMENTS - distance) / steps) return -1;
        count *= t->size[d];
        distance += steps * t->stride[d];
    }
    return distance;
}

static void has_sound_layout(arguments_t *args, const char *name, const tensor_t *t)
{
    for (int32_t d = 0; d < t->ndim; d++) {
        if (t->size[d] < 0) {
            fail(args, "'%s' has size %lld along axis %d, expected at least 0", name,
                 (long long)t->size[d], (int)d);
        }
        if (t->stride[d] < 0) {
            fail(args, "'%s' has stride %lld along axis %d, expected at least 0", name,
                 (long long)t->stride[d], (int)d);
        }
    }
    if (args->status != STATUS_OK) return;
    if (reach(t) < 0) {
        fail(args, "'%s' is larger than any memory (were size and stride filled?)",
             name);
    } else if (tensor_numel(t) > 0 && !t->data) {
        fail(args, "'%s' %s has no data (NULL)", name, size_text(t).chars);
    } else if (tensor_numel(t) > 0 && (uintptr_t)t->data % dtype_bytes(t->dtype) != 0) {
        fail(args, "'%s' is not aligned to its elements of %d bytes", name,
             (int)dtype_bytes(t->dtype));
    }
}

static void has_dtype(arguments_t *args, const char *name, const tensor_t *t,
                      kind_t kind)
{
    dtype_t expected = args->real;
    if (kind == ACCUM && expected != DTYPE_F64) expected = DTYPE_F32;
    if (kind == I32) expected = DTYPE_I32;
    if (kind == I64) expected = DTYPE_I64;
    if (args->count == 0) {
        const bool known = dtype_bytes(t->dtype) != 0;
        if (known && t->dtype != DTYPE_I32 && t->dtype != DTYPE_I64) return;
        fail(args, "'%s' is %s, expected f16, bf16, f32 or f64", name,
             dtype_name(t->dtype));
    } else if (t->dtype != expected && kind == REAL) {
        fail(args, "'%s' is %s, '%s' is %s, expected the same dtype", name,
             dtype_name(t->dtype), args->name[0], dtype_name(expected));
    } else if (t->dtype != expected) {
        fail(args, "'%s' is %s, expected %s", name, dtype_name(t->dtype),
             dtype_name(expected));
    }
}

/* Checks one tensor t: not NULL, number of axes, device, dtype, sizes, strides. */
static void admit(arguments_t *args, const char *name, const tensor_t *t, kind_t kind)
{
    if (args->status != STATUS_OK) return;
    if (!t) {
        fail(args, "'%s' is NULL, but it is not optional", name);
    } else if (t->ndim < 0 || t->ndim > TENSOR_MAX_DIMS) {
        fail(args, "'%s' has %d axes, expected 0 to %d", name, (int)t->ndim,
             (int)TENSOR_MAX_DIMS);
    } else if (t->device != args->ctx->device) {
        fail(args, "'%s' is on %s, the context on %s, expected one device", name,
             device_name(t->device), device_name(args->ctx->device));
    } else {
        has_dtype(args, name, t, kind);
        has_sound_layout(args, name, t);
        if (args->count == 0) args->real = t->dtype;
        args->name[args->count] = name;
        args->tensor[args->count++] = t;
    }
}

/* Returns whether the memory ranges of a and b overlap, from first to last byte. */
static bool overlap(const tensor_t *a, const tensor_t *b)
{
    if (tensor_numel(a) == 0 || tensor_numel(b) == 0) return false;
    const uintptr_t a0 = (uintptr_t)a->data, b0 = (uintptr_t)b->data;
    const uintptr_t a1 = a0 + (uintptr_t)(reach(a) + 1) * dtype_bytes(a->dtype);
    const uintptr_t b1 = b0 + (uintptr_t)(reach(b) + 1) * dtype_bytes(b->dtype);
    return a0 < b1 && b0 < a1;
}

/* Requires that the last tensor is contiguous and overlaps no earlier tensor. */
static void is_writable(arguments_t *args)
{
    if (args->status != STATUS_OK) return;
    const int32_t last = args->count - 1;
    const tensor_t *t = args->tensor[last];
    if (!tensor_is_contiguous(t)) {
        fail(args, "'%s' %s must be contiguous, its strides are %s", args->name[last],
             size_text(t).chars, list_text(t->stride, t->ndim).chars);
    }
    for (int32_t i = 0; i < last; i++) {
        if (!overlap(args->tensor[i], t)) continue;
        fail(args, "'%s' overlaps '%s', expected its own memory", args->name[last],
             args->name[i]);
    }
}

/* Checks input t. `text` gives the axes: two for "(N, IC)", any number for "(...)". */
static void takes(arguments_t *args, const char *name, const tensor_t *t,
                  const char *text)
{
    const bool more = strncmp(text, "(...", 4) == 0;
    int32_t axes = more ? 0 : 1;
    for (const char *c = text; *c; c++) axes += *c == ',';
    admit(args, name, t, REAL);
    if (args->status != STATUS_OK) return;
    if (t->ndim == axes || (more && t->ndim > axes)) return;
    fail(args, "'%s' must be %s, got %s", name, text, size_text(t).chars);
}

static void takes_shape(arguments_t *args, const char *name, const tensor_t *t,
                        kind_t kind, shape_t shape)
{
    admit(args, name, t, kind);
    has_shape(args, name, t, shape);
}

static void gives(arguments_t *args, const char *name, const tensor_t *t,
                  const char *text)
{
    takes(args, name, t, text);
    is_writable(args);
}

static void gives_shape(arguments_t *args, const char *name, const tensor_t *t,
                        kind_t kind, shape_t shape)
{
    takes_shape(args, name, t, kind, shape);
    is_writable(args);
}

/* Checks a gradient against `shape`. t is NULL if the caller does not want it. */
static void gradient(arguments_t *args, const char *name, const tensor_t *t,
                     shape_t shape)
{
    if (t) gives_shape(args, name, t, REAL, shape);
}

/* ---- options --------------------------------------------------------------------- */

/* Requires least <= value <= MAX_OPTION. The option is name + axis: "stride" "_h". */
static void option(arguments_t *args, const char *name, const char *axis,
                   long long value, long long least)
{
    if (value < least) {
        fail(args, "%s%s is %lld, expected at least %lld%s", name, axis, value, least,
             value == 0 ? " (was the options struct filled?)" : "");
    } else if (value > MAX_OPTION) {
        fail(args, "%s%s is %lld, expected at most %lld", name, axis, value,
             (long long)MAX_OPTION);
    }
}

#endif
