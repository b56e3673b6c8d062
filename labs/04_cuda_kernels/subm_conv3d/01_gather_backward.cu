/* 01 gather backward
 *
 *   idea    a table has the output row of each input row, so threads gather their sums
 *   expect  no factor: 03_tile_backward is compared with it; equal results in each run
 *   limit   for one sum, a thread loops over all pairs of a position or all points
 *   run     make grade T=04_cuda_kernels/subm_conv3d/01
 *
 * This file has only backward, for all shapes. Workspace for P points: KD*KH*KW*P
 * row numbers of 4 bytes, and a copy of a non-contiguous weight.
 */
#include "layout.h"
#include "points.h"

enum { THREADS = 256 };  // of a block

/* Sets writes[k][read] = write for each pair (read, write) of kernel position k in
 * rulebook. A block owns 256 pairs, a thread owns one. No shared memory is used. */
static __global__ void turn_kernel(const __grid_constant__ tensor_t rulebook,
                                   const __grid_constant__ tensor_t count,
                                   int32_t *__restrict__ writes)
{
    // BEGIN SOLUTION
    const int64_t P = rulebook.size[1];
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, k = i / P;
    if (k >= rulebook.size[0] || i % P >= pairs_of(&count, k)) return;
    const int32_t write = pair_at(&rulebook, k, i % P, 1);
    writes[k * P + pair_at(&rulebook, k, i % P, 0)] = write;
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
}

/* Sums grad_output[writes[k][read]] @ filters[:,:,k] over all k to grad_features[read].
 * k is a kernel position of filters (OC, IC, PLACES). A block owns 256 consecutive
 * elements of grad_features, a thread owns one. Neighbouring threads own neighbouring
 * channels of a point. No shared memory is used. */
static __global__ void features_kernel(const __grid_constant__ tensor_t grad_output,
                                       const __grid_constant__ tensor_t filters,
                                       const int32_t *__restrict__ writes,
                                       real *__restrict__ grad_features, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const int64_t P = grad_output.size[0], OC = filters.size[0], IC = filters.size[1];
    const int64_t PLACES = filters.size[2];
    const real *filter = at3(&filters, 0, i % IC, 0);
    const int32_t *next = writes + i / IC;
    accum sum = 0;
    for (int64_t k = 0; k < PLACES; k++, filter++, next += P) {
        const int32_t write = *next;
        const int64_t first = write < 0 ? OC : 0;  // without a pair there is no term
        for (int64_t oc = first; oc < OC; oc++)
            sum += accum_from(filter[oc * filters.stride[0]]) *
                   accum_from(*at2(&grad_output, write, oc));
    }
    grad_features[i] = real_from(sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 13 lines)
}

/* grad_weight[oc,ic,k] sums grad_output[write,oc] * features[read,ic] over all pairs of
 * position k. A block owns 256 weights, a thread owns one. No shared memory is used. */
static __global__ void weight_kernel(const __grid_constant__ tensor_t grad_output,
                                     const __grid_constant__ tensor_t features,
                                     const __grid_constant__ tensor_t rulebook,
                                     const __grid_constant__ tensor_t count,
                                     real *__restrict__ grad_weight, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const int64_t PLACES = rulebook.size[0], PER_PLACE = COUNT / PLACES;
    const int64_t IC = features.size[1], ic = i % IC, oc = i % PER_PLACE / IC;
    const int64_t k = i / PER_PLACE;  // neighbouring threads share k and its pairs
    const int64_t pairs = pairs_of(&count, k);
    accum sum = 0;
    for (int64_t n = 0; n < pairs; n++)
        sum += accum_from(*at2(&grad_output, pair_at(&rulebook, k, n, 1), oc)) *
               accum_from(*at2(&features, pair_at(&rulebook, k, n, 0), ic));
    grad_weight[(oc * IC + ic) * PLACES + k] = real_from(sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 9 lines)
}

/* Sums up the rows of grad_output (P, OC) to grad_bias (OC). A block owns 256 columns
 * of grad_output, a thread owns one column. No shared memory is used. */
static __global__ void bias_kernel(const __grid_constant__ tensor_t grad_output,
                                   real *__restrict__ grad_bias)
{
    const int64_t oc = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (oc >= grad_output.size[1]) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t row = 0; row < grad_output.size[0]; row++)
        sum += accum_from(*at2(&grad_output, row, oc));
    grad_bias[oc] = real_from(sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 4 lines)
}

/* For the pairs (read, write) of a kernel position k:
 *     grad_features[read] += grad_output[write] @ weight[:,:,k]
 *     grad_weight[:,:,k]  += grad_output[write]^T @ features[read] */
extern "C" status_t subm_conv3d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                         const tensor_t *features,
                                         const tensor_t *weight,
                                         const tensor_t *rulebook,
                                         const tensor_t *count, subm_conv3d_params_t p,
                                         tensor_t *grad_features, tensor_t *grad_weight,
                                         tensor_t *grad_bias)
{
    (void)p;  // the rulebook contains the dilation
    const int64_t P = features->size[0], OC = weight->size[0];
    const int64_t PLACES = rulebook->size[0], POINTS = tensor_numel(features);
    const int64_t COUNT = tensor_numel(weight);
    // BEGIN SOLUTION
    if (grad_features && POINTS > 0) {
        const size_t bytes = (size_t)(PLACES * P) * sizeof(int32_t);
        int32_t *writes = (int32_t *)ctx_scratch(ctx, bytes);
        if (!writes) return STATUS_NO_MEMORY;
        const real *filters = tensor_contiguous(ctx, weight);
        if (!filters && COUNT > 0) return STATUS_NO_MEMORY;
        CUDA_TRY(ctx, cudaMemsetAsync(writes, 0xff, bytes, ctx->stream));  // all -1
        turn_kernel<<<grid_of(ceil_div(PLACES * P, THREADS)), THREADS, 0,
                      ctx->stream>>>(*rulebook, *count, writes);
        CUDA_TRY(ctx, cudaGetLastError());
        features_kernel<<<grid_of(ceil_div(POINTS, THREADS)), THREADS, 0,
                          ctx->stream>>>(*grad_output,
                                         tensor_3d(filters, OC, POINTS / P, PLACES),
                                         writes, real_data(grad_features), POINTS);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    // END SOLUTION
    // STARTER // your code: the table and grad_features (the reference takes 16 lines)
    // STARTER (void)P, (void)PLACES, (void)POINTS, (void)turn_kernel;
    // STARTER (void)features_kernel;
    // BEGIN SOLUTION
    if (grad_weight && COUNT > 0) {
        weight_kernel<<<grid_of(ceil_div(COUNT, THREADS)), THREADS, 0, ctx->stream>>>(
            *grad_output, *features, *rulebook, *count, real_data(grad_weight), COUNT);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    if (!grad_bias || OC == 0) return STATUS_OK;
    bias_kernel<<<grid_of(ceil_div(OC, THREADS)), THREADS, 0, ctx->stream>>>(
        *grad_output, real_data(grad_bias));
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: grad_weight and grad_bias (the reference takes 10 lines)
    // STARTER (void)OC, (void)COUNT, (void)weight_kernel, (void)bias_kernel;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
