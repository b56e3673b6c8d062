/* 00 definition
 *
 *   idea    an output row holds the pixels that one kernel position reads
 *   expect  no factor: this ladder has only one file
 *   limit   each element needs a border test, and the image is read KH*KW times
 *   run     make grade T=02_naive_c/unfold/00
 */
#include "operators.h"

/* Example: an image of 2 x 3 has two windows of 2 x 2 (stride 1). unfold makes output:
 *
 *     image            windows  0      1          output (4, 2)    0 1
 *       a b c                   a b    b c          kh kw = 0 0    a b
 *       d e f                   d e    e f                  0 1    b c
 *                                                           1 0    d e
 *     b and e are in both windows, so they appear twice     1 1    e f   */

/* Writes row (ic, kh, kw) of output[n]. A pixel outside of the image counts as 0. */
static void unfold_row(const tensor_t *input, unfold_params_t p, int64_t n, int64_t ic,
                       int64_t kh, int64_t kw, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t IH = input->size[2], IW = input->size[3];
    const int64_t KH = p.kernel_h, KW = p.kernel_w;
    const int64_t OH = conv2d_extent(IH, KH, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW = conv2d_extent(IW, KW, p.stride_w, p.padding_w, p.dilation_w);
    const int64_t row = (ic * KH + kh) * KW + kw;

    for (int64_t oh = 0; oh < OH; oh++) {
        for (int64_t ow = 0; ow < OW; ow++) {
            const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
            const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
            const int inside = ih >= 0 && ih < IH && iw >= 0 && iw < IW;
            *at3(output, n, row, oh * OW + ow) =
                inside ? *at4(input, n, ic, ih, iw) : 0;
        }
    }
    // END SOLUTION
    // STARTER // your code: loops over oh and ow (the reference takes 14 lines)
}

/* Computes output[n, (ic*KH + kh)*KW + kw, oh*OW + ow] = input[n,ic,ih,iw], or 0. */
status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                        tensor_t *output)
{
    // BEGIN SOLUTION
    (void)ctx;
    for (int64_t n = 0; n < input->size[0]; n++) {
        for (int64_t ic = 0; ic < input->size[1]; ic++) {
            for (int64_t kh = 0; kh < p.kernel_h; kh++) {
                for (int64_t kw = 0; kw < p.kernel_w; kw++) {
                    unfold_row(input, p, n, ic, kh, kw, output);
                }
            }
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: four loops around unfold_row (the reference takes 11 lines)
    // STARTER (void)unfold_row;  // delete this line when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Adds row (ic, kh, kw) of grad_output[n] to the pixels that unfold_row read. Windows
 * overlap, so a pixel may get several terms: add, never assign. */
static void fold_row(const tensor_t *grad_output, unfold_params_t p, int64_t n,
                     int64_t ic, int64_t kh, int64_t kw, tensor_t *grad_input)
{
    // BEGIN SOLUTION
    const int64_t IH = grad_input->size[2], IW = grad_input->size[3];
    const int64_t KH = p.kernel_h, KW = p.kernel_w;
    const int64_t OH = conv2d_extent(IH, KH, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW = conv2d_extent(IW, KW, p.stride_w, p.padding_w, p.dilation_w);
    const int64_t row = (ic * KH + kh) * KW + kw;

    for (int64_t oh = 0; oh < OH; oh++) {
        for (int64_t ow = 0; ow < OW; ow++) {
            const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
            const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
            if (ih < 0 || ih >= IH || iw < 0 || iw >= IW) continue;  // padding
            *at4(grad_input, n, ic, ih, iw) += *at3(grad_output, n, row, oh * OW + ow);
        }
    }
    // END SOLUTION
    // STARTER // your code: the loops of unfold_row (the reference takes 13 lines)
}

/* grad_input[n,ic,ih,iw] = sum of grad_output over all windows that read the element */
status_t unfold_backward(ctx_t *ctx, const tensor_t *grad_output, unfold_params_t p,
                         tensor_t *grad_input)
{
    // BEGIN SOLUTION
    (void)ctx;
    if (!grad_input) return STATUS_OK;
    for (int64_t i = 0; i < tensor_numel(grad_input); i++) real_data(grad_input)[i] = 0;

    for (int64_t n = 0; n < grad_input->size[0]; n++) {
        for (int64_t ic = 0; ic < grad_input->size[1]; ic++) {
            for (int64_t kh = 0; kh < p.kernel_h; kh++) {
                for (int64_t kw = 0; kw < p.kernel_w; kw++) {
                    fold_row(grad_output, p, n, ic, kh, kw, grad_input);
                }
            }
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: set zeros, then loop as in forward
    // STARTER // (the reference takes 13 lines)
    // STARTER (void)fold_row;  // delete this line when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
