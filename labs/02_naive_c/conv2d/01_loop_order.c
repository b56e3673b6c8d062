/* 01 loop order
 *
 *   idea    one weight at a time: add weight * input to a whole output plane
 *   expect  2x to 10x the speed of 00_definition; grad_weight gains least: one long sum
 *   limit   each output row is loaded and stored once for each weight
 *   run     make grade T=02_naive_c/conv2d/01
 */
#include "planes.h"

/* The input elements that one weight multiplies, and the outputs that it adds to. */
typedef struct {
    plane_t input, output;
} tap_t;

/* Along axis d, output o reads input element o*stride + i0. Crops tap->output to the
 * outputs that read inside of the image, and tap->input to the elements read. */
static void crop(tap_t *tap, int32_t d, int64_t i0, int64_t stride)
{
    // BEGIN SOLUTION
    plane_t *input = &tap->input, *output = &tap->output;
    int64_t begin = 0, end = output->size[d];
    while (begin < end && begin * stride + i0 < 0) begin++;
    while (begin < end && (end - 1) * stride + i0 >= input->size[d]) end--;
    input->size[d] = output->size[d] = end - begin;
    if (begin == end) return;  // all padding
    output->data += begin * output->stride[d];
    input->data += (begin * stride + i0) * input->stride[d];
    input->stride[d] *= stride;
    // END SOLUTION
    // STARTER // your code: find begin and end first (the reference takes 9 lines)
}

/* Returns the tap of one weight: filter oc, input `channel`, (kh, kw), on image n. */
static tap_t tap_of(const tensor_t *input, const tensor_t *output, conv2d_params_t p,
                    int64_t n, int64_t channel, int64_t oc, int64_t kh, int64_t kw)
{
    tap_t tap = {plane_of(input, n, channel), plane_of(output, n, oc)};
    crop(&tap, 0, kh * p.dilation_h - p.padding_h, p.stride_h);
    crop(&tap, 1, kw * p.dilation_w - p.padding_w, p.stride_w);
    return tap;
}

/* Computes sums += factor * terms, row by row. factor stays in a register. */
static void add_scaled(plane_t sums, real factor, plane_t terms)
{
    // BEGIN SOLUTION
    for (int64_t h = 0; h < sums.size[0]; h++) {
        real *restrict sum = sums.data + h * sums.stride[0];  // overlaps no terms
        const real *restrict term = terms.data + h * terms.stride[0];
        for (int64_t w = 0; w < sums.size[1]; w++) {
            sum[w * sums.stride[1]] += factor * term[w * terms.stride[1]];
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 7 lines)
}

/* Returns the sum of lhs * rhs over all elements of the two planes. */
static real dot(plane_t lhs, plane_t rhs)
{
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t h = 0; h < lhs.size[0]; h++) {
        for (int64_t w = 0; w < lhs.size[1]; w++) {
            sum += lhs.data[h * lhs.stride[0] + w * lhs.stride[1]] *
                   rhs.data[h * rhs.stride[0] + w * rhs.stride[1]];
        }
    }
    return (real)sum;
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER return 0;
}

/* For each weight of filter oc, adds weight * input to plane oc of output[n]. */
static void filter_forward(const tensor_t *input, const tensor_t *weight,
                           conv2d_params_t p, int64_t n, int64_t oc, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t OC = weight->size[0] / p.groups, IC = weight->size[1];  // in a group
    const int64_t KH = weight->size[2], KW = weight->size[3];
    for (int64_t ic = 0; ic < IC; ic++) {
        const int64_t channel = oc / OC * IC + ic;
        for (int64_t kh = 0; kh < KH; kh++) {
            for (int64_t kw = 0; kw < KW; kw++) {
                const tap_t tap = tap_of(input, output, p, n, channel, oc, kh, kw);
                add_scaled(tap.output, *at4(weight, oc, ic, kh, kw), tap.input);
            }
        }
    }
    // END SOLUTION
    // STARTER // your code: a tap for each weight (the reference takes 11 lines)
    // STARTER (void)tap_of, (void)add_scaled;  // delete this line when you call them
}

status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    (void)ctx;
    const int64_t PLANE = output->size[2] * output->size[3];
    for (int64_t n = 0; n < output->size[0]; n++) {
        for (int64_t oc = 0; oc < output->size[1]; oc++) {
            real *plane = at4(output, n, oc, 0, 0);  // outputs are contiguous
            for (int64_t i = 0; i < PLANE; i++) plane[i] = bias ? *at1(bias, oc) : 0;
            filter_forward(input, weight, p, n, oc, output);
        }
    }
    return STATUS_OK;
}

/* For each weight of filter oc, adds weight * grad to grad_input. Adds the dot product
 * of grad and the weight's inputs to grad_weight. grad is grad_output. */
static void filter_backward(const tensor_t *grad, const tensor_t *input,
                            const tensor_t *weight, conv2d_params_t p, int64_t n,
                            int64_t oc, tensor_t *grad_input, tensor_t *grad_weight)
{
    // BEGIN SOLUTION
    const int64_t OC = weight->size[0] / p.groups, IC = weight->size[1];  // in a group
    const int64_t KH = weight->size[2], KW = weight->size[3];
    for (int64_t ic = 0; ic < IC; ic++) {
        const int64_t channel = oc / OC * IC + ic;
        for (int64_t kh = 0; kh < KH; kh++) {
            for (int64_t kw = 0; kw < KW; kw++) {
                if (grad_input) {
                    const tap_t tap =
                        tap_of(grad_input, grad, p, n, channel, oc, kh, kw);
                    add_scaled(tap.input, *at4(weight, oc, ic, kh, kw), tap.output);
                }
                if (grad_weight) {
                    const tap_t tap = tap_of(input, grad, p, n, channel, oc, kh, kw);
                    *at4(grad_weight, oc, ic, kh, kw) += dot(tap.output, tap.input);
                }
            }
        }
    }
    // END SOLUTION
    // STARTER (void)dot;  // write your code here (the reference takes 18 lines)
}

status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    (void)ctx;
    set_zero(grad_input), set_zero(grad_weight), set_zero(grad_bias);
    for (int64_t n = 0; n < grad_output->size[0]; n++) {
        for (int64_t oc = 0; oc < grad_output->size[1]; oc++) {
            if (grad_bias) *at1(grad_bias, oc) += sum_of(plane_of(grad_output, n, oc));
            filter_backward(grad_output, input, weight, p, n, oc, grad_input,
                            grad_weight);
        }
    }
    return STATUS_OK;
}
