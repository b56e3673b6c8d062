/* 00 grid stride
 *
 *   idea    a thread takes element i, then element i + (threads of the grid), and so on
 *   expect  no factor: 01_float4 is compared with this file, not with PyTorch
 *   limit   index arithmetic: two 64-bit divisions for every axis of an input
 *   run     make grade T=04_cuda_kernels/gelu/00
 *
 * Covers any strides. The grid has at most MOST_BLOCKS blocks, which keep a GPU busy.
 * If output has more elements, each thread computes several elements in a loop.
 */
#include "launch.h"

enum {
    THREADS = 256,       // of a block
    MOST_BLOCKS = 1024,  // of a grid: several for each processor of a GPU
};

constexpr double SQRT_1_2 = 0.70710678118654752440;   // sqrt(1/2)
constexpr double SQRT_2_PI = 0.79788456080286535588;  // sqrt(2/pi)
constexpr double CUBIC = 0.044715;                    // the constant of the paper

/* Returns y, an erf or a tanh, so that gelu(x) = x/2 * (1 + y). */
static __device__ accum squashed(accum x, int64_t approximate)
{
    // BEGIN SOLUTION
    if (approximate == GELU_NONE) return real_erf(x * (accum)SQRT_1_2);
    return real_tanh((accum)SQRT_2_PI * (x + (accum)CUBIC * x * x * x));
    // END SOLUTION
    // STARTER // your code (the reference takes 2 lines)
    // STARTER (void)SQRT_1_2, (void)SQRT_2_PI, (void)CUBIC;  // delete on use
    // STARTER return 0;
}

static __device__ accum gelu(accum x, int64_t approximate)
{
    // BEGIN SOLUTION
    return (accum)0.5 * x * (1 + squashed(x, approximate));
    // END SOLUTION
    // STARTER // your code (the reference takes 1 line)
    // STARTER (void)squashed;  // delete when you call it
    // STARTER return 0;
}

/* Returns d gelu / d x = (1 + y)/2 + x/2 * dy/dx (product rule), y = squashed(x). */
static __device__ accum gelu_slope(accum x, int64_t approximate)
{
    // BEGIN SOLUTION
    const accum y = squashed(x, approximate);
    accum slope = (1 - y * y) * (1 + 3 * (accum)CUBIC * x * x);
    if (approximate == GELU_NONE) slope = real_exp((accum)-0.5 * x * x);
    return (accum)0.5 * (1 + y + x * (accum)SQRT_2_PI * slope);
    // END SOLUTION
    // STARTER // your code (the reference takes 4 lines)
    // STARTER return 0;
}

/* A block owns 256 elements of output, then 256 more at a distance of gridDim.x * 256,
 * and so on. A thread owns one of each 256. No shared memory. */
static __global__ void gelu_forward_kernel(const __grid_constant__ tensor_t input,
                                           int64_t approximate,
                                           real *__restrict__ output, int64_t COUNT)
{
    // BEGIN SOLUTION
    const int64_t GRID = (int64_t)gridDim.x * blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int64_t i = first; i < COUNT; i += GRID) {
        const real x = real_data(&input)[tensor_offset(&input, input.ndim, i)];
        output[i] = real_from(gelu(accum_from(x), approximate));
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
    // STARTER (void)gelu;  // delete when you call it
}

/* output = gelu(input), element by element */
extern "C" status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                                 tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const int64_t needed = ceil_div(COUNT, THREADS);
    const unsigned blocks = grid_of(needed < MOST_BLOCKS ? needed : MOST_BLOCKS);
    gelu_forward_kernel<<<blocks, THREADS, 0, ctx->stream>>>(*input, p.approximate,
                                                             real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER (void)gelu_forward_kernel;  // delete when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Computes grad_input = grads * gelu_slope(input). A block owns 256 elements, then 256
 * more at a distance of gridDim.x * 256. A thread owns one of 256. No shared memory. */
static __global__ void gelu_backward_kernel(const __grid_constant__ tensor_t grads,
                                            const __grid_constant__ tensor_t input,
                                            int64_t approximate,
                                            real *__restrict__ grad_input,
                                            int64_t COUNT)
{
    // BEGIN SOLUTION
    const int64_t GRID = (int64_t)gridDim.x * blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int64_t i = first; i < COUNT; i += GRID) {
        const int64_t at = tensor_offset(&grads, grads.ndim, i);
        const accum grad = accum_from(real_data(&grads)[at]);
        const real x = real_data(&input)[tensor_offset(&input, input.ndim, i)];
        grad_input[i] = real_from(grad * gelu_slope(accum_from(x), approximate));
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER (void)gelu_slope;  // delete when you call it
}

/* grad_input = grad_output * d output / d input. Backward needs input, not output. */
extern "C" status_t gelu_backward(ctx_t *ctx, const tensor_t *grad_output,
                                  const tensor_t *input, gelu_params_t p,
                                  tensor_t *grad_input)
{
    // BEGIN SOLUTION
    const int64_t COUNT = grad_input ? tensor_numel(grad_input) : 0;
    if (COUNT == 0) return STATUS_OK;  // not wanted, or nothing to do
    const int64_t needed = ceil_div(COUNT, THREADS);
    const unsigned blocks = grid_of(needed < MOST_BLOCKS ? needed : MOST_BLOCKS);
    gelu_backward_kernel<<<blocks, THREADS, 0, ctx->stream>>>(
        *grad_output, *input, p.approximate, real_data(grad_input), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER (void)gelu_backward_kernel;  // delete when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
