// SPDX-License-Identifier: MIT
/* tensor_view.h - views: another tensor_t over the same memory
 *
 * PyTorch keeps a tensor in two parts. A storage owns bytes and knows nothing of axes.
 * A tensor says where in these bytes its first element lies, and with which sizes and
 * strides the others follow. A view is a second tensor over the storage of a first
 * tensor. What you write through one of them, the other reads.
 *
 * The functions of labs/02_naive_c/tensor_view make views. They compute with sizes,
 * strides and addresses; they never read or write an element. `data` may point to
 * memory that the CPU cannot read, for instance to the memory of a GPU.
 *
 * What holds for all of them:
 *   arguments  the tensor or storage that is viewed, then the wanted layout, the result
 *              last. Nobody has checked the arguments before: these functions do it.
 *   axes       dim counts as in PyTorch: -1 is the last axis, -ndim the first one. A
 *              tensor of no axes takes 0 and -1 where an axis does not matter, as in
 *              torch.transpose.
 *   result     STATUS_OK, or STATUS_INVALID_ARGUMENT exactly where PyTorch raises an
 *              error; then *view may hold anything. A starter says
 *              STATUS_NOT_IMPLEMENTED.
 *   *view      data, ndim, dtype, device, and the first ndim sizes and strides are
 *              written. dtype and device are the same as in the viewed tensor.
 *   compared   sizes. If the view has elements, also the address of the first one. The
 *              stride of an axis counts only if a view with elements has two or more
 *              along it. Every other stride is only multiplied by 0: it may hold any
 *              number. So may `data` of an empty view.
 *   memory     *view is another struct than *input. Nothing is allocated.
 *
 * No product or sum of the numbers below leaves int64_t. Only start and end of a slice
 * may be as small and as large as int64_t allows: x[3:] has end = INT64_MAX.
 */
#ifndef CONVLAB_TENSOR_VIEW_H
#define CONVLAB_TENSOR_VIEW_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that somebody owns: what torch.Tensor.untyped_storage() is. */
typedef struct {
    void *data;
    int64_t bytes;  // all that may be touched
    device_t device;
} storage_t;

/* The wanted sizes. */
typedef struct {
    int32_t ndim;  // 0 to TENSOR_MAX_DIMS
    int64_t size[TENSOR_MAX_DIMS];
} shape_t;

/* The wanted offset, sizes and strides, in elements. */
typedef struct {
    int64_t offset;  // of the first element, from the beginning of the storage
    int32_t ndim;    // 0 to TENSOR_MAX_DIMS
    int64_t size[TENSOR_MAX_DIMS];
    int64_t stride[TENSOR_MAX_DIMS];
} layout_t;

/* The indices start, start + step, ... below end. */
typedef struct {
    int64_t start, end, step;  // step is 1 or more
} slice_params_t;

/* torch.as_strided(input, size, stride, storage_offset): the view that has this layout
 *
 *   shapes     view p.size
 *   refused    a negative offset, size or stride; a view with elements if the last of
 *              them would end behind storage->bytes */
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
 *   A negative start or end counts from the end of the axis. Then start is moved into
 *   0 to size, and end into start to size, as in Python.
 *   shapes     view: input's, along dim as many as there are indices, perhaps 0
 *   refused    an axis that input does not have (a tensor of no axes has none); a step
 *              below 1 */
status_t view_slice(const tensor_t *input, int64_t dim, slice_params_t p,
                    tensor_t *view);

/* input.expand(size): the same elements, read again along axes that are stretched
 *
 *   The axes of input are aligned with the last ones of p.size. An axis of size 1 takes
 *   any size, 0 too; -1 leaves an axis of input as it is. Axes in front are new ones.
 *   shapes     view p.size, -1 replaced
 *   refused    fewer axes than input has. Another size where input's is not 1. A
 *              negative size, except -1 for an axis of input. */
status_t view_expand(const tensor_t *input, shape_t p, tensor_t *view);

/* input.view(size): the same elements in the same row-major order, counted otherwise
 *
 *   One size may be -1: it is what the other sizes leave.
 *   shapes     view p.size, -1 replaced; as many elements as input
 *   refused    two sizes of -1; another negative size; another number of elements. -1
 *              if the product of the other sizes is 0. Sizes that would need a copy. A
 *              tensor without elements needs none: it takes every such shape. */
status_t view_reshape(const tensor_t *input, shape_t p, tensor_t *view);

/* ---- DLPack -------------------------------------------------------------------------
 * Structs by which libraries share tensors without a copy. NumPy, JAX and PyTorch have
 * them. Layout and names are as in the DLPack standard, version 0.8
 * (https://dmlc.github.io/dlpack/latest/c_api.html).
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

/* torch.utils.dlpack.to_dlpack(input): input, for another library
 *
 *   lent->shape and lent->strides point to input's own arrays. These live as long as
 *   input does; the other library must not change them. lent->data points to the first
 *   element. byte_offset is 0, lanes is 1, the device is the first of its kind.
 *   refused    nothing */
status_t view_to_dlpack(const tensor_t *input, DLTensor *lent);

/* torch.from_dlpack(lent): a tensor over memory of another library
 *
 *   shapes     view: ndim and shape of lent
 *   refused    a negative size or stride; more axes than TENSOR_MAX_DIMS; lanes other
 *              than 1. A dtype or device that tensor.h does not have: PyTorch takes
 *              more of them. */
status_t view_from_dlpack(const DLTensor *lent, tensor_t *view);

#ifdef __cplusplus
}
#endif

#endif
