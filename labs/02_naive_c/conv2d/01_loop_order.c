/* 01 loop order
 *
 *   idea    one weight at a time, swept over the whole plane it touches, row by row
 *   expect  10x over 00_definition; less for grad_weight, whose sums are chains
 *   limit   an output row is loaded and stored once for each weight
 *   run     make grade T=02_naive_c/conv2d/01
 */
#include "operators.h"

// BEGIN SOLUTION
/* What one weight joins: views of equal size of an input plane and an output plane. */
typedef struct {
    tensor_t input, output;
} tap_t;

static tensor_t plane_of(const tensor_t *t, int64_t n, int64_t channel)
{
    return (tensor_t){.data = at4(t, n, channel, 0, 0),
                      .size = {t->size[2], t->size[3]},
                      .stride = {t->stride[2], t->stride[3]}};
}

/* Output o reads input o*stride + i0 along axis d. Keeps the outputs [begin, end) that
 * read inside, so that the sums below meet no border. */
static void crop(tap_t *tap, int32_t d, int64_t i0, int64_t stride)
{
    tensor_t *input = &tap->input, *output = &tap->output;
    int64_t begin = 0, end = output->size[d];
    while (begin < end && begin * stride + i0 < 0) begin++;
    while (begin < end && (end - 1) * stride + i0 >= input->size[d]) end--;

    input->size[d] = output->size[d] = end - begin;
    if (begin == end) return;  // all padding
    output->data = real_data(output) + begin * output->stride[d];
    input->data = real_data(input) + (begin * stride + i0) * input->stride[d];
    input->stride[d] *= stride;
}

/* What weight i = (oc, ic, kh, kw) joins on image n. */
static tap_t tap_of(const tensor_t *input, const tensor_t *output,
                    const tensor_t *weight, conv2d_params_t p, int64_t n, int64_t i)
{
    const int64_t OC = weight->size[0] / p.groups, IC = weight->size[1];  // in a group
    const int64_t KH = weight->size[2], KW = weight->size[3];
    const int64_t kw = i % KW, kh = i / KW % KH;
    const int64_t ic = i / (KH * KW) % IC, oc = i / (KH * KW * IC);

    tap_t tap = {plane_of(input, n, oc / OC * IC + ic), plane_of(output, n, oc)};
    crop(&tap, 0, kh * p.dilation_h - p.padding_h, p.stride_h);
    crop(&tap, 1, kw * p.dilation_w - p.padding_w, p.stride_w);
    return tap;
}

/* sums += factor * terms: factor stays in a register, the rest runs along rows. */
static void add_scaled(tensor_t sums, real factor, tensor_t terms)
{
    for (int64_t h = 0; h < sums.size[0]; h++) {
        real *restrict sum = at2(&sums, h, 0);  // sums never overlap terms
        const real *restrict term = at2(&terms, h, 0);
        for (int64_t w = 0; w < sums.size[1]; w++) {
            sum[w * sums.stride[1]] += factor * term[w * terms.stride[1]];
        }
    }
}

static real dot(tensor_t lhs, tensor_t rhs)
{
    accum sum = 0;
    for (int64_t h = 0; h < lhs.size[0]; h++) {
        for (int64_t w = 0; w < lhs.size[1]; w++) {
            sum += *at2(&lhs, h, w) * *at2(&rhs, h, w);
        }
    }
    return (real)sum;
}

static void fill(real *data, int64_t COUNT, real value)
{
    for (int64_t i = 0; i < COUNT; i++) data[i] = value;
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 57 lines)

/* output[n,oc] = bias[oc] + for each weight of filter oc, weight * what it reads */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    (void)ctx;
    const int64_t OH = output->size[2], OW = output->size[3];
    for (int64_t n = 0; n < output->size[0]; n++) {
        for (int64_t oc = 0; oc < output->size[1]; oc++) {
            fill(at4(output, n, oc, 0, 0), OH * OW, bias ? *at1(bias, oc) : 0);
        }
        for (int64_t i = 0; i < tensor_numel(weight); i++) {
            const tap_t tap = tap_of(input, output, weight, p, n, i);
            add_scaled(tap.output, real_data(weight)[tensor_offset(weight, 4, i)],
                       tap.input);
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 13 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* The same taps: weight * grad_output goes back into grad_input, and what the two views
 * of a weight have in common, their dot product, is its gradient. */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    (void)ctx;
    if (grad_input) fill(real_data(grad_input), tensor_numel(grad_input), 0);
    if (grad_weight) fill(real_data(grad_weight), tensor_numel(grad_weight), 0);
    if (grad_bias) fill(real_data(grad_bias), tensor_numel(grad_bias), 0);

    real one = 1;  // seen with strides of 0, a plane of ones: what the bias reads
    for (int64_t n = 0; n < grad_output->size[0]; n++) {
        for (int64_t i = 0; grad_input && i < tensor_numel(weight); i++) {
            const tap_t tap = tap_of(grad_input, grad_output, weight, p, n, i);
            add_scaled(tap.input, real_data(weight)[tensor_offset(weight, 4, i)],
                       tap.output);
        }
        for (int64_t i = 0; grad_weight && i < tensor_numel(weight); i++) {
            const tap_t tap = tap_of(input, grad_output, weight, p, n, i);
            real_data(grad_weight)[i] += dot(tap.output, tap.input);
        }
        for (int64_t oc = 0; grad_bias && oc < weight->size[0]; oc++) {
            *at1(grad_bias, oc) +=
                dot(plane_of(grad_output, n, oc), (tensor_t){.data = &one});
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 21 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
