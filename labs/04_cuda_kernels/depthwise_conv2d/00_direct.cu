/* 00 direct
 *
 *   idea    a thread computes one output or pixel gradient, a block one weight gradient
 *   expect  no factor: 01_halo_tile is compared with this file, not with PyTorch
 *   limit   each multiply-add needs two loads and border tests
 *   run     make grade T=04_cuda_kernels/depthwise_conv2d/00
 */
#include "layout.h"

enum { THREADS = 256 };      // of a block
enum { BLOCKS_PER_SM = 4 };  // each thread can have 64 registers

/* A block owns 256 consecutive elements of output, a thread owns one. Without a bias,
 * bias.data is NULL. The kernel uses no shared memory. */
static __global__ void output_kernel(const __grid_constant__ tensor_t input,
                                     const __grid_constant__ tensor_t weight,
                                     const __grid_constant__ tensor_t bias,
                                     depthwise_conv2d_params_t p,
                                     const __grid_constant__ tensor_t output,
                                     int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const place_t out = place_of(&output, i);
    const int64_t ic = out.c / (output.size[1] / input.size[1]);  // channel of filter c
    accum sum = bias.data ? accum_from(*at1(&bias, out.c)) : 0;
    for (int64_t kh = 0; kh < weight.size[2]; kh++) {
        for (int64_t kw = 0; kw < weight.size[3]; kw++) {
            const int64_t ih = out.h * p.stride_h + kh * p.dilation_h - p.padding_h;
            const int64_t iw = out.w * p.stride_w + kw * p.dilation_w - p.padding_w;
            if (!has_pixel(&input, ih, iw)) continue;
            sum += accum_from(*at4(&input, out.n, ic, ih, iw)) *
                   accum_from(*at4(&weight, out.c, 0, kh, kw));
        }
    }
    real_data(&output)[i] = real_from(sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 13 lines)
}

/* output[n,oc,oh,ow] = bias[oc] + sum over kh, kw of input * weight */
extern "C" status_t depthwise_conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                             const tensor_t *weight,
                                             const tensor_t *bias,
                                             depthwise_conv2d_params_t p,
                                             tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    output_kernel<<<blocks, THREADS, 0, ctx->stream>>>(
        *input, *weight, bias ? *bias : tensor_t{}, p, *output, COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}

/* A block owns 256 consecutive pixels of grad_input, a thread owns one. The thread sums
 * over all windows that contain its pixel. No shared memory. */
static __global__ void grad_input_kernel(const __grid_constant__ tensor_t grad_output,
                                         const __grid_constant__ tensor_t weight,
                                         depthwise_conv2d_params_t p,
                                         const __grid_constant__ tensor_t grad_input,
                                         int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const place_t in = place_of(&grad_input, i);
    const int64_t OC = weight.size[0] / grad_input.size[1];  // filters of a channel
    const int64_t oc0 = in.c * OC;                           // channel's first filter
    accum sum = 0;  // stays 0 for a pixel in no window
    for (int64_t kh = 0; kh < weight.size[2]; kh++) {
        for (int64_t kw = 0; kw < weight.size[3]; kw++) {
            const int64_t h = in.h + p.padding_h - kh * p.dilation_h;  // = oh*stride_h
            const int64_t w = in.w + p.padding_w - kw * p.dilation_w;  // = ow*stride_w
            if (h % p.stride_h != 0 || w % p.stride_w != 0) continue;
            const int64_t oh = h / p.stride_h, ow = w / p.stride_w;
            if (!has_pixel(&grad_output, oh, ow)) continue;  // there is no window
            for (int64_t oc = oc0; oc < oc0 + OC; oc++) {
                sum += accum_from(*at4(&grad_output, in.n, oc, oh, ow)) *
                       accum_from(*at4(&weight, oc, 0, kh, kw));
            }
        }
    }
    real_data(&grad_input)[i] = real_from(sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 18 lines)
}

/* Adds up `sum` over all threads of a block, into *result. Each round adds the second
 * half of `sums` to the first half. So the order of the sum is always the same. */
static __device__ void store_sum(accum sum, accum sums[THREADS], real *result)
{
    // BEGIN SOLUTION
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // the sums of the previous round are complete
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *result = real_from(sums[0]);
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
}

/* A block owns element (oc, kh, kw) of grad_weight. A thread sums every 256th window of
 * all images. The first block of a filter also sums grad_bias[oc]. A gradient that is
 * not wanted is NULL. Shared memory: 512 sums, 2048 bytes in f32. */
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    grad_weight_kernel(const __grid_constant__ tensor_t grad_output,
                       const __grid_constant__ tensor_t input,
                       const __grid_constant__ tensor_t weight,
                       depthwise_conv2d_params_t p, real *__restrict__ grad_weight,
                       real *__restrict__ grad_bias)
{
    __shared__ accum sums[2][THREADS];
    const place_t own = place_of(&weight, blockIdx.x);  // field n is oc, field c is 0
    accum sum = 0, bias = 0;
    // BEGIN SOLUTION
    const int64_t ic = own.n / (weight.size[0] / input.size[1]);  // channel of filter
    const int64_t N = grad_output.size[0];
    const int64_t OH = grad_output.size[2], OW = grad_output.size[3];
    for (int64_t i = threadIdx.x; i < N * OH * OW; i += THREADS) {
        const int64_t ow = i % OW, oh = i / OW % OH, n = i / (OH * OW);
        const int64_t ih = oh * p.stride_h + own.h * p.dilation_h - p.padding_h;
        const int64_t iw = ow * p.stride_w + own.w * p.dilation_w - p.padding_w;
        const accum grad = accum_from(*at4(&grad_output, n, own.n, oh, ow));
        bias += grad;
        if (!has_pixel(&input, ih, iw)) continue;
        sum += grad * accum_from(*at4(&input, n, ic, ih, iw));
    }
    // END SOLUTION
    // STARTER // your code: the windows of a thread (the reference takes 12 lines)
    if (grad_weight) store_sum(sum, sums[0], grad_weight + blockIdx.x);
    if (!grad_bias || own.c + own.h + own.w > 0) return;  // first of a filter only
    store_sum(bias, sums[1], grad_bias + own.n);
}

/* Computes grad_input by one kernel, grad_weight and grad_bias by a second kernel. */
extern "C" status_t
depthwise_conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                          const tensor_t *input, const tensor_t *weight,
                          depthwise_conv2d_params_t p, tensor_t *grad_input,
                          tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when both kernels are done
    const int64_t COUNT = grad_input ? tensor_numel(grad_input) : 0;
    if (COUNT > 0) {  // grad_input is wanted, and has elements
        const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
        grad_input_kernel<<<blocks, THREADS, 0, ctx->stream>>>(*grad_output, *weight, p,
                                                               *grad_input, COUNT);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    if (!grad_weight && !grad_bias) return STATUS_OK;
    grad_weight_kernel<<<grid_of(tensor_numel(weight)), THREADS, 0, ctx->stream>>>(
        *grad_output, *input, *weight, p, data_or_null(grad_weight),
        data_or_null(grad_bias));
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
