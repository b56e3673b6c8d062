/* 00 scalar
 *
 *   idea    apply the definition: find the pixel of each element of output separately
 *   expect  no factor: 01_rows is compared with this file, not with PyTorch
 *   limit   each element needs a border test and index arithmetic
 *   run     make bench T=03_im2col_cpu/unfold/00
 */
#include "operators.h"

/* Returns the pixel that the column matrix has at (row, column). In padding it is NULL.
 * `row` counts all (ic, kh, kw), and `column` counts all (oh, ow). */
static real *place_of(const tensor_t *image, unfold_params_t p, int64_t n, int64_t row,
                      int64_t column)
{
    // BEGIN SOLUTION
    const int64_t IH = image->size[2], IW = image->size[3];
    const int64_t KH = p.kernel_h, KW = p.kernel_w;
    const int64_t OW = conv2d_extent(IW, KW, p.stride_w, p.padding_w, p.dilation_w);
    const int64_t ic = row / (KH * KW), kh = row / KW % KH, kw = row % KW;

    const int64_t ih = column / OW * p.stride_h + kh * p.dilation_h - p.padding_h;
    const int64_t iw = column % OW * p.stride_w + kw * p.dilation_w - p.padding_w;
    const int inside = ih >= 0 && ih < IH && iw >= 0 && iw < IW;
    return inside ? at4(image, n, ic, ih, iw) : NULL;
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER return NULL;
}

/* output[n, (ic*KH + kh)*KW + kw, oh*OW + ow] = input[n,ic,ih,iw], or 0 in padding */
status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                        tensor_t *output)
{
    // BEGIN SOLUTION
    (void)ctx;
    for (int64_t n = 0; n < output->size[0]; n++) {
        for (int64_t row = 0; row < output->size[1]; row++) {
            for (int64_t column = 0; column < output->size[2]; column++) {
                const real *from = place_of(input, p, n, row, column);
                *at3(output, n, row, column) = from ? *from : 0;
            }
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 10 lines)
    // STARTER (void)place_of;  // delete when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* grad_input[n,ic,ih,iw] = sum of grad_output over all windows that read this pixel */
status_t unfold_backward(ctx_t *ctx, const tensor_t *grad_output, unfold_params_t p,
                         tensor_t *grad_input)
{
    // BEGIN SOLUTION
    (void)ctx;
    if (!grad_input) return STATUS_OK;
    for (int64_t i = 0; i < tensor_numel(grad_input); i++) real_data(grad_input)[i] = 0;

    for (int64_t n = 0; n < grad_output->size[0]; n++) {
        for (int64_t row = 0; row < grad_output->size[1]; row++) {
            for (int64_t column = 0; column < grad_output->size[2]; column++) {
                real *to = place_of(grad_input, p, n, row, column);
                if (to) *to += *at3(grad_output, n, row, column);
            }
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 12 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
