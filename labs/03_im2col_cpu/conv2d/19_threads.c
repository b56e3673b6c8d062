/* 19 threads
 *
 *   idea    images, filters and groups are independent: divide them among threads
 *   expect  18_parts times at most the number of cores; 1.1x to 1.9x with two
 *   limit   the last cache and the memory, which all threads share
 *   run     make bench T=03_im2col_cpu/conv2d/19
 *
 * Covers all shapes. For two threads, add THREADS=2 to the command. Each thread needs
 * the workspace of 18_parts. Any number of threads gives the same result, bit for bit.
 */
#include "operators.h"

conv2d_forward_fn chosen_forward;
conv2d_backward_fn chosen_backward;

enum { IMAGES, FILTERS, INPUTS };  // what is divided; INPUTS: input channels
enum { CHANNELS = 16 };    // a thread takes a multiple of this: whole vectors and tiles
enum { SMALL = 1 << 17 };  // multiply-adds: for fewer, a second thread costs more

/* Allocates from the caller's scratch memory, one thread at a time. */
static void *in_turn(ctx_t *ctx, size_t bytes)
{
    void *block;
#pragma omp critical(scratch)
    block = ctx_scratch(ctx->scratch_state, bytes);
    return block;
}

/* Views elements first to end - 1 of t along an axis. If t is NULL, returns NULL. */
static tensor_t *part(tensor_t *view, const tensor_t *t, int32_t axis, int64_t first,
                      int64_t end)
{
    // BEGIN SOLUTION
    if (!t) return NULL;
    *view = *t;
    view->data = real_data(t) + first * t->stride[axis];
    view->size[axis] = end - first;
    return view;
    // END SOLUTION
    // STARTER // the same data, from another start (the reference takes 5 lines)
    // STARTER return t ? view : NULL;
}

typedef struct {
    const tensor_t *grad_output, *input, *weight, *bias;
    tensor_t *output, *grad_input, *grad_weight, *grad_bias;
    conv2d_params_t p;
} call_t;

/* Returns how many filters one thread must take together: CHANNELS or more, in pairs of
 * groups (all if G is odd). For a single group, 17_dispatch may choose another rung. */
static int64_t together(int64_t OC, int64_t G)
{
    // BEGIN SOLUTION
    const int64_t PAIR = G == 1 ? 1 : G % 2 ? OC : 2 * OC / G;
    return (CHANNELS + PAIR - 1) / PAIR * PAIR;
    // END SOLUTION
    // STARTER // whole pairs, CHANNELS or more (the reference takes 2 lines)
    // STARTER return OC * G;
}

/* Calls 18_parts for elements a to b - 1: `by` says whether these are images, filters
 * (with their groups) or input channels. Forward and grad_input divide channels only if
 * there is a single image: otherwise the parts of a tensor would be non-contiguous. */
static status_t some(ctx_t *ctx, call_t c, int by, int64_t a, int64_t b)
{
    tensor_t view[7];
    // BEGIN SOLUTION
    const int64_t G = c.p.groups, IC = c.weight->size[1], OC = c.weight->size[0] / G;
    if (by == FILTERS) {
        if (G > 1) c.input = part(view + 6, c.input, 1, a / OC * IC, b / OC * IC);
        if (G > 1) c.p.groups = (b - a) / OC;
        c.bias = part(view + 1, c.bias, 0, a, b);
        c.grad_weight = part(view + 2, c.grad_weight, 0, a, b);
        c.grad_bias = part(view + 3, c.grad_bias, 0, a, b);
    } else {
        c.input = part(view + 2, c.input, by == INPUTS, a, b);
        c.grad_input = part(view + 3, c.grad_input, by == INPUTS, a, b);
    }
    if (by != IMAGES) c.weight = part(view, c.weight, by == INPUTS, a, b);
    if (by != INPUTS) c.output = part(view + 4, c.output, by == FILTERS, a, b);
    if (by != INPUTS)
        c.grad_output = part(view + 5, c.grad_output, by == FILTERS, a, b);
    // END SOLUTION
    // STARTER // make views of what the part needs (the reference takes 15 lines)
    // STARTER (void)part, (void)view;
    if (c.output) return chosen_forward(ctx, c.input, c.weight, c.bias, c.p, c.output);
    return chosen_backward(ctx, c.grad_output, c.input, c.weight, c.p, c.grad_input,
                           c.grad_weight, c.grad_bias);
}

/* Each thread computes one part of call c. No two threads write to the same element. */
static status_t shared_out(ctx_t *ctx, call_t c, int by)
{
    const int64_t *K = c.weight->size, G = c.p.groups;
    const int64_t COUNT = by == IMAGES ? c.input->size[0] : K[by == INPUTS];
    const int64_t most = by == INPUTS ? CHANNELS : together(COUNT, G);
    const int64_t unit = by == IMAGES ? 1 : most, UNITS = (COUNT + unit - 1) / unit;
    const int64_t OUT = tensor_numel(c.output ? c.output : c.grad_output);
    const int small = OUT * K[1] * K[2] * K[3] < SMALL;
    const int depthwise = by != IMAGES && G > 1 && K[1] == 1;  // has its own threads
    const int64_t T = small || depthwise ? 1 : ctx->threads;
    // BEGIN SOLUTION
    if (ctx->threads == 1 && COUNT > 0) return some(ctx, c, by, 0, COUNT);  // no team
    int worst = STATUS_OK;
#pragma omp parallel for num_threads((int)T) reduction(max : worst)
    for (int64_t t = 0; t < T; t++) {
        ctx_t own = *ctx;
        own.threads = small || !depthwise ? 1 : ctx->threads;
        own.scratch_state = ctx, own.scratch = in_turn;
        const int64_t a = UNITS * t / T * unit, end = UNITS * (t + 1) / T * unit;
        const int64_t b = end < COUNT ? end : COUNT;
        const int status = a < b ? (int)some(&own, c, by, a, b) : STATUS_OK;
        if (status > worst) worst = status;
    }
    return (status_t)worst;
    // END SOLUTION
    // STARTER (void)in_turn, (void)some, (void)unit, (void)UNITS, (void)T;
    // STARTER // make contexts, and parts of whole units (the reference takes 12 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* The threads divide the images or, if there is a single image, the filters. */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    const call_t call = {NULL, input, weight, bias, output, NULL, NULL, NULL, p};
    return shared_out(ctx, call, input->size[0] == 1 ? FILTERS : IMAGES);
    // END SOLUTION
    // STARTER (void)shared_out;
    // STARTER // your code (the reference takes 2 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* For grad_input, the threads divide the images, or the input channels of one image.
 * For grad_weight and grad_bias, the threads divide the filters. */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    // with fewer channels in a part, 17_dispatch might choose another rung
    const int64_t IC = input->size[0] == 1 && p.groups == 1 ? weight->size[1] : 0;
    const int by = IC > CHANNELS && IC % CHANNELS == 0 ? INPUTS : IMAGES;
    call_t call = {grad_output, input, weight, NULL, NULL, grad_input, NULL, NULL, p};
    status_t status = grad_input ? shared_out(ctx, call, by) : STATUS_OK;
    call.grad_input = NULL, call.grad_weight = grad_weight, call.grad_bias = grad_bias;
    if (status != STATUS_OK || (!grad_weight && !grad_bias)) return status;
    return shared_out(ctx, call, FILTERS);
    // END SOLUTION
    // STARTER // your code (the reference takes 7 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
