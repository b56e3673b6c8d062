/* 04 reshape
 *
 *   idea    axes without a gap between them form one run; split each run into new axes
 *   expect  no speed points: the file copies nothing, or refuses the shape
 *   limit   the file refuses a new axis that spans two runs: it would need a copy
 *   run     make grade T=02_naive_c/tensor_view/04
 */
#include "tensor_view.h"

// BEGIN SOLUTION
/* Replaces a size of -1 in *p, to get `count` elements. Returns 0 if no size fits. */
static int infer(int64_t count, shape_t *p)
{
    int64_t others = 1;
    int32_t open = -1;  // the axis of size -1
    for (int32_t d = 0; d < p->ndim; d++) {
        const int64_t size = p->size[d];
        if (size < -1 || (size == -1 && open >= 0)) return 0;
        if (size == -1) open = d;
        others *= size == -1 ? 1 : size;
    }
    if (open < 0) return others == count;
    if (others == 0 || count % others != 0) return 0;
    p->size[open] = count / others;
    return 1;
}

/* Returns the number of elements of the run that ends with axis *d. One stride leads
 * from each element of a run to the next. Sets *d to the first axis of the run. */
static int64_t run_of(const tensor_t *input, int32_t *d)
{
    const int64_t step = input->stride[*d];
    int64_t run = input->size[*d];
    while (*d > 0 &&
           (input->size[*d - 1] == 1 || input->stride[*d - 1] == run * step)) {
        run *= input->size[--*d];
    }
    return run;
}
// END SOLUTION
// STARTER // write helper functions here, if needed (the reference takes 25 lines)

status_t view_reshape(const tensor_t *input, shape_t p, tensor_t *view)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(input);
    if (!infer(COUNT, &p)) return STATUS_INVALID_ARGUMENT;
    tensor_t made = *input;
    made.ndim = p.ndim;
    for (int32_t d = 0; d < p.ndim; d++) {
        made.size[d] = p.size[d];
        made.stride[d] = 0;  // of an empty tensor, and of axes in front of all runs
    }
    int32_t to = p.ndim - 1;  // the next new axis; all later ones are done
    const int32_t AXES = COUNT > 0 ? input->ndim : 0;  // an empty tensor has no runs
    for (int32_t d = AXES - 1; d >= 0; d--) {
        const int64_t step = input->stride[d];
        if (input->size[d] == 1) continue;
        const int64_t run = run_of(input, &d);
        int64_t cut = 1;  // elements of the run that new axes have taken
        for (; to >= 0 && (cut < run || p.size[to] == 1); to--) {
            made.stride[to] = cut * step;
            cut *= p.size[to];
        }
        if (cut != run) return STATUS_INVALID_ARGUMENT;
    }
    *view = made;
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 23 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
