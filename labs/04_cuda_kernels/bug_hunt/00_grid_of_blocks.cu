/* 00 grid of blocks
 *
 *   does     unfold forward: a grid has few blocks; a thread copies several windows
 *   seen     pytorch/vision issue 2598 (2020): deform_conv2d, with grid-stride loops,
 *            crashed at large batches. Pull request 2604 allows more blocks.
 *   passes   small images, which tests usually have
 *   run      make grade T=04_cuda_kernels/bug_hunt/00
 */
#include "launch.h"

enum { THREADS = 16, MOST_BLOCKS = 2 };  // of a block; of a grid

/* A block owns 16 windows, then 16 more at a distance of gridDim.x * 16, and so on. A
 * thread copies the KH*KW numbers of one window at a time. No shared memory. */
static __global__ void window_kernel(const __grid_constant__ tensor_t input,
                                     unfold_params_t p, int64_t OH, int64_t OW,
                                     real *output, int64_t WINDOWS)
{
    const int64_t GRID = (int64_t)gridDim.x * THREADS, P = OH * OW;
    const int64_t IC = input.size[1], PLACES = p.kernel_h * p.kernel_w;
    for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < WINDOWS;
         at += GRID) {
        const int64_t ow = at % OW, oh = at / OW % OH, plane = at / P;  // n*IC + ic
        const int64_t top = oh * p.stride_h - p.padding_h;
        const int64_t left = ow * p.stride_w - p.padding_w;
        // BEGIN SOLUTION
        real *column = output + plane * PLACES * P + oh * OW + ow;
        // END SOLUTION
        // STARTER output += plane * PLACES * P + oh * OW + ow;
        // STARTER real *column = output;
        for (int64_t k = 0; k < PLACES; k++, column += P) {
            const int64_t ih = top + k / p.kernel_w * p.dilation_h;
            const int64_t iw = left + k % p.kernel_w * p.dilation_w;
            const bool seen = ih >= 0 && iw >= 0 && ih < input.size[2];
            *column = seen && iw < input.size[3]
                          ? *at4(&input, plane / IC, plane % IC, ih, iw)
                          : real_from(0);
        }
    }
}

/* output[n, (ic*KH + kh)*KW + kw, oh*OW + ow] = input[n,ic,ih,iw], or 0 in padding */
extern "C" status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                                   tensor_t *output)
{
    const int64_t *image = input->size;
    const int64_t OH =
        conv2d_extent(image[2], p.kernel_h, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t WINDOWS = image[0] * image[1] * output->size[2];
    if (WINDOWS == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const int64_t enough = ceil_div(WINDOWS, THREADS);
    const unsigned grid = grid_of(enough < MOST_BLOCKS ? enough : (int64_t)MOST_BLOCKS);
    window_kernel<<<grid, THREADS, 0, ctx->stream>>>(
        *input, p, OH, output->size[2] / OH, real_data(output), WINDOWS);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
