/* 04 filter sums
 *
 *   idea    a block sums nine weights of a filter at once, and its bias on the way
 *   expect  a window's number read once for 9 weights; 3.2x the least bytes (counted)
 *   limit   a load for every multiply-add; few blocks where there are few filters
 *   run     make grade T=04_cuda_kernels/depthwise_conv2d/04
 *
 * Backward: grad_weight and grad_bias; grad_input is the fallback's. No atomics: which
 * thread adds which windows, and in which order, follows from the sizes alone.
 * Workspace: none.
 */
#include "layout.h"

extern "C" depthwise_conv2d_backward_fn fallback_backward;

enum { WARP = 32, THREADS = 256, WARPS = THREADS / WARP };  // of a block
enum { TAPS = 9 };  // weights whose sums a thread has in registers: all of 3 x 3

/* The sum over the lanes of a warp, in its lane 0; a tree, always the same. */
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

/* grad_weight[oc, k0 to k0 + 8] and, where k0 is 0, grad_bias[oc]: sums over all
 * windows of a filter. A block owns them; a thread has each 256th window, then lanes
 * add up their sums, then warps. The grid counts along x in the order (oc, k0).
 * Shared memory: ten sums for each of 8 warps, 360 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    grad_weight_kernel(const __grid_constant__ tensor_t grad_output,
                       const __grid_constant__ tensor_t input,
                       const __grid_constant__ tensor_t weight,
                       depthwise_conv2d_params_t p, real *__restrict__ grad_weight,
                       real *__restrict__ grad_bias, int64_t PARTS)
{
    __shared__ accum sums[TAPS + 1][WARPS + 1];  // + 1: no bank conflicts below
    const int64_t N = input.size[0], OH = grad_output.size[2], OW = grad_output.size[3];
    const int64_t KW = weight.size[3], K = weight.size[2] * KW;
    const int64_t oc = blockIdx.x / PARTS, k0 = blockIdx.x % PARTS * TAPS;
    const int64_t ic = oc / (weight.size[0] / input.size[1]);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;

    accum sum[TAPS + 1] = {};  // the last one is the bias's
    // BEGIN SOLUTION
    for (int64_t i = threadIdx.x; i < N * OH * OW; i += THREADS) {
        const int64_t ow = i % OW, oh = i / OW % OH, n = i / (OH * OW);
        const accum grad = accum_from(*at4(&grad_output, n, oc, oh, ow));
        const int64_t ih0 = oh * p.stride_h - p.padding_h;
        const int64_t iw0 = ow * p.stride_w - p.padding_w;
        sum[TAPS] += grad;
        int64_t kh = k0 / KW, kw = k0 % KW;
#pragma unroll  // sums that a variable counts would not lie in registers
        for (int tap = 0; tap < TAPS; tap++) {
            const int64_t ih = ih0 + kh * p.dilation_h, iw = iw0 + kw * p.dilation_w;
            if (grad_weight && has_pixel(&input, ih, iw)) {
                sum[tap] += grad * accum_from(*at4(&input, n, ic, ih, iw));
            }
            if (++kw == KW) kh++, kw = 0;  // places beyond the last are not stored
        }
    }
    // END SOLUTION
    // STARTER // your code: each window once, for all ten sums; kh and kw of tap 0 come
    // STARTER // from k0 (the reference takes 15 lines)
    // STARTER (void)N, (void)OH, (void)OW, (void)KW, (void)ic, (void)sum, (void)p;
#pragma unroll
    for (int tap = 0; tap <= TAPS; tap++) {
        const accum total = lanes_sum(sum[tap]);
        if (lane == 0) sums[tap][warp] = total;
    }
    __syncthreads();  // the warps' sums are written before they are added up
    const int tap = threadIdx.x;
    if (tap > TAPS) return;  // no barrier follows
    accum total = 0;
    for (int i = 0; i < WARPS; i++) total += sums[tap][i];
    if (tap == TAPS && k0 == 0 && grad_bias) grad_bias[oc] = real_from(total);
    if (tap < TAPS && k0 + tap < K && grad_weight) {
        grad_weight[oc * K + k0 + tap] = real_from(total);
    }
}

/* grad_weight[oc,kh,kw] = sum over n, oh, ow of grad_output * input, grad_bias[oc] =
 * sum of grad_output */
extern "C" status_t
depthwise_conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                          const tensor_t *input, const tensor_t *weight,
                          depthwise_conv2d_params_t p, tensor_t *grad_input,
                          tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    if (grad_input) {
        const status_t status = fallback_backward(ctx, grad_output, input, weight, p,
                                                  grad_input, NULL, NULL);
        if (status != STATUS_OK) return status;
    }
    if (!grad_weight && !grad_bias) return STATUS_OK;
    const int64_t OC = weight->size[0], K = weight->size[2] * weight->size[3];
    const int64_t PARTS = grad_weight ? ceil_div(K, TAPS) : 1;
    grad_weight_kernel<<<grid_of(OC * PARTS), THREADS, 0, ctx->stream>>>(
        *grad_output, *input, *weight, p, data_or_null(grad_weight),
        data_or_null(grad_bias), PARTS);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
