/* 04 filter sums
 *
 *   idea    a block computes nine elements of grad_weight at once, and also a grad_bias
 *   expect  grad_output is read once for 9 weights; 3.2x the minimum of bytes (counted)
 *   limit   each multiply-add needs a load; few filters give few blocks
 *   run     make grade T=04_cuda_kernels/depthwise_conv2d/04
 *
 * Covers grad_weight and grad_bias, if rows and columns fit into 32 bits. There are no
 * atomics: the sizes alone decide the order of each sum.
 * This file needs no scratch memory.
 */
#include "layout.h"

enum { WARP = 32, THREADS = 256, WARPS = THREADS / WARP };  // of a block
enum { TAPS = 9 };  // weights with sums in a thread's registers: all of 3 x 3
enum : unsigned { OUTSIDE = INT32_MAX };  // a row below every image

/* A window_t has the indices n, oh, ow of a window, or of a step between windows. */
typedef struct {
    int n, oh, ow;
} window_t;

static __device__ window_t window_of(const tensor_t *grad_output, int i)
{
    const int OW = (int)grad_output->size[3], OHW = (int)grad_output->size[2] * OW;
    return {i / OHW, i % OHW / OW, i % OW};
}

/* Moves the window `at` forward by `step`, without a division. */
static __device__ void advance(window_t *at, window_t step, int OH, int OW)
{
    // BEGIN SOLUTION
    at->n += step.n, at->oh += step.oh, at->ow += step.ow;
    if (at->ow >= OW) at->ow -= OW, at->oh++;
    if (at->oh >= OH) at->oh -= OH, at->n++;
    // END SOLUTION
    // STARTER // your code: carry from ow to oh, and from oh to n
    // STARTER // (the reference takes 3 lines)
}

/* A tap is the distance of one weight's pixel from the first pixel of a window. */
typedef struct {
    unsigned h, w;   // rows and columns
    int64_t behind;  // elements
} tap_t;

/* Returns the tap of weight k. If there is no weight k, it is OUTSIDE of all images. */

static __device__ tap_t tap_of(const tensor_t *input, const tensor_t *weight,
                               depthwise_conv2d_params_t p, int64_t k)
{
    const int64_t h = k / weight->size[3] * p.dilation_h;
    const int64_t w = k % weight->size[3] * p.dilation_w;
    const bool exists = k < weight->size[2] * weight->size[3];
    const int64_t behind = h * input->stride[2] + w * input->stride[3];
    return {exists ? (unsigned)h : OUTSIDE, (unsigned)w, behind};
}

/* Returns to lane 0 the sum over all lanes of a warp, always in the same order. */
static __device__ accum lanes_sum(accum sum)
{
    // BEGIN SOLUTION
#pragma unroll
    for (int far = WARP / 2; far > 0; far /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, far);
    }
    return sum;
    // END SOLUTION
    // STARTER return sum;  // your code (the reference takes 4 lines)
}

/* A block owns weights k0 to k0 + 8 of grad_weight[oc]. If k0 = 0, it also owns
 * grad_bias[oc]. A thread sums every 256th window. Then each warp adds up the
 * sums of its lanes. Last, 10 threads add up the sums of 8 warps. blockIdx.x numbers
 * the pairs (oc, k0). Shared memory: 10 x 9 sums, 360 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    grad_weight_kernel(const __grid_constant__ tensor_t grad_output,
                       const __grid_constant__ tensor_t input,
                       const __grid_constant__ tensor_t weight,
                       depthwise_conv2d_params_t p, real *__restrict__ grad_weight,
                       real *__restrict__ grad_bias, int64_t PARTS)
{
    __shared__ accum sums[TAPS + 1][WARPS + 1];  // + 1: no bank conflicts below
    const int OH = (int)grad_output.size[2], OW = (int)grad_output.size[3];
    const int64_t COUNT = input.size[0] * OH * OW;
    const unsigned IH = (unsigned)input.size[2], IW = (unsigned)input.size[3];
    const int64_t K = weight.size[2] * weight.size[3];
    const int64_t oc = blockIdx.x / PARTS, k0 = blockIdx.x % PARTS * TAPS;
    const int64_t ic = oc / (weight.size[0] / input.size[1]);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;

    accum sum[TAPS + 1] = {};  // the last sum is for the bias
    window_t at = window_of(&grad_output, threadIdx.x);
    const window_t step = window_of(&grad_output, THREADS);
    tap_t taps[TAPS];
    for (int tap = 0; tap < TAPS; tap++)
        taps[tap] = tap_of(&input, &weight, p, k0 + tap);
    for (int64_t i = threadIdx.x; i < COUNT; i += THREADS) {
        // BEGIN SOLUTION
        const accum grad = accum_from(*at4(&grad_output, at.n, oc, at.oh, at.ow));
        const int ih = at.oh * (int)p.stride_h - (int)p.padding_h;
        const int iw = at.ow * (int)p.stride_w - (int)p.padding_w;
        const real *pixel = at4(&input, at.n, ic, ih, iw);
        sum[TAPS] += grad;
#pragma unroll  // with a variable index, sums would not be in registers
        for (int tap = 0; tap < TAPS; tap++) {
            const unsigned h = ih + taps[tap].h, w = iw + taps[tap].w;  // -1 is large
            if (grad_weight && h < IH && w < IW)
                sum[tap] += grad * accum_from(pixel[taps[tap].behind]);
        }
        // END SOLUTION
        // STARTER // your code: window `at`, once for all ten sums
        // STARTER // (the reference takes 10 lines)
        advance(&at, step, OH, OW);
    }
    // STARTER (void)ic, (void)IH, (void)IW, (void)sum, (void)taps;
#pragma unroll
    for (int tap = 0; tap <= TAPS; tap++) {
        const accum total = lanes_sum(sum[tap]);
        if (lane == 0) sums[tap][warp] = total;
    }
    __syncthreads();  // all warps' sums are written before they are added
    const int tap = threadIdx.x;
    if (tap > TAPS) return;  // no barrier follows
    accum total = 0;
    for (int i = 0; i < WARPS; i++) total += sums[tap][i];
    if (tap == TAPS && k0 == 0 && grad_bias) grad_bias[oc] = real_from(total);
    if (tap < TAPS && k0 + tap < K && grad_weight) {
        grad_weight[oc * K + k0 + tap] = real_from(total);
    }
}

/* grad_weight[oc,kh,kw] = sum over n, oh, ow of grad_output * input
 * grad_bias[oc] = sum over n, oh, ow of grad_output */
extern "C" status_t
depthwise_conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                          const tensor_t *input, const tensor_t *weight,
                          depthwise_conv2d_params_t p, tensor_t *grad_input,
                          tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    const int64_t *in = input->size, *out = grad_output->size;
    const bool fits = in[0] <= INT32_MAX && out[2] * out[3] <= INT32_MAX &&
                      in[2] + 2 * p.padding_h <= INT32_MAX &&
                      in[3] + 2 * p.padding_w <= INT32_MAX;
    if (!fits || (!grad_weight && !grad_bias)) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_INPUT;
    const int64_t OC = weight->size[0], K = weight->size[2] * weight->size[3];
    const int64_t PARTS = grad_weight ? ceil_div(K, TAPS) : 1;
    grad_weight_kernel<<<grid_of(OC * PARTS), THREADS, 0, ctx->stream>>>(
        *grad_output, *input, *weight, p, data_or_null(grad_weight),
        data_or_null(grad_bias), PARTS);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
