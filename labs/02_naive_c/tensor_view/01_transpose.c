/* 01 transpose
 *
 *   idea    exchange two sizes and their strides; no element is copied
 *   expect  no speed points: the time does not depend on the tensor's size
 *   limit   a loop over a row of the view steps by the stride of the other axis
 *   run     make grade T=02_naive_c/tensor_view/01
 */
#include "tensor_view.h"

status_t view_transpose(const tensor_t *input, int64_t dim0, int64_t dim1,
                        tensor_t *view)
{
    // BEGIN SOLUTION
    const int64_t axes = input->ndim > 0 ? input->ndim : 1;  // ndim 0: 0 or -1 is valid
    if (dim0 < -axes || dim0 >= axes) return STATUS_INVALID_ARGUMENT;
    if (dim1 < -axes || dim1 >= axes) return STATUS_INVALID_ARGUMENT;
    if (dim0 < 0) dim0 += axes;
    if (dim1 < 0) dim1 += axes;

    *view = *input;
    if (input->ndim == 0) return STATUS_OK;
    view->size[dim0] = input->size[dim1];
    view->stride[dim0] = input->stride[dim1];
    view->size[dim1] = input->size[dim0];
    view->stride[dim1] = input->stride[dim0];
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 12 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
