/* 02 filter pieces
 *
 *   does     conv2d forward: a block loads its filter in parts into shared memory
 *   seen     ORNL/HeCBench issue 253 (2026) in a loop over tiles; pytorch/pytorch pull
 *            request 20182 (2019) in softmax. A race checker found both bugs.
 *   passes   layers with few channels and small kernels
 *   run      make grade T=04_cuda_kernels/bug_hunt/02
 */
#include "launch.h"

enum { THREADS = 64, PIECE = 32 };  // of a block; weights at a time

/* A block owns 64 outputs of one image n and filter oc, a thread owns one. n*OC + oc is
 * blockIdx.x / PARTS. Shared memory: 32 weights of a filter, 128 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    filter_kernel(const __grid_constant__ tensor_t input,
                  const __grid_constant__ tensor_t weight,
                  const __grid_constant__ tensor_t bias, conv2d_params_t p,
                  const __grid_constant__ tensor_t output)
{
    __shared__ real piece[PIECE];
    const int64_t OW = output.size[3], PIXELS = output.size[2] * OW;
    const int64_t PARTS = ceil_div(PIXELS, THREADS), plane = blockIdx.x / PARTS;
    const int64_t pixel = blockIdx.x % PARTS * THREADS + threadIdx.x;
    const int64_t oc = plane % output.size[1], n = plane / output.size[1];
    const int64_t KW = weight.size[3], PLACES = weight.size[2] * KW;
    const int64_t TAPS = weight.size[1] * PLACES;  // weights of a filter
    const int64_t c0 = oc / (output.size[1] / p.groups) * weight.size[1];
    const int64_t top = pixel / OW * p.stride_h - p.padding_h;
    const int64_t left = pixel % OW * p.stride_w - p.padding_w;

    accum sum = 0;
    if (bias.data) sum = accum_from(*at1(&bias, oc));
    for (int64_t first = 0; first < TAPS; first += PIECE) {
        const int64_t count = TAPS - first < PIECE ? TAPS - first : PIECE;
        if (threadIdx.x < count) {
            const int64_t tap = first + threadIdx.x, place = tap % PLACES;
            piece[threadIdx.x] =
                *at4(&weight, oc, tap / PLACES, place / KW, place % KW);
        }
        __syncthreads();  // all weights are written before any thread reads
        for (int64_t i = 0; i < count; i++) {
            const int64_t tap = first + i, place = tap % PLACES;
            const int64_t ih = top + place / KW * p.dilation_h;
            const int64_t iw = left + place % KW * p.dilation_w;
            const bool inside = ih >= 0 && iw >= 0 && ih < input.size[2];
            if (!inside || iw >= input.size[3] || pixel >= PIXELS) continue;
            const accum x = accum_from(*at4(&input, n, c0 + tap / PLACES, ih, iw));
            sum += x * accum_from(piece[i]);
        }
        // BEGIN SOLUTION
        __syncthreads();  // all have read these weights before new ones come
        // END SOLUTION
        // STARTER // the next weights
    }
    if (pixel < PIXELS) real_data(&output)[plane * PIXELS + pixel] = real_from(sum);
}

/* output[n,oc,oh,ow] = bias[oc] + sum over ic, kh, kw of input * weight */
extern "C" status_t conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   conv2d_params_t p, tensor_t *output)
{
    const int64_t PLANES = output->size[0] * output->size[1];
    const int64_t PARTS = ceil_div(output->size[2] * output->size[3], THREADS);
    if (PLANES == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    filter_kernel<<<grid_of(PLANES * PARTS), THREADS, 0, ctx->stream>>>(
        *input, *weight, bias ? *bias : tensor_t{}, p, *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
