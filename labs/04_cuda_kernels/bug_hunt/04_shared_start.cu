/* 04 shared start
 *
 *   does     depthwise_conv2d forward: one thread loads the bias for its whole block
 *   seen     dirac-institute/kbmod pull request 108 (2022): threads read shared memory,
 *            and the results differ from run to run
 *   passes   layers without a bias; GPUs that start the warps of a block in order
 *   run      make grade T=04_cuda_kernels/bug_hunt/04
 */
#include "launch.h"

enum { THREADS = 64 };  // of a block

/* A block owns 64 outputs of one image n and filter oc, a thread owns one. n*OC + oc is
 * blockIdx.x / PARTS. Shared memory: the bias of the filter, 4 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    plane_kernel(const __grid_constant__ tensor_t input,
                 const __grid_constant__ tensor_t weight,
                 const __grid_constant__ tensor_t bias, depthwise_conv2d_params_t p,
                 const __grid_constant__ tensor_t output)
{
    __shared__ accum begin;
    const int64_t OC = output.size[1], OW = output.size[3];
    const int64_t PIXELS = output.size[2] * OW, PARTS = ceil_div(PIXELS, THREADS);
    const int64_t plane = blockIdx.x / PARTS, oc = plane % OC;
    const int64_t pixel = blockIdx.x % PARTS * THREADS + threadIdx.x;

    accum sum = 0;
    if (bias.data) {
        if (threadIdx.x == 0) begin = accum_from(*at1(&bias, oc));
        // BEGIN SOLUTION
        __syncthreads();  // the bias is written before any thread uses it
        // END SOLUTION
        // STARTER // every sum starts at the bias
        sum = begin;
    }
    if (pixel >= PIXELS) return;  // the last block of a plane may be partly empty
    const int64_t ic = oc / (OC / input.size[1]);
    const int64_t top = pixel / OW * p.stride_h - p.padding_h;
    const int64_t left = pixel % OW * p.stride_w - p.padding_w;
    for (int64_t kh = 0; kh < weight.size[2]; kh++) {
        const int64_t ih = top + kh * p.dilation_h;
        if (ih < 0 || ih >= input.size[2]) continue;
        for (int64_t kw = 0; kw < weight.size[3]; kw++) {
            const int64_t iw = left + kw * p.dilation_w;
            if (iw < 0 || iw >= input.size[3]) continue;
            const accum tap = accum_from(*at4(&weight, oc, 0, kh, kw));
            sum += tap * accum_from(*at4(&input, plane / OC, ic, ih, iw));
        }
    }
    real_data(&output)[plane * PIXELS + pixel] = real_from(sum);
}

/* output[n,oc,oh,ow] = bias[oc] + sum over kh, kw of input * weight */
extern "C" status_t depthwise_conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                             const tensor_t *weight,
                                             const tensor_t *bias,
                                             depthwise_conv2d_params_t p,
                                             tensor_t *output)
{
    const int64_t PLANES = output->size[0] * output->size[1];
    const int64_t PARTS = ceil_div(output->size[2] * output->size[3], THREADS);
    if (PLANES == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    plane_kernel<<<grid_of(PLANES * PARTS), THREADS, 0, ctx->stream>>>(
        *input, *weight, bias ? *bias : tensor_t{}, p, *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
