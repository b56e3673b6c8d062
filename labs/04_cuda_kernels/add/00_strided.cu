/* 00 strided
 *
 *   idea    one thread for each element; strides give the offsets of the operands
 *   expect  no factor: 01_coalesced is compared with this file, not with PyTorch
 *   limit   index arithmetic: two 64-bit divisions for every axis of every operand
 *   run     make grade T=04_cuda_kernels/add/00
 */
#include "launch.h"

enum { THREADS = 256 };  // of a block

/* Returns a view of t, stretched to `shape`. The view has stride 0 along axes of size
 * 1, and along axes that t lacks. The last axis of t is the last axis of `shape`:
 *
 *     shape (2, 3, 4)    t (3, 1), strides 1, 1    view (2, 3, 4), strides 0, 1, 0 */
static tensor_t stretched(const tensor_t *t, const tensor_t *shape)
{
    // BEGIN SOLUTION
    tensor_t view = *shape;
    view.data = t->data;
    const int32_t missing = shape->ndim - t->ndim;  // axes that t lacks
    for (int32_t d = 0; d < shape->ndim; d++) {
        const bool moves = d >= missing && t->size[d - missing] != 1;
        view.stride[d] = moves ? t->stride[d - missing] : 0;
    }
    return view;
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER return tensor_t{};
}

/* A block owns 256 consecutive elements of output, a thread owns one. The views input
 * and other have the shape of output. The kernel uses no shared memory. */
static __global__ void add_forward_kernel(const __grid_constant__ tensor_t input,
                                          const __grid_constant__ tensor_t other,
                                          accum alpha, real *__restrict__ output,
                                          int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const real lhs = real_data(&input)[tensor_offset(&input, input.ndim, i)];
    const real rhs = real_data(&other)[tensor_offset(&other, other.ndim, i)];
    output[i] = real_from(accum_from(lhs) + alpha * accum_from(rhs));
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
}

/* output = input + alpha * other; input and other are broadcast to output's shape */
extern "C" status_t add_forward(ctx_t *ctx, const tensor_t *input,
                                const tensor_t *other, add_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    add_forward_kernel<<<blocks, THREADS, 0, ctx->stream>>>(
        stretched(input, output), stretched(other, output), (accum)p.alpha,
        real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER (void)stretched, (void)add_forward_kernel;  // delete when you call them
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* A block owns 256 consecutive elements of grad, a thread owns one. The thread adds up
 * grad_output over all outputs that depend on its element. `kept` is grad_output along
 * the axes of grad, `summed` along the stretched axes. Only one thread writes grad[i],
 * so the kernel needs no atomics. No shared memory. */
static __global__ void add_backward_kernel(const __grid_constant__ tensor_t kept,
                                           const __grid_constant__ tensor_t summed,
                                           accum scale, real *__restrict__ grad,
                                           int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const real *terms = real_data(&kept) + tensor_offset(&kept, kept.ndim, i);
    const int64_t TERMS = tensor_numel(&summed);
    accum sum = 0;  // stays 0 if grad_output is empty
    for (int64_t term = 0; term < TERMS; term++) {
        sum += accum_from(terms[tensor_offset(&summed, summed.ndim, term)]);
    }
    grad[i] = real_from(scale * sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 7 lines)
}

/* Computes grad = scale * grad_output, summed over the stretched axes. Two views divide
 * the axes of grad_output: `kept` has the axes of grad, `summed` has the stretched
 * axes. An axis that belongs to one view has size 1 in the other view. */
static status_t sum_to_shape(ctx_t *ctx, const tensor_t *grad_output, accum scale,
                             tensor_t *grad)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(grad);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    tensor_t kept = *grad_output, summed = *grad_output;
    const int32_t missing = grad_output->ndim - grad->ndim;  // axes that grad lacks
    for (int32_t d = 0; d < grad_output->ndim; d++) {
        const bool moves = d >= missing && grad->size[d - missing] != 1;
        (moves ? summed : kept).size[d] = 1;
    }
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    add_backward_kernel<<<blocks, THREADS, 0, ctx->stream>>>(kept, summed, scale,
                                                             real_data(grad), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 13 lines)
    // STARTER (void)add_backward_kernel;  // delete when you call it
    // STARTER return status_t{};
}

/* Sums grad_output into grad_input, and alpha * grad_output into grad_other. */
extern "C" status_t add_backward(ctx_t *ctx, const tensor_t *grad_output,
                                 add_params_t p, tensor_t *grad_input,
                                 tensor_t *grad_other)
{
    // BEGIN SOLUTION
    status_t status = STATUS_OK;
    if (grad_input) status = sum_to_shape(ctx, grad_output, 1, grad_input);
    if (status != STATUS_OK || !grad_other) return status;
    return sum_to_shape(ctx, grad_output, (accum)p.alpha, grad_other);
    // END SOLUTION
    // STARTER // your code (the reference takes 4 lines)
    // STARTER (void)sum_to_shape;  // delete when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
