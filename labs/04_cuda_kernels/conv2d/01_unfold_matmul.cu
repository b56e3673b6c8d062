/* 01 unfold matmul
 *
 *   idea    im2col copies windows to columns, so a convolution is a matrix product
 *   expect  forward moves 1/16 of 00_direct's bytes, backward 1/24 (counted, case r16)
 *   limit   memory traffic: the columns have up to KH*KW numbers for each pixel
 *   run     make grade T=04_cuda_kernels/conv2d/01
 *
 * Scratch memory has the columns, N*IC*KH*KW*OH*OW numbers. In backward it also has one
 * grad_weight per image. A non-contiguous weight or grad_output is copied.
 *
 * One call multiplies N*G pairs of matrices, one for each image and group. P = OH*OW
 * windows of an image. K = IC*KH*KW terms of a sum. IC and OC are per group.
 *
 *   weight     (N, G, OC, K)   the same for each image: its first stride is 0
 *   columns    (N, G, K, P)    unfold's (N, G*K, P): the same memory
 *   output     (N, G, OC, P) = weight @ columns
 */
#include "layout.h"

extern "C" unfold_forward_fn columns_forward;
extern "C" unfold_backward_fn columns_backward;
extern "C" matmul_forward_fn product_forward;

enum { THREADS = 256 };  // of a block

/* Returns the options with which unfold copies the windows of the convolution. */
static unfold_params_t windows_of(const tensor_t *weight, conv2d_params_t p)
{
    unfold_params_t windows = {};
    windows.kernel_h = weight->size[2], windows.kernel_w = weight->size[3];
    windows.stride_h = p.stride_h, windows.stride_w = p.stride_w;
    windows.padding_h = p.padding_h, windows.padding_w = p.padding_w;
    windows.dilation_h = p.dilation_h, windows.dilation_w = p.dilation_w;
    return windows;
}

/* Adds bias (G*OC) to output (N, G*OC, P), where P = OH*OW. A block owns 256
 * consecutive elements of output, a thread owns one. No shared memory. */
static __global__ void bias_kernel(const __grid_constant__ tensor_t bias, int64_t P,
                                   real *__restrict__ output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const accum start = accum_from(*at1(&bias, i / P % bias.size[0]));
    output[i] = real_from(start + accum_from(output[i]));
    // END SOLUTION
    // STARTER // your code: which channel is it? (the reference takes 2 lines)
}

/* Adds up `parts` (N, COUNT), the gradients of N images, into grad_weight (COUNT). A
 * block owns 256 consecutive weights, a thread owns one. No shared memory. */
static __global__ void weight_kernel(const real *__restrict__ parts, int64_t N,
                                     real *__restrict__ grad_weight, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t n = 0; n < N; n++) sum += accum_from(parts[n * COUNT + i]);
    grad_weight[i] = real_from(sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
}

/* Sums grad_output (N, G*OC, P) over images and pixels into grad_bias (G*OC). A block
 * owns a channel, a thread owns every 256th element of the channel. The threads add up
 * their sums in a tree. Shared memory: 256 sums, 1024 bytes in f32. */
static __global__ void channel_kernel(const real *__restrict__ grad_output, int64_t N,
                                      int64_t P, real *__restrict__ grad_bias)
{
    // BEGIN SOLUTION
    __shared__ accum sums[THREADS];
    accum sum = 0;
    for (int64_t i = threadIdx.x; i < N * P; i += THREADS) {
        const int64_t n = i / P, pixel = i % P;
        sum += accum_from(grad_output[(n * gridDim.x + blockIdx.x) * P + pixel]);
    }
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // the sums of the previous round are complete
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) grad_bias[blockIdx.x] = real_from(sums[0]);
    // END SOLUTION
    // STARTER // your code: the elements of a thread, then the tree
    // STARTER // (the reference takes 12 lines)
}

/* For each image and group, output (OC, OH*OW) = weight @ columns + bias. */
extern "C" status_t conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   conv2d_params_t p, tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when forward is written
    const int64_t COUNT = tensor_numel(output), N = output->size[0], G = p.groups;
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const int64_t OC = weight->size[0] / G, K = tensor_numel(weight) / weight->size[0];
    const int64_t P = output->size[2] * output->size[3];
    const real *filters = tensor_contiguous(ctx, weight);
    real *col = (real *)ctx_scratch(ctx, (size_t)(N * G * K * P) * sizeof(real));
    if (!col || !filters) return STATUS_NO_MEMORY;
    const unfold_params_t windows = windows_of(weight, p);
    tensor_t unfolded = tensor_3d(col, N, G * K, P);  // the shape for unfold
    // BEGIN SOLUTION
    status_t status = columns_forward(ctx, input, windows, &unfolded);
    if (status != STATUS_OK) return status;
    tensor_t lhs = tensor_4d(filters, N, G, OC, K);
    lhs.stride[0] = 0;  // the same filters for each image
    const tensor_t rhs = tensor_4d(col, N, G, K, P);
    tensor_t result = tensor_4d(real_data(output), N, G, OC, P);
    status = product_forward(ctx, &lhs, &rhs, &result);
    if (status != STATUS_OK) return status;
    // END SOLUTION
    // STARTER // your code: the columns, then the product of views from tensor_4d
    // STARTER // (the reference takes 8 lines)
    // STARTER (void)OC, (void)windows, (void)unfolded;
    if (!bias) return STATUS_OK;
    bias_kernel<<<grid_of(ceil_div(COUNT, THREADS)), THREADS, 0, ctx->stream>>>(
        *bias, P, real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}

/* For each group, grad_weight = sum over the images of grad_output @ columns^T.
 * For each image and group, grad_input = fold(weight^T @ grad_output). */
extern "C" status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *weight,
                                    conv2d_params_t p, tensor_t *grad_input,
                                    tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when backward is written
    const int64_t COUNT = tensor_numel(weight), N = input->size[0], G = p.groups;
    const int64_t OC = weight->size[0] / G, K = COUNT / weight->size[0];
    const int64_t P = grad_output->size[2] * grad_output->size[3], ALL = N * G * K * P;
    const real *filters = tensor_contiguous(ctx, weight);
    const real *grads = tensor_contiguous(ctx, grad_output);
    real *col = (real *)ctx_scratch(ctx, (size_t)(ALL + N * COUNT) * sizeof(real));
    if (N > 0 && (!filters || !grads || !col)) return STATUS_NO_MEMORY;
    const tensor_t grad = tensor_4d(grads, N, G, OC, P);
    tensor_t columns = tensor_4d(col, N, G, K, P);    // the shape for the product
    tensor_t unfolded = tensor_3d(col, N, G * K, P);  // the shape for unfold
    const unfold_params_t windows = windows_of(weight, p);
    status_t status = STATUS_OK;
    if (grad_weight) {
        tensor_t parts = tensor_4d(col + ALL, N, G, OC, K);  // a grad_weight per image
        // BEGIN SOLUTION
        status = columns_forward(ctx, input, windows, &unfolded);
        const tensor_t rhs = tensor_transposed(&columns);
        if (status == STATUS_OK) status = product_forward(ctx, &grad, &rhs, &parts);
        // END SOLUTION
        // STARTER // your code: all parts (the reference takes 3 lines)
        if (status != STATUS_OK) return status;
        weight_kernel<<<grid_of(ceil_div(COUNT, THREADS)), THREADS, 0, ctx->stream>>>(
            real_data(&parts), N, real_data(grad_weight), COUNT);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    if (grad_input) {
        tensor_t filter = tensor_4d(filters, N, G, OC, K);
        // BEGIN SOLUTION
        filter.stride[0] = 0;  // each image uses the same filters
        const tensor_t lhs = tensor_transposed(&filter);
        status = product_forward(ctx, &lhs, &grad, &columns);
        if (status == STATUS_OK)
            status = columns_backward(ctx, &unfolded, windows, grad_input);
        // END SOLUTION
        // STARTER // your code: grad_columns, then fold (the reference takes 5 lines)
        // STARTER (void)filter, (void)grad, (void)columns, (void)unfolded;
        // STARTER (void)windows;
    }
    if (status != STATUS_OK || !grad_bias) return status;
    channel_kernel<<<grid_of(G * OC), THREADS, 0, ctx->stream>>>(grads, N, P,
                                                                 real_data(grad_bias));
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
