/* 00 direct
 *
 *   idea    a thread sums one output or one pixel's gradient, a block one weight's
 *   expect  1x, the baseline of this ladder
 *   limit   two loads, and tests for the border, for every multiply-add
 *   run     make grade T=04_cuda_kernels/conv2d/00
 */
#include "launch.h"

enum { THREADS = 256, FEW = 64 };  // of a block; of one that adds up its sums

/* A block owns 256 consecutive elements of output, a thread one; neighbouring threads
 * walk along ow. No shared memory. bias.data is NULL if there is none. */
// BEGIN SOLUTION
static __global__ void __launch_bounds__(THREADS)
    conv2d_forward_kernel(const __grid_constant__ tensor_t input,
                          const __grid_constant__ tensor_t weight,
                          const __grid_constant__ tensor_t bias, conv2d_params_t p,
                          const __grid_constant__ tensor_t output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    const int64_t OC = output.size[1], OH = output.size[2], OW = output.size[3];
    const int64_t ow = i % OW, oh = i / OW % OH;
    const int64_t oc = i / (OH * OW) % OC, n = i / (OC * OH * OW);
    const int64_t IC = weight.size[1], KH = weight.size[2], KW = weight.size[3];
    const int64_t ic0 = oc / (OC / p.groups) * IC;  // the first that filter oc sees

    accum sum = bias.data ? accum_from(*at1(&bias, oc)) : 0;
    for (int64_t k = 0; k < KH * KW; k++) {  // two loops in one: k = kh*KW + kw
        const int64_t ih = oh * p.stride_h + k / KW * p.dilation_h - p.padding_h;
        const int64_t iw = ow * p.stride_w + k % KW * p.dilation_w - p.padding_w;
        if (ih < 0 || ih >= input.size[2] || iw < 0 || iw >= input.size[3]) continue;
        for (int64_t ic = 0; ic < IC; ic++) {
            sum += accum_from(*at4(&input, n, ic0 + ic, ih, iw)) *
                   accum_from(*at4(&weight, oc, ic, k / KW, k % KW));
        }
    }
    real_data(&output)[i] = real_from(sum);
}
// END SOLUTION
// STARTER // the kernel (the reference takes 25 lines)

/* output[n,oc,oh,ow] = bias[oc] + sum over ic, kh, kw of input * weight */
extern "C" status_t conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    conv2d_forward_kernel<<<blocks, THREADS, 0, ctx->stream>>>(
        *input, *weight, bias ? *bias : tensor_t{}, p, *output, COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 7 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* A block owns 256 consecutive pixels of grad_input, a thread one: it asks, for each
 * place of the kernel, which window sees its pixel there, and sums over the filters.
 * No shared memory. */
// BEGIN SOLUTION
static __global__ void __launch_bounds__(THREADS)
    grad_input_kernel(const __grid_constant__ tensor_t grad_output,
                      const __grid_constant__ tensor_t weight, conv2d_params_t p,
                      const __grid_constant__ tensor_t grad_input, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    const int64_t IH = grad_input.size[2], IW = grad_input.size[3];
    const int64_t iw = i % IW, ih = i / IW % IH, plane = i / (IH * IW);
    const int64_t IC = weight.size[1], OC = weight.size[0] / p.groups;  // of a group
    const int64_t ic = plane % IC, n = plane / (IC * p.groups);
    const int64_t oc0 = plane / IC % p.groups * OC;  // the first that sees ic
    const int64_t KW = weight.size[3];

    accum sum = 0;  // stays 0 for a pixel that no window sees
    for (int64_t k = 0; k < weight.size[2] * KW; k++) {
        const int64_t h = ih + p.padding_h - k / KW * p.dilation_h;  // oh * stride_h,
        const int64_t w = iw + p.padding_w - k % KW * p.dilation_w;  // if there is one
        const int64_t oh = h / p.stride_h, ow = w / p.stride_w;
        if (h < 0 || oh >= grad_output.size[2] || h % p.stride_h != 0) continue;
        if (w < 0 || ow >= grad_output.size[3] || w % p.stride_w != 0) continue;
        for (int64_t oc = oc0; oc < oc0 + OC; oc++) {
            sum += accum_from(*at4(&grad_output, n, oc, oh, ow)) *
                   accum_from(*at4(&weight, oc, ic, k / KW, k % KW));
        }
    }
    real_data(&grad_input)[i] = real_from(sum);
}
// END SOLUTION
// STARTER // the kernel for grad_input (the reference takes 27 lines)

/* A block owns element blockIdx.x of grad_weight, a thread each 64th window of every
 * image; then their sums are added in a tree, always in the same order. A bias reads no
 * input (its data is NULL) but a 1 everywhere, and IC = KH = KW = 1.
 * Shared memory: 64 sums, 256 bytes in f32. */
// BEGIN SOLUTION
static __global__ void __launch_bounds__(FEW)
    grad_weight_kernel(const __grid_constant__ tensor_t grad_output,
                       const __grid_constant__ tensor_t input, conv2d_params_t p,
                       int64_t IC, int64_t KH, int64_t KW, real *__restrict__ result)
{
    __shared__ accum sums[FEW];
    const int64_t *size = grad_output.size, OH = size[2], OW = size[3];
    const int64_t kw = blockIdx.x % KW, kh = blockIdx.x / KW % KH;
    const int64_t oc = blockIdx.x / (KH * KW * IC), g = oc / (size[1] / p.groups);
    const int64_t c = g * IC + blockIdx.x / (KH * KW) % IC;

    accum sum = 0;
    for (int64_t i = threadIdx.x; i < size[0] * OH * OW; i += FEW) {
        const int64_t ow = i % OW, oh = i / OW % OH, n = i / (OH * OW);
        const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
        const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
        const accum grad = accum_from(*at4(&grad_output, n, oc, oh, ow));
        if (!input.data) sum += grad;  // and its sizes are 0
        if (ih < 0 || ih >= input.size[2] || iw < 0 || iw >= input.size[3]) continue;
        sum += grad * accum_from(*at4(&input, n, c, ih, iw));
    }
    sums[threadIdx.x] = sum;
    for (int half = FEW / 2; half > 0; half /= 2) {
        __syncthreads();  // the sums of the round before are there
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) result[blockIdx.x] = real_from(sums[0]);
}
// END SOLUTION
// STARTER // the kernel for grad_weight (the reference takes 27 lines)

/* Three gathers: each element of a gradient has one owner, who alone writes it. */
extern "C" status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *weight,
                                    conv2d_params_t p, tensor_t *grad_input,
                                    tensor_t *grad_weight, tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    const int64_t *size = weight->size, COUNT = grad_input ? tensor_numel(input) : 0;
    if (COUNT > 0) {  // grad_input is wanted, and has elements
        const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
        grad_input_kernel<<<blocks, THREADS, 0, ctx->stream>>>(*grad_output, *weight, p,
                                                               *grad_input, COUNT);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    if (grad_weight) {
        grad_weight_kernel<<<grid_of(tensor_numel(weight)), FEW, 0, ctx->stream>>>(
            *grad_output, *input, p, size[1], size[2], size[3], real_data(grad_weight));
        CUDA_TRY(ctx, cudaGetLastError());
    }
    if (!grad_bias) return STATUS_OK;
    grad_weight_kernel<<<grid_of(size[0]), FEW, 0, ctx->stream>>>(
        *grad_output, tensor_t{}, p, 1, 1, 1, real_data(grad_bias));
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 17 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
