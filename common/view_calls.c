// SPDX-License-Identifier: MIT
/* view_calls - calls the functions of tensor_view.h with arrays of numbers
 *
 * A command of the grader has only tensors as arguments. So sizes, strides and options
 * of a view go as arrays of int64, and the result comes as one array. The caller is
 * grader/checks/views/. An array of sizes or strides has LONGEST numbers.
 */
#include <string.h>

#include "calls.h"
#include "tensor_view.h"

enum {
    LONGEST = 8,   // axes of a DLTensor: more than a tensor_t may have
    POISON = 0x5a  // bytes that the student's code has not written
};

/* ---- arrays of numbers ----------------------------------------------------------- */

typedef struct {
    int64_t *next;
} numbers_t;

static numbers_t numbers(tensor_t *array)
{
    const numbers_t made = {(int64_t *)array->data};
    return made;
}

static int64_t take(numbers_t *from)
{
    return *from->next++;
}

static void put(numbers_t *to, int64_t number)
{
    *to->next++ = number;
}

/* Copies `count` sizes or strides to `axes`, then moves on by LONGEST numbers. */
static void take_axes(numbers_t *from, int64_t *axes, int32_t count)
{
    memcpy(axes, from->next, (size_t)count * sizeof *axes);
    from->next += LONGEST;
}

static void put_axes(numbers_t *to, const int64_t *axes)
{
    memset(to->next, 0, LONGEST * sizeof *axes);
    memcpy(to->next, axes, TENSOR_MAX_DIMS * sizeof *axes);
    to->next += LONGEST;
}

/* Returns an address without memory: code that reads an element there crashes. */
static void *address(int64_t offset)
{
    return (char *)((uintptr_t)1 << 44) + offset;
}

static int64_t offset_of(const void *data)
{
    return (int64_t)((uintptr_t)data - (uintptr_t)address(0));
}

static tensor_t take_tensor(numbers_t from)
{
    tensor_t made = {.data = address(take(&from))};
    made.dtype = (dtype_t)take(&from);
    made.device = (device_t)take(&from);
    made.ndim = (int32_t)take(&from);
    take_axes(&from, made.size, TENSOR_MAX_DIMS);
    take_axes(&from, made.stride, TENSOR_MAX_DIMS);
    return made;
}

static shape_t take_shape(numbers_t from)
{
    shape_t made = {.ndim = (int32_t)take(&from)};
    take_axes(&from, made.size, TENSOR_MAX_DIMS);
    return made;
}

/* ---- what comes back ------------------------------------------------------------- */

static int same(const tensor_t *a, const tensor_t *b)
{
    return a->data == b->data && a->dtype == b->dtype && a->device == b->device &&
           a->ndim == b->ndim && memcmp(a->size, b->size, sizeof a->size) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

static tensor_t unwritten(void)
{
    tensor_t view;
    memset(&view, POISON, sizeof view);
    return view;
}

/* STATUS_INVALID_ARGUMENT is a valid result of a view: the call itself succeeded. */
static status_t answered(status_t status)
{
    return status == STATUS_INVALID_ARGUMENT ? STATUS_OK : status;
}

static status_t answer(status_t status, int kept, const tensor_t *view, tensor_t *out)
{
    numbers_t to = numbers(out);
    put(&to, status);
    put(&to, kept);
    put(&to, offset_of(view->data));
    put(&to, view->dtype);
    put(&to, view->device);
    put(&to, view->ndim);
    put_axes(&to, view->size);
    put_axes(&to, view->stride);
    return answered(status);
}

/* ---- the functions, each through its own type ------------------------------------ */

static status_t as_strided_call(void *function, ctx_t *ctx, tensor_t *const in[],
                                tensor_t *const out[], const void *options)
{
    (void)ctx, (void)options;
    numbers_t from = numbers(in[0]);
    storage_t storage = {.data = address(take(&from))};
    const dtype_t dtype = (dtype_t)take(&from);
    storage.device = (device_t)take(&from);
    storage.bytes = take(&from);
    from = numbers(in[1]);
    layout_t p = {.offset = take(&from)};
    p.ndim = (int32_t)take(&from);
    take_axes(&from, p.size, TENSOR_MAX_DIMS);
    take_axes(&from, p.stride, TENSOR_MAX_DIMS);
    tensor_t view = unwritten();
    const status_t status =
        ((__typeof__(view_as_strided) *)function)(&storage, dtype, p, &view);
    return answer(status, 1, &view, out[0]);
}

static status_t transpose_call(void *function, ctx_t *ctx, tensor_t *const in[],
                               tensor_t *const out[], const void *options)
{
    (void)ctx, (void)options;
    const tensor_t before = take_tensor(numbers(in[0]));
    tensor_t input = before, view = unwritten();
    numbers_t from = numbers(in[1]);
    const int64_t dim0 = take(&from), dim1 = take(&from);
    const status_t status =
        ((__typeof__(view_transpose) *)function)(&input, dim0, dim1, &view);
    return answer(status, same(&input, &before), &view, out[0]);
}

static status_t slice_call(void *function, ctx_t *ctx, tensor_t *const in[],
                           tensor_t *const out[], const void *options)
{
    (void)ctx, (void)options;
    const tensor_t before = take_tensor(numbers(in[0]));
    tensor_t input = before, view = unwritten();
    numbers_t from = numbers(in[1]);
    const int64_t dim = take(&from);
    slice_params_t p = {.start = take(&from)};
    p.end = take(&from);
    p.step = take(&from);
    const status_t status = ((__typeof__(view_slice) *)function)(&input, dim, p, &view);
    return answer(status, same(&input, &before), &view, out[0]);
}

/* Calls view_expand or view_reshape: both have the same type. */
static status_t shape_call(void *function, ctx_t *ctx, tensor_t *const in[],
                           tensor_t *const out[], const void *options)
{
    (void)ctx, (void)options;
    const tensor_t before = take_tensor(numbers(in[0]));
    tensor_t input = before, view = unwritten();
    const shape_t p = take_shape(numbers(in[1]));
    const status_t status = ((__typeof__(view_expand) *)function)(&input, p, &view);
    return answer(status, same(&input, &before), &view, out[0]);
}

static status_t to_dlpack_call(void *function, ctx_t *ctx, tensor_t *const in[],
                               tensor_t *const out[], const void *options)
{
    (void)ctx, (void)options;
    const tensor_t before = take_tensor(numbers(in[0]));
    tensor_t input = before;
    DLTensor lent;
    memset(&lent, POISON, sizeof lent);
    const status_t status = ((__typeof__(view_to_dlpack) *)function)(&input, &lent);
    numbers_t to = numbers(out[0]);
    put(&to, status);
    put(&to, same(&input, &before));
    put(&to, offset_of(lent.data));
    put(&to, lent.device.device_type);
    put(&to, lent.device.device_id);
    put(&to, lent.ndim);
    put(&to, lent.dtype.code);
    put(&to, lent.dtype.bits);
    put(&to, lent.dtype.lanes);
    put(&to, (int64_t)lent.byte_offset);
    put(&to, lent.shape == input.size);
    put(&to, lent.strides == input.stride);
    return answered(status);
}

static status_t from_dlpack_call(void *function, ctx_t *ctx, tensor_t *const in[],
                                 tensor_t *const out[], const void *options)
{
    (void)ctx, (void)options;
    numbers_t from = numbers(in[0]);
    int64_t shape[LONGEST], strides[LONGEST];
    DLTensor lent = {.data = address(take(&from))};
    lent.device.device_type = (int32_t)take(&from);
    lent.device.device_id = (int32_t)take(&from);
    lent.ndim = (int32_t)take(&from);
    lent.dtype.code = (uint8_t)take(&from);
    lent.dtype.bits = (uint8_t)take(&from);
    lent.dtype.lanes = (uint16_t)take(&from);
    lent.byte_offset = (uint64_t)take(&from);
    const int64_t dense = take(&from);
    take_axes(&from, shape, LONGEST);
    take_axes(&from, strides, LONGEST);
    lent.shape = lent.ndim ? shape : NULL;
    lent.strides = dense ? NULL : strides;
    tensor_t view = unwritten();
    const status_t status = ((__typeof__(view_from_dlpack) *)function)(&lent, &view);
    return answer(status, 1, &view, out[0]);
}

/* ---- by number ------------------------------------------------------------------- */

static status_t nothing_to_check(void *function, ctx_t *ctx, tensor_t *const in[],
                                 tensor_t *const out[], const void *options)
{
    (void)function, (void)ctx, (void)in, (void)out, (void)options;
    return STATUS_OK;
}

#define VIEW(name, call)                                                               \
    {                                                                                  \
        name, call, call, nothing_to_check, nothing_to_check                           \
    }

const operator_calls_t VIEW_CALLS[VIEWS] = {
    VIEW("view_as_strided", as_strided_call),
    VIEW("view_transpose", transpose_call),
    VIEW("view_slice", slice_call),
    VIEW("view_expand", shape_call),
    VIEW("view_reshape", shape_call),
    VIEW("view_to_dlpack", to_dlpack_call),
    VIEW("view_from_dlpack", from_dlpack_call),
};
