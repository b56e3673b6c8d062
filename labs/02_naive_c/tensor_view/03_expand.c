/* 03 expand
 *
 *   idea    broadcasting: an axis with stride 0 reads one element again and again
 *   expect  no speed points: a million rows take as long as one row
 *   limit   several indices share one element, so do not write to such a view
 *   run     make grade T=02_naive_c/tensor_view/03
 */
#include "tensor_view.h"

status_t view_expand(const tensor_t *input, shape_t p, tensor_t *view)
{
    // BEGIN SOLUTION
    const int32_t front = p.ndim - input->ndim;  // axes that input lacks
    if (front < 0) return STATUS_INVALID_ARGUMENT;
    tensor_t made = *input;
    made.ndim = p.ndim;
    for (int32_t d = 0; d < p.ndim; d++) {
        const int64_t old = d < front ? 1 : input->size[d - front];
        int64_t size = p.size[d];
        if (size == -1 && d >= front) size = old;
        if (size < 0 || (size != old && old != 1)) return STATUS_INVALID_ARGUMENT;
        made.size[d] = size;
        made.stride[d] = size == old && d >= front ? input->stride[d - front] : 0;
    }
    *view = made;
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 14 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
