/* 01 window axes
 *
 *   does     avg_pool2d forward: cuts each window to the image, then adds it up
 *   seen     apache/mxnet pull request 6986 (2017), in im2col on the CPU
 *   passes   the layers of most networks
 *   run      make grade T=02_naive_c/bug_hunt/01
 */
#include "exhibits.h"

/* The part of an axis, height or width, that one window covers. */
typedef struct {
    int64_t begin, end;
} span_t;

/* Returns the pixels of window o that lie inside of an axis of `size` pixels. */
static span_t span_of(int64_t o, int64_t kernel, int64_t stride, int64_t padding,
                      int64_t size)
{
    const int64_t begin = o * stride - padding, end = begin + kernel;
    return (span_t){begin < 0 ? 0 : begin, end > size ? size : end};
}

/* output[n,c,oh,ow] = sum of the window / (KH*KW); pixels outside of input are 0 */
status_t avg_pool2d_forward(ctx_t *ctx, const tensor_t *input, avg_pool2d_params_t p,
                            tensor_t *output)
{
    (void)ctx;
    const int64_t *size = output->size;
    const accum count = (accum)(p.kernel_h * p.kernel_w);
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const int64_t ow = i % size[3], oh = i / size[3] % size[2];
        const int64_t plane = i / (size[3] * size[2]);
        const int64_t n = plane / size[1], c = plane % size[1];
        // BEGIN SOLUTION
        const span_t h =
            span_of(oh, p.kernel_h, p.stride_h, p.padding_h, input->size[2]);
        // END SOLUTION
        // STARTER const span_t h =
        // STARTER     span_of(oh, p.kernel_h, p.stride_h, p.padding_w, input->size[2]);
        const span_t w =
            span_of(ow, p.kernel_w, p.stride_w, p.padding_w, input->size[3]);
        accum sum = 0;
        for (int64_t ih = h.begin; ih < h.end; ih++) {
            for (int64_t iw = w.begin; iw < w.end; iw++) {
                sum += *at4(input, n, c, ih, iw);
            }
        }
        *at4(output, n, c, oh, ow) = (real)(sum / count);
    }
    return STATUS_OK;
}
