/* 03 tile backward
 *
 *   idea    grad_features uses tiles as in 02: a table has the output row of each point
 *   expect  for grad_features, it moves 1/8 of the bytes of 01_gather_backward
 *   limit   the time for grad_weight, which a lower rung computes
 *   run     make grade T=04_cuda_kernels/subm_conv3d/03
 *
 * It computes only grad_features. A lower rung computes the other gradients. Workspace
 * for P points: KD*KH*KW*P row numbers, and a copy of a non-contiguous weight.
 */
#include "layout.h"
#include "points.h"

enum { BM = 32, BN = 32, BK = 16, TM = 4, THREADS = BM * BN / TM };
enum { ROWS = BM * BK / THREADS };                   // rows per thread
enum { DOWN = THREADS / BK, ALONG = THREADS / BN };  // a thread's steps: rows; terms

/* Sets writes[k][read] = write for each pair (read, write) of kernel position k in
 * rulebook. A block owns 256 pairs, a thread owns one. No shared memory is used. */
static __global__ void table_kernel(const __grid_constant__ tensor_t rulebook,
                                    const __grid_constant__ tensor_t count,
                                    int32_t *__restrict__ writes)
{
    // BEGIN SOLUTION
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t P = rulebook.size[1], k = i / P;
    if (k >= rulebook.size[0]) return;  // the last block may be partly empty
    if (i % P >= pairs_of(&count, k)) return;
    const int32_t read = pair_at(&rulebook, k, i % P, 0);
    const int32_t write = pair_at(&rulebook, k, i % P, 1);
    writes[k * P + read] = write;
    // END SOLUTION
    // STARTER // your code (the reference takes 7 lines)
}

/* A thread copies numbers from these addresses to the tiles of one kernel position. */
typedef struct {
    const real *row[ROWS];  // term t % BK of rows t / BK, t / BK + DOWN; NULL: none
    const real *filter;     // term t / BN of column t % BN
    bool is_outside;        // column t % BN does not exist
    int64_t row_step, filter_step;    // distance of two terms
    int64_t row_ahead, filter_ahead;  // offsets of the next terms from row and filter
} source_t;

/* Finds the thread's addresses in grad_output for one kernel position. row[i] is the
 * row of grad_output for row i of the tile, or -1 if there is no pair. */
static __device__ void find_rows(source_t *from, const tensor_t *grad_output,
                                 const int32_t *row)
{
    // BEGIN SOLUTION
    const int t = threadIdx.x;
    for (int i = 0; i < ROWS; i++) {
        const int32_t number = row[t / BK + i * DOWN];
        from->row[i] = number < 0 ? NULL : at2(grad_output, number, t % BK);
    }
    from->row_ahead = from->filter_ahead = 0;
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
}

/* Copies the next BK terms to left and right, or 0 after count terms. Moves `from`. */
static __device__ void fetch(source_t *from, int64_t count, accum (&left)[BK][BM + 1],
                             accum (&right)[BK][BN])
{
    // BEGIN SOLUTION
    const int t = threadIdx.x, at = t % BK;
    for (int i = 0; i < ROWS; i++) {
        const bool there = from->row[i] && at < count;
        left[at][t / BK + i * DOWN] =
            there ? accum_from(from->row[i][from->row_ahead]) : 0;
    }
    const real *term = from->filter + from->filter_ahead;
    for (int i = 0; i < BK; i += ALONG, term += ALONG * from->filter_step) {
        const bool there = !from->is_outside && i + t / BN < count;
        right[i + t / BN][t % BN] = there ? accum_from(*term) : 0;
    }
    from->row_ahead += BK * from->row_step;
    from->filter_ahead += BK * from->filter_step;
    // END SOLUTION
    // STARTER // your code: one number for each of its rows, then for its column of the
    // STARTER // weight (the reference takes 13 lines)
}

/* Computes grad_features = sum over k of grad_output[writes[k]] @ filters[:,:,k]. A
 * block owns 32 channels of 32 points, a thread owns one channel of 4 points. If a
 * point has a pair at kernel position k, the block copies 16 terms at a time. It copies
 * rows of grad_output, and a tile of filters for all 32 points. Shared memory: a block
 * needs 32 row numbers, 16 x 33 and 16 x 32 numbers, 4288 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    tile_kernel(const __grid_constant__ tensor_t grad_output,
                const __grid_constant__ tensor_t filters,
                const int32_t *__restrict__ writes, real *__restrict__ grad_features)
{
    [[maybe_unused]] __shared__ accum
        left[BK][BM + 1];  // +1 avoids bank conflicts when a warp writes a column
    [[maybe_unused]] __shared__ accum right[BK][BN];
    [[maybe_unused]] __shared__ int32_t row[BM];
    const int64_t P = grad_output.size[0], K = filters.size[0], N = filters.size[1];
    const int64_t PLACES = K > 0 ? filters.size[2] : 0, TILES = ceil_div(N, BN);
    const int64_t m0 = blockIdx.x / TILES * BM, n0 = blockIdx.x % TILES * BN;
    const int t = threadIdx.x, tx = t % BN, ty = t / BN;
    source_t from = {};
    from.filter = at3(&filters, ty, n0 + tx, 0);
    from.is_outside = n0 + tx >= N;
    from.row_step = grad_output.stride[1], from.filter_step = filters.stride[0];
    const bool is_point = t < BM && m0 + t < P;
    const int32_t *next = writes + m0 + t;
    accum sum[TM] = {};
    for (int64_t k = 0; k < PLACES; k++, from.filter++, next += P) {
        const int32_t mine = is_point ? *next : -1;
        if (t < BM) row[t] = mine;
        // row numbers are written before threads read them; if all are -1, skip k
        if (!__syncthreads_or(mine >= 0)) continue;
        find_rows(&from, &grad_output, row);
        for (int64_t count = K; count > 0; count -= BK) {
            fetch(&from, count, left, right);
            __syncthreads();  // both tiles are written before any thread reads them
            // BEGIN SOLUTION
            for (int j = 0; j < BK; j++) {
                for (int i = 0; i < TM; i++)
                    sum[i] += left[j][ty * TM + i] * right[j][tx];
            }
            // END SOLUTION
            // STARTER // your code: 4 sums of column tx (the reference takes 4 lines)
            __syncthreads();  // all have read the tiles before they change
        }
    }
    for (int i = 0; i < TM; i++) {
        const int64_t m = m0 + ty * TM + i, n = n0 + tx;
        if (m >= P || n >= N) continue;  // an edge
        grad_features[m * N + n] = real_from(sum[i]);
    }
}

/* Sums up grad_output[write] @ weight[:,:,k] over all pairs to grad_features[read]. */
extern "C" status_t subm_conv3d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                         const tensor_t *features,
                                         const tensor_t *weight,
                                         const tensor_t *rulebook,
                                         const tensor_t *count, subm_conv3d_params_t p,
                                         tensor_t *grad_features, tensor_t *grad_weight,
                                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    if (!grad_features) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_WEIGHT | GRAD_BIAS;
    if (tensor_numel(features) == 0) return STATUS_OK;
    const int64_t P = features->size[0], OC = weight->size[0], IC = weight->size[1];
    const int64_t PLACES = rulebook->size[0], COUNT = PLACES * P;
    const size_t bytes = (size_t)COUNT * sizeof(int32_t);
    int32_t *writes = (int32_t *)ctx_scratch(ctx, bytes);
    if (!writes) return STATUS_NO_MEMORY;
    CUDA_TRY(ctx, cudaMemsetAsync(writes, 0xff, bytes, ctx->stream));  // all -1
    table_kernel<<<grid_of(ceil_div(COUNT, THREADS)), THREADS, 0, ctx->stream>>>(
        *rulebook, *count, writes);
    CUDA_TRY(ctx, cudaGetLastError());
    const real *filters = tensor_contiguous(ctx, weight);
    if (!filters && OC > 0) return STATUS_NO_MEMORY;
    const unsigned blocks = grid_of(ceil_div(P, BM) * ceil_div(IC, BN));
    tile_kernel<<<blocks, THREADS, 0, ctx->stream>>>(*grad_output,
                                                     tensor_3d(filters, OC, IC, PLACES),
                                                     writes, real_data(grad_features));
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 20 lines)
    // STARTER (void)table_kernel, (void)tile_kernel;  // delete when you call them
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
