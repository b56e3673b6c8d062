/* 00 unfold gemm
 *
 *   idea    im2col: copy each window to a matrix column; multiply by the filters
 *   expect  0.6x to 0.9x of PyTorch's speed if there are many channels
 *   limit   memory: the column matrix is up to KH*KW times as large as the image
 *   run     make bench T=03_im2col_cpu/conv2d/00
 *
 * Covers all shapes. Workspace: columns of an image; matmul's workspace for each image.
 */
#include <string.h>
#include "operators.h"

unfold_forward_fn columns_forward;
unfold_backward_fn columns_backward;
matmul_forward_fn product_forward;

/* Views `from` as a matrix (M, N): element (i, j) is from[i * down + j * right]. */
static tensor_t matrix(const real *from, int64_t M, int64_t N, int64_t down,
                       int64_t right)
{
    real *data = (real *)(uintptr_t)from;  // tensor_t has no const data: cast it away
    return (tensor_t){data, 2, REAL_DTYPE, DEVICE_CPU, {M, N}, {down, right}};
}

/* Unfolds group i % groups of image i / groups to col. If `fold`, folds col back. */
static status_t unfold(ctx_t *ctx, int fold, const tensor_t *images, int64_t i,
                       const tensor_t *weight, conv2d_params_t p, real *col, int64_t P)
{
    const int64_t *size = weight->size, K = size[1] * size[2] * size[3];
    // BEGIN SOLUTION
    const unfold_params_t u = {size[2],     size[3],     p.dilation_h, p.dilation_w,
                               p.padding_h, p.padding_w, p.stride_h,   p.stride_w};
    tensor_t columns = {col, 3, REAL_DTYPE, DEVICE_CPU, {1, K, P}, {K * P, P, 1}};
    tensor_t image = *images;
    image.size[0] = 1, image.size[1] = size[1];
    image.data = at4(images, i / p.groups, i % p.groups * size[1], 0, 0);
    return fold ? columns_backward(ctx, &columns, u, &image)
                : columns_forward(ctx, &image, u, &columns);
    // END SOLUTION
    // STARTER // make views, call unfold or its backward (the reference takes 8 lines)
    // STARTER (void)K;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* output (OC, OH*OW) = weight (OC, IC*KH*KW) @ columns + bias, per image and group */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    if (tensor_numel(output) == 0) return STATUS_OK;
    const int64_t *size = weight->size, K = size[1] * size[2] * size[3];
    const int64_t OC = size[0] / p.groups;
    const int64_t P = output->size[2] * output->size[3];
    real *col = ctx_scratch(ctx, (size_t)(K * P) * sizeof(real));
    const real *filters = tensor_contiguous(ctx, weight);
    if (!col || !filters) return STATUS_NO_MEMORY;
    // BEGIN SOLUTION
    status_t status = STATUS_OK;
    for (int64_t i = 0; i < output->size[0] * p.groups && status == STATUS_OK; i++) {
        const int64_t first = i % p.groups * OC;  // first filter of the group
        const tensor_t lhs = matrix(filters + first * K, OC, K, K, 1);
        const tensor_t rhs = matrix(col, K, P, P, 1);
        tensor_t product = matrix(real_data(output) + i * OC * P, OC, P, P, 1);
        status = unfold(ctx, 0, input, i, weight, p, col, P);
        if (status == STATUS_OK) status = product_forward(ctx, &lhs, &rhs, &product);
        if (!bias) continue;
        for (int64_t oc = 0; oc < OC; oc++) {
            const real start = *at1(bias, first + oc), *end = at2(&product, oc, 0) + P;
            for (real *to = at2(&product, oc, 0); to < end; to++) *to += start;
        }
    }
    return status;
    // END SOLUTION
    // STARTER (void)matrix, (void)unfold, (void)OC;
    // STARTER // loop over images and groups (the reference takes 15 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* For each oc, adds the sum of row oc of grad (OC, OH*OW) to sums[first + oc]. */
static void add_planes(const tensor_t *grad, tensor_t *sums, int64_t first)
{
    // BEGIN SOLUTION
    for (int64_t oc = 0; oc < grad->size[0]; oc++) {
        accum sum = 0;
        for (int64_t j = 0; j < grad->size[1]; j++) sum += *at2(grad, oc, j);
        *at1(sums, first + oc) += (real)sum;
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
}

/* grad_weight = sum over images of grad_output (OC, OH*OW) @ columns^T (OH*OW, K)
 * grad_input = fold(weight^T (K, OC) @ grad_output (OC, OH*OW)), K = IC*KH*KW */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    const int64_t *size = weight->size, K = size[1] * size[2] * size[3];
    const int64_t OC = size[0] / p.groups, IMAGES = grad_output->size[0] * p.groups;
    const int64_t P = grad_output->size[2] * grad_output->size[3];
    if (grad_weight) memset(grad_weight->data, 0, (size_t)(size[0] * K) * sizeof(real));
    if (grad_bias) memset(grad_bias->data, 0, (size_t)size[0] * sizeof(real));
    if (tensor_numel(grad_output) == 0) return STATUS_OK;
    real *col = ctx_scratch(ctx, (size_t)(K * P + OC * K) * sizeof(real));
    const real *filters = tensor_contiguous(ctx, weight);
    const real *grads = tensor_contiguous(ctx, grad_output);
    if (!col || !filters || !grads) return STATUS_NO_MEMORY;
    status_t status = STATUS_OK;
    // BEGIN SOLUTION
    for (int64_t i = 0; i < IMAGES && status == STATUS_OK; i++) {
        const int64_t first = i % p.groups * OC;  // first filter of the group
        const tensor_t grad = matrix(grads + i * OC * P, OC, P, P, 1);
        if (grad_bias) add_planes(&grad, grad_bias, first);
        if (grad_weight) {
            const tensor_t rhs = matrix(col, P, K, 1, P);
            tensor_t part = matrix(col + K * P, OC, K, K, 1);
            status = unfold(ctx, 0, input, i, weight, p, col, P);
            if (status == STATUS_OK) status = product_forward(ctx, &grad, &rhs, &part);
            real *sums = real_data(grad_weight) + first * K;
            for (int64_t j = 0; j < OC * K; j++) sums[j] += col[K * P + j];
        }
        if (grad_input && status == STATUS_OK) {
            tensor_t lhs = matrix(filters + first * K, K, OC, 1, K);
            tensor_t product = matrix(col, K, P, P, 1);
            status = product_forward(ctx, &lhs, &grad, &product);
            if (status != STATUS_OK) break;
            status = unfold(ctx, 1, grad_input, i, weight, p, col, P);
        }
    }
    return status;
    // END SOLUTION
    // STARTER (void)IMAGES, (void)status, (void)add_planes;
    // STARTER // for each image, the wanted gradients (the reference takes 21 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
