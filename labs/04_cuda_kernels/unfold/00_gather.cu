/* 00 gather
 *
 *   idea    each thread reads the numbers for its own element; no thread scatters
 *   expect  no factor: this ladder has only one file
 *   limit   the index arithmetic: a thread needs ten 64-bit divisions for one number
 *   run     make grade T=04_cuda_kernels/unfold/00
 */
#include "launch.h"

enum { THREADS = 256 };  // of a block

/* Two windows of 2 x 2 (stride 1) on an image of 2 x 3, and the matrix they become:
 *
 *     image            windows  0      1          output (4, 2)    0 1
 *       a b c                   a b    b c          kh kw = 0 0    a b
 *       d e f                   d e    e f                  0 1    b c
 *                                                           1 0    d e
 *     b and e are in both windows, so they appear twice     1 1    e f   */

/* Copies a pixel of input, or 0 for padding, to each element of output. A block owns
 * 256 consecutive elements of output, a thread owns one. No shared memory is used. */
static __global__ void unfold_forward_kernel(const __grid_constant__ tensor_t input,
                                             unfold_params_t p, int64_t OH, int64_t OW,
                                             real *__restrict__ output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const int64_t IC = input.size[1], IH = input.size[2], IW = input.size[3];
    const int64_t KH = p.kernel_h, KW = p.kernel_w;

    const int64_t ow = i % OW, oh = i / OW % OH;
    const int64_t row = i / (OH * OW);  // row (n, ic, kh, kw) of all images
    const int64_t kw = row % KW, kh = row / KW % KH, ic = row / (KH * KW) % IC;
    const int64_t n = row / (IC * KH * KW);

    const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
    const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
    const bool inside = ih >= 0 && ih < IH && iw >= 0 && iw < IW;
    output[i] = inside ? *at4(&input, n, ic, ih, iw) : real_from(0);
    // END SOLUTION
    // STARTER // your code (the reference takes 10 lines)
}

/* Copies each window of each image of input (N, IC, IH, IW) to a column of output. */
extern "C" status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                                   tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t IH = input->size[2], KH = p.kernel_h;
    const int64_t IW = input->size[3], KW = p.kernel_w;
    const int64_t OH = conv2d_extent(IH, KH, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW = conv2d_extent(IW, KW, p.stride_w, p.padding_w, p.dilation_w);
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    unfold_forward_kernel<<<blocks, THREADS, 0, ctx->stream>>>(
        *input, p, OH, OW, real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 11 lines)
    // STARTER (void)unfold_forward_kernel;  // delete when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Returns the window o that reads pixel i of an axis at position k of the kernel:
 * o * stride + k * dilation - padding == i. If there is no such window, the result is
 * negative or past the last window. */
static __device__ int64_t window_of(int64_t i, int64_t k, int64_t stride,
                                    int64_t padding, int64_t dilation)
{
    // BEGIN SOLUTION
    const int64_t distance = i + padding - k * dilation;
    return distance % stride == 0 ? distance / stride : -1;
    // END SOLUTION
    // STARTER // your code (the reference takes 2 lines)
    // STARTER return 0;
}

/* Sums up grad_input. A block owns 256 consecutive pixels of grad_input, a thread owns
 * one. At each kernel position, the thread finds the window that reads its pixel, and
 * adds grad_output of this window. Only one thread writes a pixel, so no atomics are
 * needed, and the order of each sum is fixed. No shared memory is used. */
static __global__ void
unfold_backward_kernel(const __grid_constant__ tensor_t grad_output, unfold_params_t p,
                       int64_t OH, int64_t OW,
                       const __grid_constant__ tensor_t grad_input, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const int64_t IC = grad_input.size[1];
    const int64_t IH = grad_input.size[2], IW = grad_input.size[3];
    const int64_t KH = p.kernel_h, KW = p.kernel_w;
    const int64_t iw = i % IW, ih = i / IW % IH;
    const int64_t ic = i / (IH * IW) % IC, n = i / (IC * IH * IW);

    accum sum = 0;  // stays 0 for a pixel in no window
    for (int64_t kh = 0; kh < KH; kh++) {
        const int64_t oh = window_of(ih, kh, p.stride_h, p.padding_h, p.dilation_h);
        for (int64_t kw = 0; kw < KW; kw++) {
            const int64_t ow = window_of(iw, kw, p.stride_w, p.padding_w, p.dilation_w);
            if (oh < 0 || oh >= OH || ow < 0 || ow >= OW) continue;
            const int64_t row = (ic * KH + kh) * KW + kw;
            sum += accum_from(*at3(&grad_output, n, row, oh * OW + ow));
        }
    }
    real_data(&grad_input)[i] = real_from(sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 16 lines)
    // STARTER (void)window_of;  // delete when you call it
}

/* Each pixel of grad_input is the sum of grad_output over all windows that read it. */
extern "C" status_t unfold_backward(ctx_t *ctx, const tensor_t *grad_output,
                                    unfold_params_t p, tensor_t *grad_input)
{
    // BEGIN SOLUTION
    if (!grad_input) return STATUS_OK;  // the caller wants no gradient
    const int64_t IH = grad_input->size[2], KH = p.kernel_h;
    const int64_t IW = grad_input->size[3], KW = p.kernel_w;
    const int64_t OH = conv2d_extent(IH, KH, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW = conv2d_extent(IW, KW, p.stride_w, p.padding_w, p.dilation_w);
    const int64_t COUNT = tensor_numel(grad_input);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    unfold_backward_kernel<<<blocks, THREADS, 0, ctx->stream>>>(*grad_output, p, OH, OW,
                                                                *grad_input, COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 12 lines)
    // STARTER (void)unfold_backward_kernel;  // delete when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
