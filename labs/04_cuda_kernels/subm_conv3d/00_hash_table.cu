/* 00 hash table
 *
 *   idea    all points enter a hash table at once; then each output gathers its sum
 *   expect  no factor: 02_gathered_tile is compared with it; equal results in each run
 *   limit   a kernel position has one warp; threads read weights IC*KD*KH*KW apart
 *   run     make grade T=04_cuda_kernels/subm_conv3d/00
 *
 * It has only forward. Workspace for P points: (8 + KD*KH*KW)*P numbers of 4 bytes,
 * and a copy of a non-contiguous weight. Threads take slots with atomics. The order of
 * threads decides which slot a row gets, but not which row a search finds.
 */
#include "layout.h"
#include "points.h"

enum { WARP = 32, THREADS = 256 };  // of a block

/* Returns the slot where the search for point `at` begins. The upper half of the 64-bit
 * key depends on all bits of the point. The number SLOTS is a power of 2. */
static __device__ int64_t first_slot(point_t at, int64_t SLOTS)
{
    // BEGIN SOLUTION
    const uint64_t key =
        (uint64_t)at.n * 0xd6e8feb86659fd93u + (uint64_t)at.z * 0xa0761d6478bd642fu +
        (uint64_t)at.y * 0xe7037ed1a0b428dbu + (uint64_t)at.x * 0x9e3779b97f4a7c15u;
    return (int64_t)(key >> 32) & (SLOTS - 1);
    // END SOLUTION
    // STARTER // your code: large odd factors (the reference takes 4 lines)
    // STARTER return 0;
}

/* Writes each row number to the first free slot (-1) from first_slot of its point on. A
 * block owns 256 consecutive rows, a thread owns one. No shared memory is used. */
static __global__ void insert_kernel(const __grid_constant__ tensor_t coordinates,
                                     int32_t *slot, int64_t SLOTS)
{
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= coordinates.size[0]) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    int64_t i = first_slot(point_at(&coordinates, row), SLOTS);
    while (atomicCAS(slot + i, -1, (int32_t)row) != -1) i = (i + 1) & (SLOTS - 1);
    // END SOLUTION
    // STARTER // your code (the reference takes 2 lines)
    // STARTER (void)first_slot;  // delete when you call it
}

/* Returns the row of point `at`, or -1. Tests slots from first_slot to a free slot. */
static __device__ int32_t find(const tensor_t *coordinates, const int32_t *slot,
                               int64_t SLOTS, point_t at)
{
    // BEGIN SOLUTION
    int64_t i = first_slot(at, SLOTS);
    for (; slot[i] >= 0; i = (i + 1) & (SLOTS - 1)) {
        if (is_same(point_at(coordinates, slot[i]), at)) break;
    }
    return slot[i];
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
    // STARTER return 0;
}

/* Sets reads[k][write] = read for each pair (read, write), else -1. Also fills rulebook
 * and count. A block of one warp owns kernel position k, a thread takes 1 of 32 points.
 * A vote of the warp counts pairs of earlier threads. No shared memory is used. */
static __global__ void find_kernel(const __grid_constant__ tensor_t coordinates,
                                   const __grid_constant__ tensor_t weight,
                                   subm_conv3d_params_t p, const int32_t *slot,
                                   int64_t SLOTS, int32_t *reads, int32_t *rulebook,
                                   int64_t *count)
{
    // BEGIN SOLUTION
    const int64_t P = coordinates.size[0], k = blockIdx.x;
    const int64_t KD = weight.size[2], KH = weight.size[3], KW = weight.size[4];
    const int64_t z = (k / KW / KH - KD / 2) * p.dilation_d;
    const int64_t y = (k / KW % KH - KH / 2) * p.dilation_h;
    const int64_t x = (k % KW - KW / 2) * p.dilation_w;
    int64_t pairs = 0;
    for (int64_t first = 0; first < P; first += WARP) {
        const int64_t write = first + threadIdx.x;
        int32_t read = -1;
        if (write < P) {
            point_t at = point_at(&coordinates, write);
            at.z += z, at.y += y, at.x += x;
            read = find(&coordinates, slot, SLOTS, at);
            reads[k * P + write] = read;
        }
        const unsigned found = __ballot_sync(~0u, read >= 0);  // a bit for each thread
        const int64_t i = pairs + __popc(found & ((1u << threadIdx.x) - 1));
        if (rulebook && read >= 0) {
            rulebook[(k * P + i) * 2] = read;
            rulebook[(k * P + i) * 2 + 1] = (int32_t)write;
        }
        pairs += __popc(found);
    }
    if (count && threadIdx.x == 0) count[k] = pairs;
    // END SOLUTION
    // STARTER // your code (the reference takes 24 lines)
    // STARTER (void)find;  // delete when you call it
}

/* Computes output[write] = bias + sum over k of filters[:,:,k] @
 * features[reads[k][write]]. k is a kernel position of filters (OC, IC, PLACES). A
 * block owns 256 consecutive elements of output, a thread owns one. Neighbouring
 * threads own neighbouring channels of a point. No shared memory is used. */
static __global__ void sum_kernel(const __grid_constant__ tensor_t features,
                                  const __grid_constant__ tensor_t filters,
                                  const __grid_constant__ tensor_t bias,
                                  const int32_t *__restrict__ reads,
                                  real *__restrict__ output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const int64_t P = features.size[0], OC = filters.size[0], IC = filters.size[1];
    const int64_t oc = i % OC, PLACES = filters.size[2];
    const real *filter = at3(&filters, oc, 0, 0);
    const int32_t *next = reads + i / OC;
    accum sum = bias.data ? accum_from(*at1(&bias, oc)) : 0;
    for (int64_t k = 0; k < PLACES; k++, filter++, next += P) {
        const int32_t read = *next;
        const int64_t first = read < 0 ? IC : 0;  // without a pair there is no term
        for (int64_t ic = first; ic < IC; ic++)
            sum +=
                accum_from(filter[ic * PLACES]) * accum_from(*at2(&features, read, ic));
    }
    output[i] = real_from(sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 13 lines)
}

/* Computes output[write]: bias plus weight @ features[read], for all pairs of write. */
extern "C" status_t subm_conv3d_forward(ctx_t *ctx, const tensor_t *features,
                                        const tensor_t *coordinates,
                                        const tensor_t *weight, const tensor_t *bias,
                                        subm_conv3d_params_t p, tensor_t *output,
                                        tensor_t *rulebook, tensor_t *count)
{
    // BEGIN SOLUTION
    const int64_t P = features->size[0], COUNT = P * weight->size[0];
    const int64_t PLACES = weight->size[2] * weight->size[3] * weight->size[4];
    int64_t SLOTS = 2;
    while (SLOTS <= 4 * P) SLOTS *= 2;
    int32_t *slot = (int32_t *)ctx_scratch(ctx, (size_t)(SLOTS + PLACES * P) * 4);
    if (!slot) return STATUS_NO_MEMORY;
    CUDA_TRY(ctx, cudaMemsetAsync(slot, 0xff, (size_t)SLOTS * 4, ctx->stream));  // -1
    if (P > 0) {
        insert_kernel<<<grid_of(ceil_div(P, THREADS)), THREADS, 0, ctx->stream>>>(
            *coordinates, slot, SLOTS);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    find_kernel<<<grid_of(PLACES), WARP, 0, ctx->stream>>>(
        *coordinates, *weight, p, slot, SLOTS, slot + SLOTS,
        (int32_t *)(rulebook ? rulebook->data : NULL),
        (int64_t *)(count ? count->data : NULL));
    CUDA_TRY(ctx, cudaGetLastError());
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const real *filters = tensor_contiguous(ctx, weight);
    if (!filters && weight->size[1] > 0) return STATUS_NO_MEMORY;
    sum_kernel<<<grid_of(ceil_div(COUNT, THREADS)), THREADS, 0, ctx->stream>>>(
        *features, tensor_3d(filters, COUNT / P, weight->size[1], PLACES),
        bias ? *bias : tensor_t{}, slot + SLOTS, real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 25 lines)
    // STARTER (void)insert_kernel, (void)find_kernel, (void)sum_kernel;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
