/* 05 tf32
 *
 *   idea    tensor cores multiply floats rounded to TF32: 11 bits of mantissa, not 24
 *   expect  7.8 instructions for each mma, a product on tensor cores (nvcc 13)
 *   limit   half of the instructions load and round; small images give few blocks
 *   run     make grade T=04_cuda_kernels/conv2d/05
 *
 * Covers f32, and f16, which TF32 represents exactly. Covers kernels of up to 15 x 15
 * and counts of 31 bits. The kernel reads input without a copy in another layout.
 * Scratch memory: a copy of a non-contiguous weight, and the sums of splits (splits.h).
 * The sums are at most BLOCKS tiles, 13 MB. In f16, the kernel stores all sums there.
 */
#include "ptx.h"
#include "splits.h"
#include "taps.h"

enum { BM = 64, BN = 128, BK = 16, THREADS = BN };       // of a block
enum { WARP = 32, WN = 32, MT = BM / 16, NT = WN / 8 };  // MT x NT mma of a warp
enum { STEP = THREADS / BK, LEFT = BM / STEP, RIGHT = BK, QUADS = BK / 4 };
enum { BLOCKS_PER_SM = 3 };  // as many as 168 registers per thread allow
enum { BLOCKS = BLOCKS_PER_SM * 132, LEAST = 256 };  // blocks; terms per block

/* Returns the offset of terms 4q to 4q + 3 of window x in tiles.right, in units of 16
 * bytes. A row of 16 terms fills half of the banks. The swizzle (^) changes the order
 * of units after every two rows. So there is no bank conflict if 8 lanes store to 8
 * rows, or read two whole rows. */
static __device__ int right_quad(int x, int q)
{
    return x * QUADS + (q ^ x / 2 % 4);
}

/* Returns the offset of terms 2r and 2r + 1 of filters 2x and 2x + 1 in tiles.left, in
 * units of 16 bytes. A unit has the order of mma's registers a. Because of the swizzle
 * (^), 8 lanes that read every second unit of two rows have no bank conflict. */
static __device__ int left_quad(int x, int r)
{
    return x * (BK / 2) + (r ^ x % 2);
}

/* In each step of BK terms, a thread loads 1 term of 8 filters and BK of 1 window. */
typedef struct {
    const real *filter;  // first filter's weight t % BK
    int64_t apart;       // distance of two filters
    int filters;         // at most LEFT; fewer at the edge
    window_t window;
} source_t;

static __device__ source_t source_of(const tensor_t *input, const tensor_t *weight,
                                     const real *filters, conv2d_params_t p,
                                     const tensor_t *output, int g, int m0, int n0)
{
    const int t = threadIdx.x, m = m0 + t / BK;
    const int GM = (int)(output->size[1] / p.groups);
    const int64_t IC = weight->size[1], GK = IC * weight->size[2] * weight->size[3];
    source_t from;
    from.filter = m < GM ? filters + (g * GM + m) * GK + t % BK : NULL;
    from.apart = STEP * GK;
    from.filters = (GM - m + STEP - 1) / STEP;  // 0 or less: none
    from.window = window_of(input, IC, p, output, g, n0 + t);
    return from;
}

/* Loads one term of up to 8 filters into `left`, and terms k0 to k0 + BK - 1 of a
 * window into `right`. A term from `last` on, or in the padding, is 0. */
static __device__ void fetch(const source_t &from, const int2 *taps, int k0, int last,
                             float (&left)[LEFT], float (&right)[RIGHT])
{
    // BEGIN SOLUTION
    const window_t &window = from.window;
    const real *at = from.filter + k0;
    const int filters = k0 + (int)threadIdx.x % BK < last ? from.filters : 0;
    for (int i = 0; i < LEFT; i++, at += from.apart)
        left[i] = i < filters ? accum_from(*at) : 0;
    for (int i = 0; i < RIGHT; i += 2) {
        const int4 two = *(const int4 *)(taps + i);  // one load of 16 bytes
        right[i] = two.y & window.outside ? 0 : accum_from(window.pixel[two.x]);
        right[i + 1] = two.w & window.outside ? 0 : accum_from(window.pixel[two.z]);
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 10 lines)
}

typedef struct {
    uint4 left[BM * QUADS], right[BN * QUADS];
} tiles_t;

/* Returns the four numbers x[0] to x[3], each rounded to TF32. */
static __device__ uint4 rounded(const float *x)
{
    return make_uint4(ptx::to_tf32(x[0]), ptx::to_tf32(x[1]), ptx::to_tf32(x[2]),
                      ptx::to_tf32(x[3]));
}

/* Rounds the numbers of `left` and `right` to TF32, and stores them in the tiles. */
static __device__ void keep(const float (&left)[LEFT], const float (&right)[RIGHT],
                            tiles_t &tiles)
{
    // BEGIN SOLUTION
    const int t = threadIdx.x, m = t / BK, k = t % BK;
    unsigned *to =
        (unsigned *)(tiles.left + left_quad(m / 2, k / 2)) + k % 2 * 2 + m % 2;
    for (int i = 0; i < LEFT; i++) to[STEP * BK * i] = ptx::to_tf32(left[i]);
    for (int q = 0; q < QUADS; q++)
        tiles.right[right_quad(t, q)] = rounded(right + 4 * q);
    // END SOLUTION
    // STARTER // your code: store at the quads' offsets (the reference takes 6 lines)
    // STARTER (void)rounded, (void)left_quad, (void)right_quad;
}

/* A warp adds tiles.left (BM, BK) @ tiles.right^T (BK, WN) to its sums. Lane 4g + p
 * loads terms 4p to 4p + 3 of window g and of filters 2g and 2g + 1. mma expects terms
 * p and p + 4, but any terms are right if left and right have the same ones. So the
 * first mma gets terms 4p and 4p + 1, and the second mma gets the other two. */
static __device__ void multiply(const tiles_t &tiles, float (&sum)[MT][NT][4])
{
    // BEGIN SOLUTION
    const int g = threadIdx.x % WARP / 4, p = threadIdx.x % 4;
    const int wn = threadIdx.x / WARP * WN;
    const uint4 *first = tiles.left + left_quad(g, 2 * p);
    const uint4 *then = tiles.left + left_quad(g, 2 * p + 1);
    const uint4 *right = tiles.right + right_quad(wn + g, p);
    uint4 b[NT];
    for (int j = 0; j < NT; j++) b[j] = right[8 * j * QUADS];
    for (int i = 0; i < MT; i++) {
        const uint4 a = first[4 * i * BK], c = then[4 * i * BK];
        for (int j = 0; j < NT; j++) {
            ptx::mma_tf32(sum[i][j], {a.x, a.y, a.z, a.w}, {b[j].x, b[j].y}, sum[i][j]);
            ptx::mma_tf32(sum[i][j], {c.x, c.y, c.z, c.w}, {b[j].z, b[j].w}, sum[i][j]);
        }
    }
    // END SOLUTION
    // STARTER // your code: load the numbers of b once, a and c for each i; then two
    // STARTER // mma for each (the reference takes 14 lines)
}

/* sum_filter(i) returns the filter of sum[i / 2][j][i % 2 * 2] and of the next sum.
 * sum_window(j) returns the window of the first of these sums. See mma in ptx.h. */
static __device__ int sum_filter(int i)
{
    return i / 2 * 16 + threadIdx.x % WARP / 4 * 2 + i % 2;
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
 * sums that mma_tf32 gives to its lane (ptx.h). blockIdx.x numbers the tiles in the
 * order (split, g, n0, m0). `result` is output, or scratch memory with a copy for each
 * split. Shared memory: taps and two tiles of each matrix, 41088 bytes. While a block
 * multiplies one pair of tiles, it loads the next pair into registers. */
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    conv2d_forward_kernel(const __grid_constant__ tensor_t input,
                          const __grid_constant__ tensor_t weight,
                          const real *__restrict__ filters,
                          const __grid_constant__ tensor_t bias, conv2d_params_t p,
                          const __grid_constant__ tensor_t output, int SPLIT,
                          float *result)
{
    [[maybe_unused]] __shared__ __align__(16) int2 taps[SPAN + BK];
    [[maybe_unused]] __shared__ tiles_t tiles[2];
    const int t = threadIdx.x;
    const int G = (int)p.groups, GM = (int)output.size[1] / G;
    const int GN = (int)(output.size[0] * output.size[2] * output.size[3]);
    const int GK = (int)(weight.size[1] * weight.size[2] * weight.size[3]);
    const int ROWS = (GM + BM - 1) / BM, COLUMNS = (GN + BN - 1) / BN;  // of tiles
    const int column = (int)blockIdx.x / ROWS, other = column / COLUMNS;
    const int m0 = (int)blockIdx.x % ROWS * BM, n0 = column % COLUMNS * BN;
    const int g = other % G, split = other / G;
    const source_t from = source_of(&input, &weight, filters, p, &output, g, m0, n0);

    float left[LEFT], right[RIGHT], sum[MT][NT][4];
    begin(sum, &bias, g * GM + m0, split == 0 ? GM - m0 : 0);  // the bias counts once
    const int end = GK - split * SPLIT < SPLIT ? GK : (split + 1) * SPLIT;
    for (int first = split * SPLIT; first < end; first += SPAN) {  // mostly one round
        const int last = end - first < SPAN ? end : first + SPAN;
#pragma unroll 1
        for (int i = t; i < last - first + 2 * BK && i < SPAN + BK; i += THREADS)
            taps[i] = tap_of(&input, &weight, p, first + i, last);
        __syncthreads();  // the taps are complete
        // BEGIN SOLUTION
        fetch(from, taps, first, last, left, right);
        keep(left, right, tiles[0]);
        __syncthreads();  // the tiles are written before any thread reads
        const int2 *next = taps + BK;
        for (int k0 = first, now = 0; k0 < last; k0 += BK, now ^= 1, next += BK) {
            fetch(from, next, k0 + BK, last, left, right);
            multiply(tiles[now], sum);
            keep(left, right, tiles[now ^ 1]);
            __syncthreads();  // next tiles are written, and all have read tiles[now]
        }
        // END SOLUTION
        // STARTER // your code: fetch and store the first tiles. Then for each step:
        // STARTER // fetch the next tiles, multiply, store the next tiles
        // STARTER // (the reference takes 10 lines)
        // STARTER (void)fetch, (void)keep, (void)multiply, (void)from;
        // STARTER (void)left, (void)right;
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
    if (REAL_DTYPE == DTYPE_F64 || !fits) return STATUS_UNSUPPORTED;
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
