// SPDX-License-Identifier: MIT
/* splits.h - if there are too few tiles, several blocks divide the sums of a tile
 *
 * A split is a range of the K terms of a sum. A block sums one split of a tile into
 * scratch memory. A second kernel adds up the splits in a fixed order.
 */
#ifndef CONVLAB_SPLITS_H
#define CONVLAB_SPLITS_H

#include "launch.h"

enum { SUM_THREADS = 256 };  // threads of a block that adds up sums

typedef struct {
    int TERMS;              // terms of a split; the last one may have fewer
    int64_t COUNT, BLOCKS;  // splits of a tile; blocks of all tiles
    accum *result;          // output, or (COUNT, all sums) in scratch memory, or NULL
} splits_t;

/* Divides the K terms of each sum, so that TILES tiles give up to BLOCKS blocks. All
 * splits but the last have LEAST terms or more, a multiple of BK. If there is no
 * scratch memory, `result` is NULL. In f16, `result` is always scratch memory. */
template <int BLOCKS, int LEAST, int BK>
static splits_t splits_of(ctx_t *ctx, const tensor_t *output, int64_t TILES, int64_t K)
{
    int64_t wanted = BLOCKS / TILES < K / LEAST ? BLOCKS / TILES : K / LEAST;
    if (wanted < 1) wanted = 1;
    splits_t splits;
    splits.TERMS = (int)(ceil_div(ceil_div(K, wanted), BK) * BK);
    splits.COUNT = ceil_div(K, splits.TERMS), splits.BLOCKS = splits.COUNT * TILES;
    const bool alone = splits.COUNT == 1 && sizeof(real) == sizeof(accum);
    const size_t bytes = (size_t)(splits.COUNT * tensor_numel(output)) * sizeof(accum);
    splits.result = (accum *)(alone ? output->data : ctx_scratch(ctx, bytes));
    return splits;
}

/* Adds up partial (SPLITS, COUNT) into output (COUNT), from the first split to the
 * last. A block owns 256 elements of output, a thread owns one. No shared memory. */
static __global__ void sum_kernel(const accum *__restrict__ partial, int64_t SPLITS,
                                  real *__restrict__ output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    accum total = partial[i];
    for (int64_t s = 1; s < SPLITS; s++) total += partial[s * COUNT + i];
    output[i] = real_from(total);
}

/* Launches sum_kernel to add up the splits into output, unless `result` is output. */
static status_t splits_added(ctx_t *ctx, const splits_t *splits, tensor_t *output)
{
    if (splits->result == output->data) return STATUS_OK;
    const int64_t COUNT = tensor_numel(output);
    const unsigned blocks = grid_of(ceil_div(COUNT, SUM_THREADS));
    sum_kernel<<<blocks, SUM_THREADS, 0, ctx->stream>>>(splits->result, splits->COUNT,
                                                        real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}

#endif
