/* 01 block per row
 *
 *   does     prelu forward: one block for each row of a channel, one thread per number
 *   seen     ggml-org/llama.cpp pull request 16744 (2025): a block of two whole axes;
 *            sgl-project/sglang issue 32065 (2026): a block as wide as a layer
 *   passes   the tensors that tests usually have
 *   run      make grade T=04_cuda_kernels/bug_hunt/01
 */
#include "exhibits.h"
#include "launch.h"

/* A block works on one row (n, c) of output, a thread on one number of the row. No
 * shared memory. */
static __global__ void row_kernel(const __grid_constant__ tensor_t input,
                                  const __grid_constant__ tensor_t weight,
                                  const __grid_constant__ tensor_t output)
{
    const int64_t C = output.size[1], L = output.size[2];
    // BEGIN SOLUTION
    const int64_t PARTS = ceil_div(L, blockDim.x);  // blocks per row
    const int64_t row = blockIdx.x / PARTS;         // n*C + c
    const int64_t l = blockIdx.x % PARTS * blockDim.x + threadIdx.x;
    // END SOLUTION
    // STARTER const int64_t row = blockIdx.x, l = threadIdx.x;  // row is n*C + c
    if (l >= L) return;
    const accum x = accum_from(*at3(&input, row / C, row % C, l));
    const accum slope = accum_from(*at1(&weight, row % C));
    real_data(&output)[row * L + l] = real_from(x > 0 ? x : slope * x);
}

/* output = input above 0, and weight[c] * input below */
extern "C" status_t prelu_forward(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, tensor_t *output)
{
    const int64_t L = output->size[2], ROWS = output->size[0] * output->size[1];
    if (ROWS * L == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    // BEGIN SOLUTION
    enum { THREADS = 128 };  // of a block
    const unsigned threads = THREADS, grid = grid_of(ceil_div(L, THREADS) * ROWS);
    // END SOLUTION
    // STARTER const unsigned threads = (unsigned)L, grid = grid_of(ROWS);
    row_kernel<<<grid, threads, 0, ctx->stream>>>(*input, *weight, *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
