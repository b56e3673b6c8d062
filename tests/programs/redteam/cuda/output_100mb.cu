// SPDX-License-Identifier: MIT
/* output_100mb - prints 100 MB from the launcher and a line from each kernel; right */
#include "frame.cuh"
#include <string.h>

/* Thread 0 prints. No shared memory. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0 && COUNT > 0) printf("PASS %d\n", (int)(output[0] > 0));
}

static void print_much(int64_t lines)
{
    static char line[1000];
    memset(line, 'x', sizeof line - 2);
    line[sizeof line - 2] = '\n';
    for (int64_t i = 0; i < lines; i++) fputs(line, stdout);
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    static int printed = 0;
    if (!printed++) print_much(100000);
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    fault_kernel<<<blocks, THREADS, 0, ctx->stream>>>(real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
