/* 02 point pieces
 *
 *   does     cdist forward: a block loads a point in pieces into shared memory
 *   seen     ORNL/HeCBench issue 253 (2026) in a loop over tiles; pytorch/pytorch pull
 *            request 20182 (2019) in softmax. A race checker found both bugs.
 *   passes   points with few coordinates
 *   run      make grade T=04_cuda_kernels/bug_hunt/02
 */
#include "exhibits.h"
#include "launch.h"

enum { THREADS = 64, PIECE = 32 };  // of a block; coordinates at a time

/* Returns the sum of |piece[i] - other[i * step]| over `count` coordinates i. */
static __device__ accum distance(const real *piece, const real *other, int64_t step,
                                 int64_t count)
{
    accum sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const accum apart = accum_from(piece[i]) - accum_from(other[i * step]);
        sum += apart < 0 ? -apart : apart;
    }
    return sum;
}

/* A block owns the distances of point p of x1 to 64 points of x2, a thread owns the
 * distance to point r. p is blockIdx.x / PARTS. Shared memory: 32 coordinates of point
 * p, 128 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    distance_kernel(const __grid_constant__ tensor_t x1,
                    const __grid_constant__ tensor_t x2,
                    const __grid_constant__ tensor_t output)
{
    __shared__ real piece[PIECE];
    const int64_t R = output.size[1], D = x1.size[1], PARTS = ceil_div(R, THREADS);
    const int64_t p = blockIdx.x / PARTS;
    const int64_t r = blockIdx.x % PARTS * THREADS + threadIdx.x;

    accum sum = 0;
    for (int64_t first = 0; first < D; first += PIECE) {
        const int64_t count = D - first < PIECE ? D - first : PIECE;
        if (threadIdx.x < count) {
            piece[threadIdx.x] = *at2(&x1, p, first + threadIdx.x);
        }
        __syncthreads();  // the piece is written before any thread reads
        if (r < R) sum += distance(piece, at2(&x2, r, first), x2.stride[1], count);
        // BEGIN SOLUTION
        __syncthreads();  // all have read this piece before a new one comes
        // END SOLUTION
        // STARTER // the next piece
    }
    if (r < R) real_data(&output)[p * R + r] = real_from(sum);
}

/* output[p,r] = sum over d of |x1[p,d] - x2[r,d]| */
extern "C" status_t cdist_forward(ctx_t *ctx, const tensor_t *x1, const tensor_t *x2,
                                  tensor_t *output)
{
    const int64_t P = output->size[0], R = output->size[1];
    if (P * R == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    distance_kernel<<<grid_of(P * ceil_div(R, THREADS)), THREADS, 0, ctx->stream>>>(
        *x1, *x2, *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
