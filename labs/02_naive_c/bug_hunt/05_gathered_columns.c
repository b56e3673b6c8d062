/* 05 gathered columns
 *
 *   does     unfold backward: each pixel adds up the column entries copied from it
 *   seen     in versions of col2im that gather (as the loops of Caffe and ATen do): the
 *            inner loop changes a number that the outer loop still needs
 *   passes   the layers of most networks, with any stride and padding
 *   run      make grade T=02_naive_c/bug_hunt/05
 */
#include "operators.h"

/* The windows first to end - 1 of one axis: all that contain one padded position. */
typedef struct {
    int64_t first, end;
} windows_t;

static windows_t windows_over(int64_t place, int64_t span, int64_t stride,
                              int64_t count)
{
    const int64_t last = place / stride;
    windows_t w = {0, last < count ? last + 1 : count};
    if (place >= span) w.first = (place - span) / stride + 1;
    return w;
}

/* Returns the gradient of pixel (y, x). columns (KH, KW, OH, OW) is of one channel. */
static accum gathered(const real *columns, unfold_params_t p, int64_t OH, int64_t OW,
                      int64_t y, int64_t x)
{
    const int64_t tall = p.dilation_h * (p.kernel_h - 1) + 1;
    const int64_t wide = p.dilation_w * (p.kernel_w - 1) + 1;
    const windows_t down = windows_over(y, tall, p.stride_h, OH);
    const windows_t across = windows_over(x, wide, p.stride_w, OW);

    accum sum = 0;
    for (int64_t oh = down.first; oh < down.end; oh++) {
        // BEGIN SOLUTION
        const int64_t below = y - oh * p.stride_h;  // the window's upper edge
        // END SOLUTION
        // STARTER int64_t kh = y - oh * p.stride_h;  // below the window's upper edge
        for (int64_t ow = across.first; ow < across.end; ow++) {
            int64_t kw = x - ow * p.stride_w;
            // BEGIN SOLUTION
            if (below % p.dilation_h || kw % p.dilation_w) continue;  // no tap here
            const int64_t kh = below / p.dilation_h;
            // END SOLUTION
            // STARTER if (kh % p.dilation_h || kw % p.dilation_w) continue;  // no tap
            // STARTER kh /= p.dilation_h;
            kw /= p.dilation_w;
            sum += columns[((kh * p.kernel_w + kw) * OH + oh) * OW + ow];
        }
    }
    return sum;
}

/* Each pixel collects a separate sum, so no two pixels write to the same element. */
status_t unfold_backward(ctx_t *ctx, const tensor_t *grad_output, unfold_params_t p,
                         tensor_t *grad_input)
{
    if (!grad_input || tensor_numel(grad_input) == 0) return STATUS_OK;
    const real *columns = tensor_contiguous(ctx, grad_output);
    if (!columns) return STATUS_NO_MEMORY;

    const int64_t *size = grad_input->size;  // (N, IC, IH, IW)
    const int64_t OH =
        conv2d_extent(size[2], p.kernel_h, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW =
        conv2d_extent(size[3], p.kernel_w, p.stride_w, p.padding_w, p.dilation_w);
    const int64_t planes = size[0] * size[1];
    real *pixel = real_data(grad_input);

    for (int64_t plane = 0; plane < planes; plane++) {
        for (int64_t ih = 0; ih < size[2]; ih++) {
            for (int64_t iw = 0; iw < size[3]; iw++) {
                *pixel++ = (real)gathered(columns, p, OH, OW, ih + p.padding_h,
                                          iw + p.padding_w);
            }
        }
        columns += p.kernel_h * p.kernel_w * OH * OW;
    }
    return STATUS_OK;
}
