/* 00 thread per pixel
 *
 *   does     avg_pool2d forward: one thread for each pixel of output
 *   seen     ddtm/theano-roi-pooling pull request 2 (2016), in the forward pass of RoI
 *            pooling
 *   passes   the layers of most networks, and small images
 *   run      make grade T=04_cuda_kernels/bug_hunt/00
 */
#include "exhibits.h"
#include "launch.h"

enum { THREADS = 64 };  // of a block

/* A block owns 64 pixels of output, a thread owns one. No shared memory. */
static __global__ void pool_kernel(const __grid_constant__ tensor_t input,
                                   avg_pool2d_params_t p,
                                   const __grid_constant__ tensor_t output)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at >= tensor_numel(&output)) return;  // there may be more threads than pixels
    const int64_t C = output.size[1], OH = output.size[2], OW = output.size[3];
    const int64_t plane = at / OW / OH, n = plane / C, c = plane % C;
    const int64_t top = at / OW % OH * p.stride_h - p.padding_h;
    const int64_t left = at % OW * p.stride_w - p.padding_w;

    accum sum = 0;
    for (int64_t ih = top; ih < top + p.kernel_h; ih++) {
        if (ih < 0 || ih >= input.size[2]) continue;  // padding adds 0
        for (int64_t iw = left; iw < left + p.kernel_w; iw++) {
            if (iw < 0 || iw >= input.size[3]) continue;
            sum += accum_from(*at4(&input, n, c, ih, iw));
        }
    }
    real_data(&output)[at] = real_from(sum / (accum)(p.kernel_h * p.kernel_w));
}

/* output[n,c,oh,ow] = sum of the window / (KH*KW); pixels outside of input are 0 */
extern "C" status_t avg_pool2d_forward(ctx_t *ctx, const tensor_t *input,
                                       avg_pool2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t PIXELS = tensor_numel(output);
    // END SOLUTION
    // STARTER const int64_t PIXELS = tensor_numel(input);
    if (PIXELS == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const unsigned blocks = grid_of(ceil_div(PIXELS, THREADS));
    pool_kernel<<<blocks, THREADS, 0, ctx->stream>>>(*input, p, *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
