/* 01 unfold matmul
 *
 *   idea    im2col: with the windows as columns, a convolution is a matrix product
 *   expect  the speed of the product, less the time that the columns take
 *   limit   memory: KH*KW times the input is written once and read again and again
 *   run     make grade T=04_cuda_kernels/conv2d/01
 *
 * For all shapes. Workspace: the columns of all images, N * IC*KH*KW * OH*OW numbers;
 * backward also N times grad_weight; copies of weight and grad_output with gaps.
 */
#include "launch.h"

extern "C" unfold_forward_fn columns_forward;
extern "C" unfold_backward_fn columns_backward;
extern "C" matmul_forward_fn product_forward;

enum { THREADS = 256 };  // of a block

/* All images and groups in one product, of N*G matrices: P = OH*OW, K = IC*KH*KW, and
 * OC, are those of one group.
 *
 *   weight     (N, G, OC, K)   the same for each image: its stride is 0
 *   columns    (N, G, K, P)    what unfold calls (N, G*K, P): the same memory
 *   output     (N, G, OC, P) = weight @ columns */

// BEGIN SOLUTION
static tensor_t matrices(const real *from, int64_t N, int64_t G, int64_t M, int64_t C)
{
    void *data = (void *)(uintptr_t)from;  // a tensor's data is never const
    return {data, 4, REAL_DTYPE, DEVICE_CUDA, {N, G, M, C}, {G * M * C, M * C, C, 1}};
}

static tensor_t columns_of(const tensor_t *t)  // (N, G, K, P), as unfold sees it
{
    const int64_t N = t->size[0], K = t->size[1] * t->size[2], P = t->size[3];
    return {t->data, 3, REAL_DTYPE, t->device, {N, K, P}, {K * P, P, 1}};
}

static unfold_params_t unfold_params(const tensor_t *weight, conv2d_params_t p)
{
    return {weight->size[2], weight->size[3], p.dilation_h, p.dilation_w,
            p.padding_h,     p.padding_w,     p.stride_h,   p.stride_w};
}

/* A block owns 256 consecutive elements of output, a thread one. No shared memory. */
static __global__ void bias_kernel(const __grid_constant__ tensor_t bias, int64_t P,
                                   real *__restrict__ output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    const accum start = accum_from(*at1(&bias, i / P % bias.size[0]));
    output[i] = real_from(start + accum_from(output[i]));
}

/* A block owns 256 consecutive weights, a thread one: its sum over parts (N, COUNT).
 * No shared memory. */
static __global__ void weight_kernel(const real *__restrict__ parts, int64_t N,
                                     real *__restrict__ grad_weight, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    accum sum = 0;
    for (int64_t n = 0; n < N; n++) sum += accum_from(parts[n * COUNT + i]);
    grad_weight[i] = real_from(sum);
}

/* A block owns a channel of grad_output (N, G*OC, P), a thread each 256th element; a
 * tree adds the threads' sums up. Shared memory: 256 sums, 1024 bytes in f32. */
static __global__ void channel_kernel(const real *__restrict__ grad_output, int64_t N,
                                      int64_t P, real *__restrict__ grad_bias)
{
    __shared__ accum sums[THREADS];
    accum sum = 0;
    for (int64_t i = threadIdx.x; i < N * P; i += THREADS) {
        sum += accum_from(grad_output[(i / P * gridDim.x + blockIdx.x) * P + i % P]);
    }
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // the sums of the round before are there
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) grad_bias[blockIdx.x] = real_from(sums[0]);
}
// END SOLUTION
// STARTER // views, and kernels that add (the reference takes 47 lines)

/* output (N, G, OC, P) = weight (N, G, OC, K) @ columns (N, G, K, P) + bias */
extern "C" status_t conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(output), N = output->size[0], G = p.groups;
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const int64_t OC = weight->size[0] / G, K = tensor_numel(weight) / weight->size[0];
    const int64_t P = output->size[2] * output->size[3];
    const real *filters = tensor_contiguous(ctx, weight);
    real *col = (real *)ctx_scratch(ctx, (size_t)(N * G * K * P) * sizeof(real));
    if (!col || !filters) return STATUS_NO_MEMORY;
    tensor_t lhs = matrices(filters, N, G, OC, K), rhs = matrices(col, N, G, K, P);
    tensor_t columns = columns_of(&rhs);
    tensor_t result = matrices(real_data(output), N, G, OC, P);
    lhs.stride[0] = 0;
    status_t status = columns_forward(ctx, input, unfold_params(weight, p), &columns);
    if (status == STATUS_OK) status = product_forward(ctx, &lhs, &rhs, &result);
    if (status != STATUS_OK || !bias) return status;
    bias_kernel<<<grid_of(ceil_div(COUNT, THREADS)), THREADS, 0, ctx->stream>>>(
        *bias, P, real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 18 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* grad_weight (G, OC, K) = sum over n of grad_output (N, G, OC, P) @ columns^T
 * grad_columns (N, G, K, P) = weight^T (N, G, K, OC) @ grad_output, then folded */
extern "C" status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *weight,
                                    conv2d_params_t p, tensor_t *grad_input,
                                    tensor_t *grad_weight, tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(weight), N = input->size[0], G = p.groups;
    const int64_t OC = weight->size[0] / G, K = COUNT / weight->size[0];
    const int64_t P = grad_output->size[2] * grad_output->size[3], ALL = N * G * K * P;
    const real *filters = tensor_contiguous(ctx, weight);
    const real *grads = tensor_contiguous(ctx, grad_output);
    real *col = (real *)ctx_scratch(ctx, (size_t)(ALL + N * COUNT) * sizeof(real));
    if (N > 0 && (!filters || !grads || !col)) return STATUS_NO_MEMORY;
    const tensor_t grad = matrices(grads, N, G, OC, P);
    tensor_t columns = matrices(col, N, G, K, P), all = columns_of(&columns);
    const unfold_params_t u = unfold_params(weight, p);
    status_t status = STATUS_OK;
    if (grad_weight) {  // of no images: 0
        const tensor_t rhs = tensor_transposed(&columns);
        tensor_t parts = matrices(col + ALL, N, G, OC, K);
        status = columns_forward(ctx, input, u, &all);
        if (status == STATUS_OK) status = product_forward(ctx, &grad, &rhs, &parts);
        if (status != STATUS_OK) return status;
        weight_kernel<<<grid_of(ceil_div(COUNT, THREADS)), THREADS, 0, ctx->stream>>>(
            col + ALL, N, real_data(grad_weight), COUNT);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    if (grad_input) {
        tensor_t filter = matrices(filters, N, G, OC, K);
        filter.stride[0] = 0;
        const tensor_t lhs = tensor_transposed(&filter);
        status = product_forward(ctx, &lhs, &grad, &columns);
        if (status == STATUS_OK) status = columns_backward(ctx, &all, u, grad_input);
    }
    if (status != STATUS_OK || !grad_bias) return status;
    channel_kernel<<<grid_of(G * OC), THREADS, 0, ctx->stream>>>(grads, N, P,
                                                                 real_data(grad_bias));
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 33 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
