/* 04 last rows
 *
 *   does     unfold backward: each pixel adds up the gradients of windows that read it
 *   seen     pytorch/FBGEMM pull request 5754 (2026): NaN in training, after
 *            forward had left out some elements
 *   passes   the layers of most networks
 *   run      make grade T=02_naive_c/bug_hunt/04
 */
#include "operators.h"

/* Returns the window that reads index i of an axis at kernel position k, or -1. */
static int64_t read_by(int64_t i, int64_t k, int64_t stride, int64_t padding,
                       int64_t dilation, int64_t count)
{
    const int64_t from = i + padding - k * dilation;
    if (from < 0 || from % stride != 0 || from / stride >= count) return -1;
    return from / stride;
}

/* Returns the gradient of pixel (n, ic, ih, iw), with the four indices in `at`. */
static accum gathered(const tensor_t *grads, unfold_params_t p, int64_t OH, int64_t OW,
                      const int64_t at[4])
{
    const int64_t n = at[0], ic = at[1], ih = at[2], iw = at[3];
    accum sum = 0;
    for (int64_t kh = 0; kh < p.kernel_h; kh++) {
        const int64_t oh = read_by(ih, kh, p.stride_h, p.padding_h, p.dilation_h, OH);
        if (oh < 0) continue;
        for (int64_t kw = 0; kw < p.kernel_w; kw++) {
            const int64_t ow =
                read_by(iw, kw, p.stride_w, p.padding_w, p.dilation_w, OW);
            const int64_t place = (ic * p.kernel_h + kh) * p.kernel_w + kw;
            if (ow >= 0) sum += *at3(grads, n, place, oh * OW + ow);
        }
    }
    return sum;
}

/* grad_input[n,ic,ih,iw] = sum of grad_output over all windows that read the element */
status_t unfold_backward(ctx_t *ctx, const tensor_t *grad_output, unfold_params_t p,
                         tensor_t *grad_input)
{
    (void)ctx;
    if (grad_input == NULL) return STATUS_OK;
    const int64_t *size = grad_input->size;
    const int64_t OH =
        conv2d_extent(size[2], p.kernel_h, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW =
        conv2d_extent(size[3], p.kernel_w, p.stride_w, p.padding_w, p.dilation_w);
    // BEGIN SOLUTION
    const int64_t ROWS = size[2], COLUMNS = size[3];
    // END SOLUTION
    // STARTER // the last window ends here: no window reads a later pixel
    // STARTER int64_t ROWS = (OH - 1) * p.stride_h - p.padding_h + 1;
    // STARTER int64_t COLUMNS = (OW - 1) * p.stride_w - p.padding_w + 1;
    // STARTER ROWS += (p.kernel_h - 1) * p.dilation_h;
    // STARTER COLUMNS += (p.kernel_w - 1) * p.dilation_w;
    // STARTER if (ROWS > size[2]) ROWS = size[2];
    // STARTER if (COLUMNS > size[3]) COLUMNS = size[3];

    for (int64_t i = 0; i < size[0] * size[1]; i++) {  // planes
        for (int64_t ih = 0; ih < ROWS; ih++) {
            for (int64_t iw = 0; iw < COLUMNS; iw++) {
                const int64_t at[4] = {i / size[1], i % size[1], ih, iw};
                *at4(grad_input, at[0], at[1], ih, iw) =
                    (real)gathered(grad_output, p, OH, OW, at);
            }
        }
    }
    return STATUS_OK;
}
