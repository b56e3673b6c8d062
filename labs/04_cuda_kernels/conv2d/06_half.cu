/* 06 half
 *
 *   idea    tensor cores multiply halves directly: 16 terms at once, sums in float
 *   expect  7.7 instructions for each mma, a product on tensor cores; time not measured
 *   limit   each number of a window needs its own load of 2 bytes
 *   run     make grade T=04_cuda_kernels/conv2d/06
 *
 * Covers f16, filters of 8, 16, ... weights, kernels of up to 15 x 15, counts of 31
 * bits. Scratch memory: a copy of a non-contiguous weight, the sums of splits.h.
 */
#include "packs.h"
#include "ptx.h"
#include "splits.h"
#include "taps.h"

enum { BM = 64, BN = 128, BK = 32, THREADS = BN };       // of a block
enum { WARP = 32, WN = 32, MT = BM / 16, NT = WN / 8 };  // MT x NT mma of a warp
enum { BLOCKS_PER_SM = 3 };  // as many as 168 registers per thread allow
enum { BLOCKS = BLOCKS_PER_SM * 132, LEAST = 256 };  // blocks; terms per block

typedef packs_t<__half, true, BK, THREADS> packs;  // both tiles: packs along k

typedef struct {
    __half left[BM * BK], right[BN * BK];
} tiles_t;

/* Returns the 16-byte packs of group g's filters, from filter m0 on, for one thread. */
static __device__ source_t<__half> source_of(const real *filters, int GM, int GK, int g,
                                             int m0)
{
    matrix_t matrix;  // (GM, GK)
    matrix.data = filters + (int64_t)g * GM * GK;
    matrix.rows = GM, matrix.columns = GK;
    matrix.row_stride = GK, matrix.column_stride = 1;
    return packs::source(&matrix, m0);
}

/* Starts to copy terms k0 to k0 + BK - 1 of 64 filters to `tile`, asynchronously. Terms
 * from `last` on become 0, and so do filters past the last one. Two packs that a thread
 * copies are APART rows apart. */
static __device__ void copy_filters(const source_t<__half> &from, int k0, int last,
                                    __half *tile)
{
    // BEGIN SOLUTION
    for (int i = 0; i < BM / packs::APART; i++) {
        __half *to = tile + from.to + i * packs::APART * packs::PITCH;
        const bool inside = k0 + from.k < last && i * packs::APART < from.rows;
        ptx::cp_async_zfill<16>(to, from.next + k0 + i * from.apart, inside ? 16 : 0);
    }
    // END SOLUTION
    // STARTER // your code: cp_async_zfill in a loop (the reference takes 5 lines)
}

/* Loads BK pixels of a window, at the offsets `taps`, into `right`; padding gives 0. */
static __device__ void fetch(const window_t &window, const int2 *taps,
                             __half2 (&right)[BK / 2])
{
    // BEGIN SOLUTION
    const __half *pixel = (const __half *)window.pixel, zero = __half(0.0f);
    for (int i = 0; i < BK / 2; i++) {
        const int4 two = *(const int4 *)(taps + 2 * i);  // one load of 16 bytes
        right[i] = __halves2half2(two.y & window.outside ? zero : pixel[two.x],
                                  two.w & window.outside ? zero : pixel[two.z]);
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
}

/* Stores `right`, BK terms of a window, in row threadIdx.x of `tile`, 8 at once. */
static __device__ void keep(const __half2 (&right)[BK / 2], __half *tile)
{
    // BEGIN SOLUTION
    for (int k = 0; k < BK; k += 8)
        *(uint4 *)(tile + packs::place(threadIdx.x, k)) =
            *(const uint4 *)(right + k / 2);
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
}

/* A warp adds tiles.left (BM, BK) @ tiles.right^T (BK, WN) to its sums. Each ldmatrix
 * loads 16 x 16 numbers: filters for one mma, or windows for two. */
static __device__ void multiply(const tiles_t &tiles, float (&sum)[MT][NT][4])
{
    // BEGIN SOLUTION
    const int half = threadIdx.x / 8 % 2 * 8, other = threadIdx.x / 16 % 2 * 8;
    const int m = threadIdx.x % 8 + half;
    const int n = threadIdx.x / WARP * WN + threadIdx.x % 8 + other;
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
        unsigned a[MT][4], b[NT / 2][4];
        for (int i = 0; i < MT; i++)
            ptx::ldmatrix(a[i], tiles.left + packs::place(m + 16 * i, k + other));
        for (int j = 0; j < NT / 2; j++)
            ptx::ldmatrix(b[j], tiles.right + packs::place(n + 16 * j, k + half));
        for (int i = 0; i < MT; i++) {
            for (int j = 0; j < NT; j++) {
                const unsigned *of = b[j / 2] + j % 2 * 2;
                ptx::mma_f16(sum[i][j], a[i], {of[0], of[1]}, sum[i][j]);
            }
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 16 lines)
}

/* sum_filter(i) returns the filter of sum[i / 2][j][i % 2 * 2] and of the next sum.
 * sum_window(j) returns the window of the first of these sums. See mma in ptx.h. */
static __device__ int sum_filter(int i)
{
    return i / 2 * 16 + threadIdx.x % WARP / 4 + i % 2 * 8;
}
static __device__ int sum_window(int j)
{
    return threadIdx.x / WARP * WN + 8 * j + threadIdx.x % 4 * 2;
}

/* Sets each of a thread's sums to the bias of its filter, or to 0 without a bias. */
static __device__ void begin(float (&sum)[MT][NT][4], const tensor_t *bias, int first,
                             int GM)
{
    for (int i = 0; i < 2 * MT; i++) {
        const int m = sum_filter(i);
        const float start =
            bias->data && m < GM ? accum_from(*at1(bias, first + m)) : 0;
        for (int j = 0; j < NT; j++)
            sum[i / 2][j][i % 2 * 2] = sum[i / 2][j][i % 2 * 2 + 1] = start;
    }
}

/* Stores a thread's sums in result (N, OC, OH*OW). The tile begins at filter `first`
 * and at window n0. GM is the number of filters from `first` on in the group. */
static __device__ void store(const float (&sum)[MT][NT][4], const tensor_t *output,
                             int first, int GM, int n0, float *result)
{
    const int AREA = (int)(output->size[2] * output->size[3]);
    const int GN = (int)output->size[0] * AREA;
    const bool paired = AREA % 2 == 0 && (uintptr_t)result % sizeof(float2) == 0;
    // BEGIN SOLUTION
#pragma unroll  // with a variable index, sums would not be in registers
    for (int j = 0; j < 2 * NT; j++) {
        const int n = n0 + sum_window(j / 2) + j % 2;
        if (n >= GN || (paired && j % 2)) continue;  // the first of two stores both
        float *to = result + (n / AREA * output->size[1] + first) * AREA + n % AREA;
        for (int i = 0; i < 2 * MT; i++) {
            const int64_t m = sum_filter(i);
            const float *from = &sum[i / 2][j / 2][i % 2 * 2 + j % 2];
            if (m >= GM) continue;
            if (paired)
                *(float2 *)(to + m * AREA) = make_float2(from[0], from[1]);
            else
                to[m * AREA] = from[0];
        }
    }
    // END SOLUTION
    // STARTER // your code: if windows are paired, store two at once
    // STARTER // (the reference takes 14 lines)
    // STARTER (void)paired, (void)GN, (void)sum_window;
}

/* For each group, output (GM, GN) = weight (GM, GK) @ windows (GK, GN). GM = OC/G
 * filters, GN = N*OH*OW windows, GK = IC/G*KH*KW terms of a sum. A block owns SPLIT
 * terms of 64 filters x 128 windows, a warp owns 32 of these windows. A thread owns the
 * sums that mma_f16 gives to its lane (ptx.h). blockIdx.x numbers the tiles in the
 * order (split, g, n0, m0). `result` is output, or scratch memory with a copy for each
 * split. Shared memory: taps and two tiles of each matrix, 41216 bytes. While a block
 * multiplies one pair of tiles, it loads the next pair: filters by asynchronous copies,
 * windows through registers. */
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    conv2d_forward_kernel(const __grid_constant__ tensor_t input,
                          const __grid_constant__ tensor_t weight,
                          const real *__restrict__ filters,
                          const __grid_constant__ tensor_t bias, conv2d_params_t p,
                          const __grid_constant__ tensor_t output, int SPLIT,
                          float *result)
{
    [[maybe_unused]] __shared__ __align__(16) int2 taps[SPAN + BK];
    [[maybe_unused]] __shared__ __align__(128) tiles_t tiles[2];
    const int t = threadIdx.x;
    const int G = (int)p.groups, GM = (int)output.size[1] / G;
    const int GN = (int)(output.size[0] * output.size[2] * output.size[3]);
    const int GK = (int)(weight.size[1] * weight.size[2] * weight.size[3]);
    const int ROWS = (GM + BM - 1) / BM, COLUMNS = (GN + BN - 1) / BN;  // of tiles
    const int column = (int)blockIdx.x / ROWS, other = column / COLUMNS;
    const int m0 = (int)blockIdx.x % ROWS * BM, n0 = column % COLUMNS * BN;
    const int g = other % G, split = other / G;
    const source_t<__half> from = source_of(filters, GM, GK, g, m0);
    const window_t window = window_of(&input, weight.size[1], p, &output, g, n0 + t);

    __align__(16) __half2 right[BK / 2];
    float sum[MT][NT][4];
    begin(sum, &bias, g * GM + m0, split == 0 ? GM - m0 : 0);  // the bias counts once
    const int end = GK - split * SPLIT < SPLIT ? GK : (split + 1) * SPLIT;
    for (int first = split * SPLIT; first < end; first += SPAN) {  // mostly one round
        const int last = end - first < SPAN ? end : first + SPAN;
#pragma unroll 1
        for (int i = t; i < last - first + 2 * BK && i < SPAN + BK; i += THREADS)
            taps[i] = tap_of(&input, &weight, p, first + i, last);
        __syncthreads();  // the taps are complete
        // BEGIN SOLUTION
        copy_filters(from, first, last, tiles[0].left);
        fetch(window, taps, right);
        keep(right, tiles[0].right);
        ptx::cp_async_wait_all();
        __syncthreads();  // all copies and numbers are complete before any thread reads
        const int2 *next = taps + BK;
        for (int k0 = first, now = 0; k0 < last; k0 += BK, now ^= 1, next += BK) {
            copy_filters(from, k0 + BK, last, tiles[now ^ 1].left);
            fetch(window, next, right);
            multiply(tiles[now], sum);
            keep(right, tiles[now ^ 1].right);
            ptx::cp_async_wait_all();  // this thread's copies are done
            __syncthreads();  // next tiles are written, and all have read tiles[now]
        }
        // END SOLUTION
        // STARTER // your code: fill the first tiles. Then for each step: start to load
        // STARTER // the next, multiply, store, wait (the reference takes 14 lines)
        // STARTER (void)copy_filters, (void)fetch, (void)keep, (void)multiply;
        // STARTER (void)from, (void)window, (void)right;
    }
    store(sum, &output, g * GM + m0, GM - m0, n0,
          result + split * tensor_numel(&output));
}

/* output[n,oc,oh,ow] = bias[oc] + sum over ic, kh, kw of input * weight */
extern "C" status_t conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   conv2d_params_t p, tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const int64_t *in = input->size, *size = weight->size, *stride = input->stride;
    const int64_t GM = size[0] / p.groups, GN = COUNT / size[0];
    const int64_t GK = size[1] * size[2] * size[3], MOST = INT32_MAX - SPAN - BN;
    const int64_t REACH = size[1] * stride[1] + size[2] * p.dilation_h * stride[2] +
                          size[3] * p.dilation_w * stride[3];
    const bool fits = size[2] <= SIDE && size[3] <= SIDE && GN <= MOST && GK <= MOST &&
                      REACH <= MOST && in[2] + 2 * p.padding_h <= MOST &&
                      in[3] + 2 * p.padding_w <= MOST;
    const bool packed = GK % 8 == 0 && (uintptr_t)weight->data % 16 == 0;
    if (REAL_DTYPE != DTYPE_F16 || !fits || !packed) return STATUS_UNSUPPORTED;
    const int64_t TILES = p.groups * ceil_div(GM, BM) * ceil_div(GN, BN);
    const splits_t splits = splits_of<BLOCKS, LEAST, BK>(ctx, output, TILES, GK);
    const real *filters = tensor_contiguous(ctx, weight);
    if (!filters || !splits.result) return STATUS_NO_MEMORY;
    conv2d_forward_kernel<<<grid_of(splits.BLOCKS), THREADS, 0, ctx->stream>>>(
        *input, *weight, filters, bias ? *bias : tensor_t{}, p, *output, splits.TERMS,
        (float *)splits.result);
    CUDA_TRY(ctx, cudaGetLastError());
    return splits_added(ctx, &splits, output);
}
