/* 01 rows backward
 *
 *   idea    loop over rows as in 00_shifted_rows, but add grad_output to grad_input
 *   expect  no factor: 04_turned_kernel is compared with this file, not with PyTorch
 *   limit   each multiply-add loads and stores a sum, or waits for another addition
 *   run     make bench T=03_im2col_cpu/depthwise_conv2d/01
 *
 * Covers all gradients, for all shapes. Workspace: a copy of non-contiguous tensors.
 */
#include <string.h>
#include "operators.h"

/* The pixels of an input plane that one weight multiplies, without the padding. Output
 * pixel (oh, ow) reads input[at + oh * down + ow * stride_w] for oh0 <= oh < oh1
 * and ow0 <= ow < ow1. */
typedef struct {
    int64_t oh0, oh1, ow0, ow1, at, down;
} tap_t;

/* Finds all outputs o, first <= o < end, with 0 <= o * stride + shift < in. */
static void inside(int64_t shift, int64_t stride, int64_t in, int64_t out,
                   int64_t *first, int64_t *end)
{
    // BEGIN SOLUTION
    *first = shift < 0 ? (-shift + stride - 1) / stride : 0;
    *end = shift < in ? (in - 1 - shift) / stride + 1 : 0;
    if (*end > out) *end = out;
    // END SOLUTION
    // STARTER // as in 00_shifted_rows (the reference takes 3 lines)
    // STARTER *first = *end = 0;  // replace it: now nothing is inside
}

/* Returns the input pixels that element k of a filter multiplies, without padding. */
static tap_t tap_of(int64_t k, int64_t KW, const tensor_t *input,
                    const tensor_t *output, depthwise_conv2d_params_t p)
{
    // BEGIN SOLUTION
    const int64_t IH = input->size[2], IW = input->size[3];
    const int64_t h = k / KW * p.dilation_h - p.padding_h;
    const int64_t w = k % KW * p.dilation_w - p.padding_w;
    tap_t t = {.at = h * IW + w, .down = p.stride_h * IW};
    inside(h, p.stride_h, IH, output->size[2], &t.oh0, &t.oh1);
    inside(w, p.stride_w, IW, output->size[3], &t.ow0, &t.ow1);
    return t;
    // END SOLUTION
    // STARTER // as in 00_shifted_rows (the reference takes 7 lines)
    // STARTER return (tap_t){0};
}

/* Adds weight * grad[i] to grad_input[i * across], for COUNT elements i. */
static void add_row(real *restrict grad_input, const real *restrict grad,
                    int64_t across, real weight, int64_t COUNT)
{
    // BEGIN SOLUTION
    if (across == 1) {
        for (int64_t i = 0; i < COUNT; i++) grad_input[i] += weight * grad[i];
    } else {
        for (int64_t i = 0; i < COUNT; i++) grad_input[i * across] += weight * grad[i];
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
}

/* Returns the sum of grad[i] * input[i * across] over COUNT elements i. */
static accum dot_row(const real *grad, const real *input, int64_t across, int64_t COUNT)
{
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t i = 0; i < COUNT; i++) sum += grad[i] * input[i * across];
    return sum;
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
    // STARTER return 0;
}

static void set_zero(tensor_t *t)
{
    if (t) memset(t->data, 0, (size_t)tensor_numel(t) * sizeof(real));
}

/* For each product pixel * weight of forward, adds grad_output * weight to grad_input,
 * and grad_output * pixel to grad_weight. grad_bias is the sum of grad_output. */
status_t depthwise_conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                   const tensor_t *input, const tensor_t *weight,
                                   depthwise_conv2d_params_t p, tensor_t *grad_input,
                                   tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    set_zero(grad_input), set_zero(grad_weight), set_zero(grad_bias);
    if (tensor_numel(grad_output) == 0) return STATUS_OK;
    const int64_t OC = weight->size[0], M = OC / input->size[1];
    const int64_t KW = weight->size[3], K = weight->size[2] * KW;
    const int64_t PLANE = input->size[2] * input->size[3];
    const int64_t OW = grad_output->size[3], PIXELS = grad_output->size[2] * OW;
    const real *planes = tensor_contiguous(ctx, input), one = 1;
    const real *filters = tensor_contiguous(ctx, weight);
    const real *grad = tensor_contiguous(ctx, grad_output);
    if (!planes || !filters || !grad) return STATUS_NO_MEMORY;
    for (int64_t i = 0; i < grad_output->size[0] * OC; i++, grad += PIXELS) {
        const int64_t oc = i % OC;
        // BEGIN SOLUTION
        if (grad_bias)  // forward multiplies the bias by 1
            *at1(grad_bias, oc) += dot_row(grad, &one, 0, PIXELS);
        for (int64_t k = oc * K; k < (oc + 1) * K; k++) {
            const tap_t t = tap_of(k % K, KW, input, grad_output, p);
            for (int64_t oh = t.oh0; oh < t.oh1; oh++) {
                const real *row = grad + oh * OW + t.ow0;
                const int64_t COUNT = t.ow1 - t.ow0;
                const int64_t at =
                    i / M * PLANE + t.at + oh * t.down + t.ow0 * p.stride_w;
                if (grad_input)
                    add_row(real_data(grad_input) + at, row, p.stride_w, filters[k],
                            COUNT);
                if (grad_weight)
                    real_data(grad_weight)[k] +=
                        dot_row(row, planes + at, p.stride_w, COUNT);
            }
        }
        // END SOLUTION
        // STARTER // add the sum of the plane to grad_bias; for each position, add to
        // STARTER // its rows and to its weight (the reference takes 17 lines)
        // STARTER (void)oc, (void)M, (void)K, (void)PLANE, (void)one;
        // STARTER (void)inside, (void)tap_of, (void)add_row, (void)dot_row;
    }
    return STATUS_OK;
}
