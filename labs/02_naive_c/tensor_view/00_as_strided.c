/* 00 as strided
 *
 *   idea    a tensor is an address, sizes and strides: fill the struct
 *   expect  no speed points: the time does not depend on the tensor's size
 *   limit   the whole view must be inside of the storage
 *   run     make grade T=02_naive_c/tensor_view/00
 */
#include "tensor_view.h"

status_t view_as_strided(const storage_t *storage, dtype_t dtype, layout_t p,
                         tensor_t *view)
{
    // BEGIN SOLUTION
    if (p.offset < 0) return STATUS_INVALID_ARGUMENT;
    int64_t count = 1, last = p.offset;  // offset of the last element
    for (int32_t d = 0; d < p.ndim; d++) {
        if (p.size[d] < 0 || p.stride[d] < 0) return STATUS_INVALID_ARGUMENT;
        count *= p.size[d];
        last += (p.size[d] - 1) * p.stride[d];
    }
    const int64_t bytes = (int64_t)dtype_bytes(dtype);
    if (count > 0 && (last + 1) * bytes > storage->bytes) {
        return STATUS_INVALID_ARGUMENT;
    }
    view->data = (char *)storage->data + p.offset * bytes;
    view->ndim = p.ndim;
    view->dtype = dtype;
    view->device = storage->device;
    for (int32_t d = 0; d < p.ndim; d++) {
        view->size[d] = p.size[d];
        view->stride[d] = p.stride[d];
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 20 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
