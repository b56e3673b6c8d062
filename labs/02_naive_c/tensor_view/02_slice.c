/* 02 slice
 *
 *   idea    one axis gets another start, another step and another end
 *   expect  no speed points: the time does not depend on the tensor's size
 *   limit   a view of one element keeps the whole storage in memory
 *   run     make grade T=02_naive_c/tensor_view/02
 */
#include "tensor_view.h"

// BEGIN SOLUTION
/* Returns an index as in Python: a negative index counts from the end. The result is at
 * least low and at most size. */
static int64_t clamped(int64_t index, int64_t size, int64_t low)
{
    if (index < 0) index += size;
    if (index < low) return low;
    return index > size ? size : index;
}
// END SOLUTION
// STARTER // write helper functions here, if needed (the reference takes 6 lines)

status_t view_slice(const tensor_t *input, int64_t dim, slice_params_t p,
                    tensor_t *view)
{
    // BEGIN SOLUTION
    const int64_t axes = input->ndim;
    if (dim < -axes || dim >= axes || p.step < 1) return STATUS_INVALID_ARGUMENT;
    if (dim < 0) dim += axes;
    const int64_t start = clamped(p.start, input->size[dim], 0);
    const int64_t end = clamped(p.end, input->size[dim], start);
    const int64_t length = end - start, stride = input->stride[dim];

    *view = *input;
    view->data =
        (char *)input->data + start * stride * (int64_t)dtype_bytes(input->dtype);
    view->size[dim] = length / p.step + (length % p.step != 0);  // rounded up
    view->stride[dim] = stride * p.step;
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 12 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
