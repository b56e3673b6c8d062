/* 01 rows
 *
 *   idea    compute which part of a row is inside the image, then copy without tests
 *   expect  30x the speed of 00_scalar
 *   limit   memory bandwidth: each pixel of the image is written KH*KW times
 *   run     make bench T=03_im2col_cpu/unfold/01
 *
 * This file covers all shapes and strides. It needs no workspace.
 */
#include "operators.h"
#include "vector.h"

/* Of the OW elements for (ic, kh, kw) and oh, [begin, end) are in the image. Element
 * begin is at4(image, n, ic, ih + oh * stride_h, iw). Others are padding. */
typedef struct {
    int64_t ic, ih, iw, begin, end;
} segment_t;

static segment_t segment_of(const tensor_t *image, unfold_params_t p, int64_t row,
                            int64_t OW)
{
    // BEGIN SOLUTION
    const int64_t IW = image->size[3], KH = p.kernel_h, KW = p.kernel_w;
    const int64_t iw = row % KW * p.dilation_w - p.padding_w;  // at ow = 0
    const int64_t over = p.stride_w - 1;                       // to round up

    segment_t s = {.ic = row / (KH * KW)};
    s.ih = row / KW % KH * p.dilation_h - p.padding_h;
    s.end = iw < IW ? (IW - iw + over) / p.stride_w : 0;  // the first ow with iw >= IW
    if (s.end > OW) s.end = OW;
    s.begin = iw < 0 ? (over - iw) / p.stride_w : 0;  // the first with iw >= 0
    if (s.begin > s.end) s.begin = s.end;
    s.iw = iw + s.begin * p.stride_w;
    return s;
    // END SOLUTION
    // STARTER // your code (the reference takes 11 lines)
    // STARTER return (segment_t){0};
}

/* to[i] = from[i * step] for all i < COUNT. The arrays to and from do not overlap. */
static void copy(real *restrict to, const real *restrict from, int64_t step,
                 int64_t COUNT)
{
    // BEGIN SOLUTION
    int64_t i = 0;
    if (step == 1) {
        for (; i + LANES <= COUNT; i += LANES) vec_store(to + i, vec_load(from + i));
        vec_store_first(to + i, vec_load_first(from + i, COUNT - i), COUNT - i);
    } else {
        for (; i < COUNT; i++) to[i] = from[i * step];
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 7 lines)
}

/* to[i * step] += from[i * across] for all i < COUNT. to and from do not overlap. */
static void add(real *restrict to, int64_t step, const real *restrict from,
                int64_t across, int64_t COUNT)
{
    // BEGIN SOLUTION
    int64_t i = 0;
    if (step == 1 && across == 1) {
        for (; i + LANES <= COUNT; i += LANES)
            vec_store(to + i, vec_load(to + i) + vec_load(from + i));
    }
    for (; i < COUNT; i++) to[i * step] += from[i * across];
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
}

/* output[n, (ic*KH + kh)*KW + kw, oh*OW + ow] = input[n,ic,ih,iw], or 0 in padding */
status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                        tensor_t *output)
{
    // BEGIN SOLUTION
    (void)ctx;
    const int64_t IH = input->size[2], IW = input->size[3];
    const int64_t OW =
        conv2d_extent(IW, p.kernel_w, p.stride_w, p.padding_w, p.dilation_w);
    for (int64_t i = 0; i < output->size[0] * output->size[1]; i++) {  // i = (n, row)
        const int64_t n = i / output->size[1], row = i % output->size[1];
        const segment_t s = segment_of(input, p, row, OW);
        real *to = at3(output, n, row, 0), *end = to + output->size[2];
        for (int64_t ih = s.ih; to < end; ih += p.stride_h, to += OW) {
            const int64_t begin = ih >= 0 && ih < IH ? s.begin : OW;
            for (int64_t ow = 0; ow < begin; ow++) to[ow] = 0;
            if (begin == OW) continue;
            copy(to + begin, at4(input, n, s.ic, ih, s.iw),
                 p.stride_w * input->stride[3], s.end - begin);
            for (int64_t ow = s.end; ow < OW; ow++) to[ow] = 0;
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 18 lines)
    // STARTER (void)segment_of, (void)copy, (void)add;  // delete when you call them
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* grad_input[n,ic,ih,iw] = sum of grad_output over all windows that read this pixel */
status_t unfold_backward(ctx_t *ctx, const tensor_t *grad_output, unfold_params_t p,
                         tensor_t *grad_input)
{
    // BEGIN SOLUTION
    (void)ctx;
    if (!grad_input) return STATUS_OK;
    const int64_t IH = grad_input->size[2], IW = grad_input->size[3];
    const int64_t OW =
        conv2d_extent(IW, p.kernel_w, p.stride_w, p.padding_w, p.dilation_w);
    const int64_t COUNT = grad_output->size[0] * grad_output->size[1];
    for (int64_t i = 0; i < tensor_numel(grad_input); i++) real_data(grad_input)[i] = 0;

    for (int64_t i = 0; i < COUNT; i++) {  // i = (n, row)
        const int64_t n = i / grad_output->size[1], row = i % grad_output->size[1];
        const segment_t s = segment_of(grad_input, p, row, OW);
        int64_t ih = s.ih;
        for (int64_t at = 0; at < grad_output->size[2]; at += OW, ih += p.stride_h) {
            if (ih < 0 || ih >= IH || s.begin == s.end) continue;
            add(at4(grad_input, n, s.ic, ih, s.iw), p.stride_w,
                at3(grad_output, n, row, at + s.begin), grad_output->stride[2],
                s.end - s.begin);
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 19 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
