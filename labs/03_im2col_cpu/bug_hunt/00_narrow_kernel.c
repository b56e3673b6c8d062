/* 00 narrow kernel
 *
 *   does     avg_pool2d forward by unfold; some layers need no unfolding
 *   seen     pytorch/pytorch issue 54036, fixed by pull request 54080 (2021): conv2d
 *            without cuDNN gave wrong numbers
 *   passes   the layers of most networks
 *   run      make grade T=03_im2col_cpu/bug_hunt/00
 *
 * Workspace: the column matrices of all images, and a copy of a non-contiguous input.
 */
#include "exhibits.h"

unfold_forward_fn columns_forward;

/* Unfolds all images: columns (N, C*KH*KW, OH*OW). */
static status_t unfolded(ctx_t *ctx, const tensor_t *input, avg_pool2d_params_t p,
                         int64_t WINDOWS, real *columns)
{
    const unfold_params_t window = {
        .kernel_h = p.kernel_h,
        .kernel_w = p.kernel_w,
        .padding_h = p.padding_h,
        .padding_w = p.padding_w,
        .dilation_h = 1,
        .dilation_w = 1,
        .stride_h = p.stride_h,
        .stride_w = p.stride_w,
    };
    const int64_t N = input->size[0], ROWS = input->size[1] * p.kernel_h * p.kernel_w;
    tensor_t made = {.data = columns,
                     .ndim = 3,
                     .dtype = REAL_DTYPE,
                     .device = DEVICE_CPU,
                     .size = {N, ROWS, WINDOWS},
                     .stride = {ROWS * WINDOWS, WINDOWS, 1}};
    return columns_forward(ctx, input, window, &made);
}

/* Writes the mean of ROWS rows, element by element. A row has COUNT elements. */
static void mean_of_rows(const real *rows, int64_t ROWS, int64_t COUNT, real *mean)
{
    for (int64_t i = 0; i < COUNT; i++) {
        accum sum = 0;
        for (int64_t r = 0; r < ROWS; r++) sum += rows[r * COUNT + i];
        mean[i] = (real)(sum / (accum)ROWS);
    }
}

/* output[n,c] (OH*OW) = mean of the KH*KW rows of columns[n,c] (KH*KW, OH*OW) */
status_t avg_pool2d_forward(ctx_t *ctx, const tensor_t *input, avg_pool2d_params_t p,
                            tensor_t *output)
{
    const int64_t PLANES = output->size[0] * output->size[1];
    const int64_t WINDOWS = output->size[2] * output->size[3];  // of a plane
    const int64_t ROWS = p.kernel_h * p.kernel_w;
    if (PLANES == 0) return STATUS_OK;
    // if each window is one pixel, the planes of an image are already its columns
    // BEGIN SOLUTION
    const int direct = ROWS == 1 && p.stride_h == 1 && p.stride_w == 1;
    // END SOLUTION
    // STARTER const int direct = ROWS == 1;
    const real *columns = NULL;
    if (direct) {
        columns = tensor_contiguous(ctx, input);
    } else {
        real *made = ctx_scratch(ctx, (size_t)(PLANES * ROWS * WINDOWS) * sizeof(real));
        if (!made) return STATUS_NO_MEMORY;
        const status_t said = unfolded(ctx, input, p, WINDOWS, made);
        if (said != STATUS_OK) return said;
        columns = made;
    }
    if (!columns) return STATUS_NO_MEMORY;

    for (int64_t i = 0; i < PLANES; i++) {  // i = n*C + c
        mean_of_rows(columns + i * ROWS * WINDOWS, ROWS, WINDOWS,
                     real_data(output) + i * WINDOWS);
    }
    return STATUS_OK;
}
