/* 01 block per row
 *
 *   does     add forward: one block for each row of output, one thread per number
 *   seen     ggml-org/llama.cpp pull request 16744 (2025): a block of two whole axes;
 *            sgl-project/sglang issue 32065 (2026): a block as wide as a layer
 *   passes   the tensors that tests usually have
 *   run      make grade T=04_cuda_kernels/bug_hunt/01
 */
#include "launch.h"

/* Returns the offset in t of the first element that a row of output needs. Axes of t
 * with size 1 add nothing. The loop skips the axes that only output has. */
static __device__ int64_t row_begin(const tensor_t *t, const tensor_t *output,
                                    int64_t row)
{
    int64_t begin = 0;
    for (int32_t back = 2; back <= t->ndim; back++) {  // the second-last axis first
        const int64_t extent = output->size[output->ndim - back];
        const int32_t axis = t->ndim - back;
        if (t->size[axis] > 1) begin += row % extent * t->stride[axis];
        row /= extent;
    }
    return begin;
}

/* Returns the distance of two neighbours in a row of t, or 0 if t is stretched. */
static __device__ int64_t row_step(const tensor_t *t)
{
    if (t->ndim < 1 || t->size[t->ndim - 1] < 2) return 0;
    return t->stride[t->ndim - 1];
}

/* A block works on one row of output, a thread on one number. No shared memory. */
static __global__ void row_kernel(const __grid_constant__ tensor_t input,
                                  const __grid_constant__ tensor_t other, accum alpha,
                                  const __grid_constant__ tensor_t output, int64_t D)
{
    // BEGIN SOLUTION
    const int64_t PARTS = ceil_div(D, blockDim.x);  // blocks per row
    const int64_t row = blockIdx.x / PARTS;
    const int64_t d = blockIdx.x % PARTS * blockDim.x + threadIdx.x;
    // END SOLUTION
    // STARTER const int64_t row = blockIdx.x, d = threadIdx.x;
    if (d >= D) return;
    const real *left = real_data(&input) + row_begin(&input, &output, row);
    const real *right = real_data(&other) + row_begin(&other, &output, row);
    const accum scaled = alpha * accum_from(right[d * row_step(&other)]);
    const accum sum = accum_from(left[d * row_step(&input)]) + scaled;
    real_data(&output)[row * D + d] = real_from(sum);
}

/* output = input + alpha * other; input and other are broadcast to output's shape */
extern "C" status_t add_forward(ctx_t *ctx, const tensor_t *input,
                                const tensor_t *other, add_params_t p, tensor_t *output)
{
    const int32_t axes = output->ndim;
    const int64_t D = axes > 0 ? output->size[axes - 1] : 1;
    const int64_t ROWS = axes > 0 ? tensor_count(output, axes - 1) : 1;
    if (ROWS * D < 1) return STATUS_OK;  // a grid of 0 blocks is an error
    // BEGIN SOLUTION
    enum { THREADS = 128 };  // of a block
    const unsigned threads = THREADS, grid = grid_of(ceil_div(D, THREADS) * ROWS);
    // END SOLUTION
    // STARTER const unsigned threads = (unsigned)D, grid = grid_of(ROWS);
    row_kernel<<<grid, threads, 0, ctx->stream>>>(*input, *other, (accum)p.alpha,
                                                  *output, D);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
