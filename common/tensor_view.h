// SPDX-License-Identifier: MIT
/* tensor_view.h - views: another tensor_t over the same memory
 *
 * In PyTorch a tensor has two parts: a storage and a layout. The storage owns bytes,
 * and has no axes. The layout has sizes, strides and the position of the first element.
 * A view is a second tensor over the storage of a first tensor. If you write to the
 * view, you also change the elements of the first tensor.
 *
 * The functions of labs/02_naive_c/tensor_view make views. A function computes with
 * sizes, strides and addresses, and never reads or writes an element. `data` may point
 * to memory that the CPU cannot read, for instance to the memory of a GPU.
 *
 * These rules hold for all view functions:
 *   arguments  The order is the tensor or storage, the wanted layout, the result. No
 *              check runs before: each function checks the arguments.
 *   axes       dim counts as in PyTorch: -1 is the last axis, -ndim the first one. As
 *              in torch.transpose, view_transpose accepts the axes 0 and -1 of a tensor
 *              without axes.
 *   result     A function returns STATUS_INVALID_ARGUMENT exactly if PyTorch raises an
 *              error. Then *view may contain anything. Else it returns STATUS_OK. A
 *              starter returns STATUS_NOT_IMPLEMENTED.
 *   *view      A function writes data, ndim, dtype, device, and the first ndim sizes
 *              and strides. dtype and device are as in the viewed tensor.
 *   compared   The grader compares the sizes. If the view has elements, it also
 *              compares the address of the first element. It compares the stride of
 *              each axis with two or more elements. Other strides may be any number.
 *              `data` of an empty view may be any address.
 *   memory     *view and *input are different structs. The functions allocate nothing.
 *
 * All products and sums of sizes, strides and offsets fit into int64_t. Only start and
 * end of a slice may be any number of int64_t: x[3:] has end = INT64_MAX.
 */
#ifndef CONVLAB_TENSOR_VIEW_H
#define CONVLAB_TENSOR_VIEW_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block of memory without axes, like torch.Tensor.untyped_storage(). */
typedef struct {
    void *data;
    int64_t bytes;  // all bytes that may be used
    device_t device;
} storage_t;

/* The sizes that the view must have. */
typedef struct {
    int32_t ndim;  // 0 to TENSOR_MAX_DIMS
    int64_t size[TENSOR_MAX_DIMS];
} shape_t;

/* The offset, sizes and strides that the view must have, in elements. */
typedef struct {
    int64_t offset;  // of the first element, from the beginning of the storage
    int32_t ndim;    // 0 to TENSOR_MAX_DIMS
    int64_t size[TENSOR_MAX_DIMS];
    int64_t stride[TENSOR_MAX_DIMS];
} layout_t;

/* A slice start:end:step has the indices start, start + step, ... below end. */
typedef struct {
    int64_t start, end, step;  // step is 1 or more
} slice_params_t;

/* torch.as_strided(input, size, stride, storage_offset): a view with layout p
 *
 *   shapes     view p.size
 *   refused    a negative offset, size or stride; a view whose last element would end
 *              after storage->bytes */
status_t view_as_strided(const storage_t *storage, dtype_t dtype, layout_t p,
                         tensor_t *view);

/* torch.transpose(input, dim0, dim1): view[.., i, .., j, ..] = input[.., j, .., i, ..]
 *
 *   shapes     view: the sizes of input; the sizes of dim0 and dim1 are exchanged
 *   refused    an axis that input does not have */
status_t view_transpose(const tensor_t *input, int64_t dim0, int64_t dim1,
                        tensor_t *view);

/* input[..., start:end:step, ...]: view[.., i, ..] = input[.., start + i*step, ..]
 *
 *   A negative start or end counts from the end of the axis. Then start is limited to 0
 *   ... size, and end to start ... size, as in Python.
 *   shapes     view: the sizes of input; along dim the number of indices, perhaps 0
 *   refused    an axis that input does not have (each axis, if input has none); a step
 *              below 1 */
status_t view_slice(const tensor_t *input, int64_t dim, slice_params_t p,
                    tensor_t *view);

/* input.expand(size): stretches axes of size 1, without a copy
 *
 *   The axes of input are aligned with the last axes of p.size. An axis of size 1 may
 *   get any size, also 0. The size -1 keeps the size of an axis. New axes are in front.
 *   shapes     view p.size, -1 replaced
 *   refused    fewer axes than input has; a new size for an axis whose size is not 1.
 *              All negative sizes are refused, except -1 for an axis of input. */
status_t view_expand(const tensor_t *input, shape_t p, tensor_t *view);

/* input.view(size): the same elements in the same row-major order, with other axes
 *
 *   One size may be -1: the function computes this size from the other sizes.
 *   shapes     view p.size, -1 replaced; as many elements as input
 *   refused    two sizes of -1; another negative size; another number of elements.
 *              A size of -1 is refused if the product of the other sizes is 0. Sizes
 *              that need a copy are refused. An empty tensor never needs a copy. */
status_t view_reshape(const tensor_t *input, shape_t p, tensor_t *view);

/* ---- DLPack -------------------------------------------------------------------------
 * NumPy, JAX, PyTorch and other libraries share tensors through DLPack's structs,
 * without a copy. Layout and names of the structs are as in the DLPack standard,
 * version 0.8 (https://dmlc.github.io/dlpack/latest/c_api.html)
 */
enum { kDLCPU = 1, kDLCUDA = 2 };                               // DLDevice.device_type
enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4 };  // DLDataType.code

typedef struct {
    int32_t device_type;
    int32_t device_id;  // 0 is the first one
} DLDevice;

typedef struct {
    uint8_t code;    // the kind of number
    uint8_t bits;    // of one number
    uint16_t lanes;  // numbers in an element: 1, more in types of short vectors
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;      // elements; NULL: row-major, contiguous
    uint64_t byte_offset;  // of the first element, from data
} DLTensor;

/* torch.utils.dlpack.to_dlpack(input): describes input to another library
 *
 *   lent->shape and lent->strides point to the arrays in *input. The arrays exist as
 *   long as *input does; the other library must not change them. lent->data points to
 *   the first element. byte_offset is 0, lanes is 1, device_id is 0.
 *   refused    nothing */
status_t view_to_dlpack(const tensor_t *input, DLTensor *lent);

/* torch.from_dlpack(lent): a tensor over memory of another library
 *
 *   shapes     view: ndim and shape of lent
 *   refused    a negative size or stride; more axes than TENSOR_MAX_DIMS; lanes other
 *              than 1. Dtypes and devices that tensor.h does not have are refused.
 *              (PyTorch accepts more.) */
status_t view_from_dlpack(const DLTensor *lent, tensor_t *view);

#ifdef __cplusplus
}
#endif

#endif
