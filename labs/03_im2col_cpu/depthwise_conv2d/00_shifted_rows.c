/* 00 shifted rows
 *
 *   idea    a row of output is a sum of shifted rows of input, each times one weight
 *   expect  no factor: 02_padded_plane is compared with this file, not with PyTorch
 *   limit   each multiply-add loads and stores a sum
 *   run     make bench T=03_im2col_cpu/depthwise_conv2d/00
 *
 * Covers forward, for all shapes. Workspace: a copy of each non-contiguous tensor.
 */
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
    // STARTER // your code (the reference takes 3 lines)
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
    // STARTER // compute the shift along both axes, and the pixels inside
    // STARTER // (the reference takes 7 lines)
    // STARTER return (tap_t){0};
}

/* For i < COUNT: to[i] += weight * from[i * across]. Arrays to and from do not overlap.
 * If across is 1, the compiler vectorises the loop over i. */
static void add_row(real *restrict to, const real *restrict from, int64_t across,
                    real weight, int64_t COUNT)
{
    // BEGIN SOLUTION
    if (across == 1) {
        for (int64_t i = 0; i < COUNT; i++) to[i] += weight * from[i];
    } else {
        for (int64_t i = 0; i < COUNT; i++) to[i] += weight * from[i * across];
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
}

/* output[n,oc] = bias[oc] + sum over k of weight[oc,k] * a shifted plane of input */
status_t depthwise_conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *bias,
                                  depthwise_conv2d_params_t p, tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    if (tensor_numel(output) == 0) return STATUS_OK;
    const int64_t OC = output->size[1], M = OC / input->size[1];
    const int64_t KW = weight->size[3], K = weight->size[2] * KW;
    const int64_t PLANE = input->size[2] * input->size[3];
    const int64_t OW = output->size[3], PIXELS = output->size[2] * OW;
    const real *planes = tensor_contiguous(ctx, input);
    const real *filters = tensor_contiguous(ctx, weight);
    if (!planes || !filters) return STATUS_NO_MEMORY;
    for (int64_t i = 0; i < output->size[0] * OC; i++) {  // i = n*OC + oc
        // BEGIN SOLUTION
        const real start = bias ? *at1(bias, i % OC) : 0;
        real *to = real_data(output) + i * PIXELS;
        for (int64_t pixel = 0; pixel < PIXELS; pixel++) to[pixel] = start;
        for (int64_t k = 0; k < K; k++) {
            const tap_t t = tap_of(k, KW, input, output, p);
            const real *from = planes + i / M * PLANE + t.at + t.ow0 * p.stride_w;
            for (int64_t oh = t.oh0; oh < t.oh1; oh++)
                add_row(to + oh * OW + t.ow0, from + oh * t.down, p.stride_w,
                        filters[i % OC * K + k], t.ow1 - t.ow0);
        }
        // END SOLUTION
        // STARTER // for each plane: set the bias, then add the rows of each position
        // STARTER // (the reference takes 10 lines)
        // STARTER (void)inside, (void)tap_of, (void)add_row;
        // STARTER (void)M, (void)K, (void)PLANE, (void)PIXELS;
    }
    return STATUS_OK;
}
