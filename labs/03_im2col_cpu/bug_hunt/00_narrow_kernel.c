/* 00 narrow kernel
 *
 *   does     conv2d forward by unfold and matmul; some layers need no unfolding
 *   seen     pytorch/pytorch issue 54036, fixed by pull request 54080 (2021): conv2d
 *            without cuDNN gave wrong numbers
 *   passes   the layers of most networks
 *   run      make grade T=03_im2col_cpu/bug_hunt/00
 *
 * Workspace: the column matrix of one group of one image, and matmul's workspace.
 */
#include "operators.h"

unfold_forward_fn columns_forward;
matmul_forward_fn product_forward;

/* Returns a view (rows, columns) of `first`. Two rows begin `pitch` elements apart. */
static tensor_t rows_at(const real *first, int64_t rows, int64_t columns, int64_t pitch)
{
    tensor_t matrix = {.ndim = 2, .dtype = REAL_DTYPE, .device = DEVICE_CPU};
    matrix.data = (void *)(uintptr_t)first;  // the data of a tensor is never const
    matrix.size[0] = rows, matrix.stride[0] = pitch;
    matrix.size[1] = columns, matrix.stride[1] = 1;
    return matrix;
}

static void add_to_rows(tensor_t rows, const tensor_t *bias, int64_t oc0)
{
    for (int64_t oc = 0; oc < rows.size[0]; oc++) {
        for (int64_t i = 0; i < rows.size[1]; i++) {
            *at2(&rows, oc, i) += *at1(bias, oc0 + oc);
        }
    }
}

/* For each group of each image: output (GM, GN) = weight (GM, GK) @ columns (GK, GN) */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    if (output->size[0] == 0) return STATUS_OK;
    const int64_t *kernel = weight->size, *image = input->size;
    const int64_t GM = kernel[0] / p.groups, GK = kernel[1] * kernel[2] * kernel[3];
    const int64_t GN = output->size[2] * output->size[3], PLANE = image[2] * image[3];
    const unfold_params_t window = {
        .kernel_h = kernel[2],
        .kernel_w = kernel[3],
        .padding_h = p.padding_h,
        .padding_w = p.padding_w,
        .dilation_h = p.dilation_h,
        .dilation_w = p.dilation_w,
        .stride_h = p.stride_h,
        .stride_w = p.stride_w,
    };
    // if each window is one pixel, the planes of an image are already its columns
    const int narrow = kernel[2] == 1 && kernel[3] == 1;
    // BEGIN SOLUTION
    const int unmoved = p.padding_h == 0 && p.padding_w == 0;
    const int direct = narrow && unmoved && p.stride_h == 1 && p.stride_w == 1;
    // END SOLUTION
    // STARTER const int direct = narrow;
    const real *pixels = tensor_contiguous(ctx, input);
    const real *matrix = tensor_contiguous(ctx, weight);
    real *made = direct ? NULL : ctx_scratch(ctx, (size_t)(GK * GN) * sizeof(real));
    if (!pixels || !matrix || (!direct && !made)) return STATUS_NO_MEMORY;

    status_t said = STATUS_OK;
    for (int64_t i = 0; i < image[0] * p.groups && said == STATUS_OK; i++) {
        const int64_t oc0 = i % p.groups * GM;  // i = n*G + g
        const real *planes = pixels + i * kernel[1] * PLANE;
        if (!direct) {
            tensor_t part = *input, columns = rows_at(made, GK, GN, GN);
            part.data = at4(input, i / p.groups, i % p.groups * kernel[1], 0, 0);
            part.size[0] = 1, part.size[1] = kernel[1];
            columns.ndim = 3;  // (1, GK, GN)
            columns.size[0] = 1, columns.size[1] = GK, columns.size[2] = GN;
            columns.stride[0] = GK * GN, columns.stride[1] = GN, columns.stride[2] = 1;
            said = columns_forward(ctx, &part, window, &columns);
            if (said != STATUS_OK) return said;
        }
        const tensor_t lhs = rows_at(matrix + oc0 * GK, GM, GK, GK);
        const tensor_t rhs =
            rows_at(direct ? planes : made, GK, GN, direct ? PLANE : GN);
        tensor_t to = rows_at(real_data(output) + i * GM * GN, GM, GN, GN);
        said = product_forward(ctx, &lhs, &rhs, &to);
        if (bias) add_to_rows(to, bias, oc0);
    }
    return said;
}
