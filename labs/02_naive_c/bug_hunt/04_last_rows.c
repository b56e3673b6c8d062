/* 04 last rows
 *
 *   does     avg_pool2d backward: each pixel adds up the shares of its windows
 *   seen     pytorch/FBGEMM pull request 5754 (2026): NaN in training
 *   passes   the layers of most networks
 *   run      make grade T=02_naive_c/bug_hunt/04
 */
#include "exhibits.h"

/* Returns the window that reads index i of an axis at kernel position k, or -1. */
static int64_t read_by(int64_t i, int64_t k, int64_t stride, int64_t padding,
                       int64_t count)
{
    const int64_t from = i + padding - k;
    if (from < 0 || from % stride != 0 || from / stride >= count) return -1;
    return from / stride;
}

/* Returns the sum of grad_output over the windows that read pixel (n, c, ih, iw), with
 * the four indices in `at`. */
static accum gathered(const tensor_t *grads, avg_pool2d_params_t p, const int64_t at[4])
{
    const int64_t OH = grads->size[2], OW = grads->size[3];
    accum sum = 0;
    for (int64_t kh = 0; kh < p.kernel_h; kh++) {
        const int64_t oh = read_by(at[2], kh, p.stride_h, p.padding_h, OH);
        if (oh < 0) continue;
        for (int64_t kw = 0; kw < p.kernel_w; kw++) {
            const int64_t ow = read_by(at[3], kw, p.stride_w, p.padding_w, OW);
            if (ow >= 0) sum += *at4(grads, at[0], at[1], oh, ow);
        }
    }
    return sum;
}

/* grad_input[n,c,ih,iw] = sum of grad_output over its windows / (KH*KW) */
status_t avg_pool2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                             avg_pool2d_params_t p, tensor_t *grad_input)
{
    (void)ctx;
    if (grad_input == NULL) return STATUS_OK;
    const int64_t *size = grad_input->size;
    const accum count = (accum)(p.kernel_h * p.kernel_w);
    // BEGIN SOLUTION
    const int64_t ROWS = size[2], COLUMNS = size[3];
    // END SOLUTION
    // STARTER // the last window ends here: no window reads a later pixel
    // STARTER const int64_t OH = grad_output->size[2], OW = grad_output->size[3];
    // STARTER int64_t ROWS = (OH - 1) * p.stride_h - p.padding_h + p.kernel_h;
    // STARTER int64_t COLUMNS = (OW - 1) * p.stride_w - p.padding_w + p.kernel_w;
    // STARTER if (ROWS > size[2]) ROWS = size[2];
    // STARTER if (COLUMNS > size[3]) COLUMNS = size[3];

    for (int64_t i = 0; i < size[0] * size[1]; i++) {  // planes
        for (int64_t ih = 0; ih < ROWS; ih++) {
            for (int64_t iw = 0; iw < COLUMNS; iw++) {
                const int64_t at[4] = {i / size[1], i % size[1], ih, iw};
                *at4(grad_input, at[0], at[1], ih, iw) =
                    (real)(gathered(grad_output, p, at) / count);
            }
        }
    }
    return STATUS_OK;
}
