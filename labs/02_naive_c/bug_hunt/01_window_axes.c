/* 01 window axes
 *
 *   does     unfold forward: one table of rows and one of columns, then plain copies
 *   seen     apache/mxnet pull request 6986 (2017): im2col on the CPU, when height and
 *            width had different settings
 *   passes   the layers of most networks
 *   run      make grade T=02_naive_c/bug_hunt/01
 */
#include "operators.h"

/* The size and the options of one image axis: height or width. */
typedef struct {
    int64_t size, kernel, stride, padding, dilation;
    int64_t count;  // the number of windows
} axis_t;

/* Fills table[k * count + o]: the index that window o reads at position k, or -1. */
static void fill_table(axis_t axis, int64_t *table)
{
    for (int64_t k = 0; k < axis.kernel; k++) {
        int64_t at = k * axis.dilation - axis.padding;
        for (int64_t o = 0; o < axis.count; o++, at += axis.stride) {
            *table++ = at >= 0 && at < axis.size ? at : -1;
        }
    }
}

/* Copies one plane of input to KH*KW rows of output, one row per kernel position. */
static void copy_plane(const real *plane, axis_t h, axis_t w, const int64_t *rows,
                       const int64_t *columns, real *output)
{
    for (int64_t place = 0; place < h.kernel * w.kernel; place++) {
        const int64_t *row = rows + place / w.kernel * h.count;
        const int64_t *column = columns + place % w.kernel * w.count;
        for (int64_t oh = 0; oh < h.count; oh++) {
            for (int64_t ow = 0; ow < w.count; ow++) {
                const int inside = row[oh] >= 0 && column[ow] >= 0;
                *output++ = inside ? plane[row[oh] * w.size + column[ow]] : 0;
            }
        }
    }
}

/* Computes output[n, (ic*KH + kh)*KW + kw, oh*OW + ow] = input[n,ic,ih,iw], or 0. */
status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                        tensor_t *output)
{
    if (input->size[0] == 0) return STATUS_OK;  // no images
    const int64_t PLANES = input->size[0] * input->size[1];
    axis_t h = {.size = input->size[2], .kernel = p.kernel_h, .stride = p.stride_h};
    axis_t w = {.size = input->size[3], .kernel = p.kernel_w, .stride = p.stride_w};
    h.padding = p.padding_h, w.padding = p.padding_w;
    h.count = conv2d_extent(h.size, h.kernel, h.stride, h.padding, p.dilation_h);
    w.count = conv2d_extent(w.size, w.kernel, w.stride, w.padding, p.dilation_w);
    // BEGIN SOLUTION
    h.dilation = p.dilation_h, w.dilation = p.dilation_w;
    // END SOLUTION
    // STARTER h.dilation = p.dilation_w, w.dilation = p.dilation_w;

    const int64_t ROWS = h.kernel * h.count, COLUMNS = w.kernel * w.count;
    int64_t *table = ctx_scratch(ctx, (size_t)(ROWS + COLUMNS) * sizeof(int64_t));
    const real *pixels = tensor_contiguous(ctx, input);
    if (!table || !pixels) return STATUS_NO_MEMORY;
    fill_table(h, table), fill_table(w, table + ROWS);

    real *to = real_data(output);
    for (int64_t i = 0; i < PLANES; i++, to += ROWS * COLUMNS) {
        copy_plane(pixels + i * h.size * w.size, h, w, table, table + ROWS, to);
    }
    return STATUS_OK;
}
