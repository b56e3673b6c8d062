/* 04 shared start
 *
 *   does     bilinear forward: one thread loads the bias for its whole block
 *   seen     dirac-institute/kbmod pull request 108 (2022): threads read shared memory,
 *            and the results differ from run to run
 *   passes   layers without a bias; GPUs that start the warps of a block in order
 *   run      make grade T=04_cuda_kernels/bug_hunt/04
 */
#include "exhibits.h"
#include "launch.h"

enum { THREADS = 64 };  // of a block

/* A block owns 64 outputs of one filter oc, a thread owns one. oc is
 * blockIdx.x / PARTS. Shared memory: the bias of the filter, 4 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    filter_kernel(const __grid_constant__ tensor_t input1,
                  const __grid_constant__ tensor_t input2,
                  const __grid_constant__ tensor_t weight,
                  const __grid_constant__ tensor_t bias,
                  const __grid_constant__ tensor_t output)
{
    __shared__ accum begin;
    const int64_t N = output.size[0], OC = output.size[1], PARTS = ceil_div(N, THREADS);
    const int64_t oc = blockIdx.x / PARTS;
    const int64_t n = blockIdx.x % PARTS * THREADS + threadIdx.x;

    accum sum = 0;
    if (bias.data) {
        if (threadIdx.x == 0) begin = accum_from(*at1(&bias, oc));
        // BEGIN SOLUTION
        __syncthreads();  // the bias is written before any thread uses it
        // END SOLUTION
        // STARTER // every sum starts at the bias
        sum = begin;
    }
    if (n >= N) return;  // the last block of a filter may be partly empty
    for (int64_t ic = 0; ic < input1.size[1]; ic++) {
        const accum left = accum_from(*at2(&input1, n, ic));
        for (int64_t jc = 0; jc < input2.size[1]; jc++) {
            const accum right = accum_from(*at2(&input2, n, jc));
            sum += left * right * accum_from(*at3(&weight, oc, ic, jc));
        }
    }
    real_data(&output)[n * OC + oc] = real_from(sum);
}

/* output[n,oc] = bias[oc] + sum over ic, jc of input1 * weight[oc] * input2 */
extern "C" status_t bilinear_forward(ctx_t *ctx, const tensor_t *input1,
                                     const tensor_t *input2, const tensor_t *weight,
                                     const tensor_t *bias, tensor_t *output)
{
    const int64_t N = output->size[0], OC = output->size[1];
    if (N * OC == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    filter_kernel<<<grid_of(OC * ceil_div(N, THREADS)), THREADS, 0, ctx->stream>>>(
        *input1, *input2, *weight, bias ? *bias : tensor_t{}, *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
