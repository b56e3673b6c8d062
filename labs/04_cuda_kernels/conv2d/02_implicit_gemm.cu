/* 02 implicit gemm
 *
 *   idea    im2col's matrix product, but the column matrix is never stored in memory
 *   expect  no memory traffic for columns, unlike 01_unfold_matmul; time not measured
 *   limit   one instruction in six is not a multiply-add, but a load or an index
 *   run     make grade T=04_cuda_kernels/conv2d/02
 *
 * Covers kernels of up to 15 x 15, and offsets of 31 bits. If output has few tiles,
 * several blocks divide each sum (splits.h). Scratch memory: a copy of a non-contiguous
 * weight, and the sums of these blocks. The sums are at most BLOCKS tiles, 13 MB in
 * f32. In f16, the kernel stores all its sums in scratch memory, as floats.
 */
#include "splits.h"
#include "taps.h"

enum { BM = 64, BN = 128, BK = 8, TM = 8, TN = 8, PAD = 4 };
enum { TY = BM / TM, TX = BN / TN, THREADS = TY * TX };  // 8 x 16 threads of a block
enum { STEP = THREADS / BK, FILTERS = BM / STEP };       // filters per thread and step
#if defined(REAL_F64)
typedef double2 pack;  // one load of 128 bits
#else
typedef float4 pack;
#endif
enum { LANES = sizeof(pack) / sizeof(accum) };  // 4, in f64 2
enum { BLOCKS_PER_SM = 12 / sizeof(accum) };    // as registers allow: 3, in f64 1
enum { BLOCKS = 3 * 132, LEAST = 64 };          // most blocks; least terms per block

/* In each step of BK terms, a thread loads 1 term of 4 filters and BK of 1 window. */
typedef struct {
    const real *filter;    // the thread's first filter
    int k;                 // t % BK, or K if there is no filter
    int further[FILTERS];  // offsets of the filters; past the edge, of the last one
    window_t window;
} source_t;

static __device__ source_t source_of(const tensor_t *input, const tensor_t *weight,
                                     const real *filters, conv2d_params_t p,
                                     const tensor_t *output, int g, int oc0, int q)
{
    const int OC = (int)(weight->size[0] / p.groups);
    const int K = (int)(weight->size[1] * weight->size[2] * weight->size[3]);
    const int oc = oc0 + (int)threadIdx.x / BK;
    source_t from;
    from.k = oc < OC ? (int)threadIdx.x % BK : K;
    from.filter = oc < OC ? filters + (int64_t)(g * OC + oc) * K : NULL;
    from.further[0] = 0;
    for (int i = 1; i < FILTERS; i++)
        from.further[i] = (oc + i * STEP < OC ? i * STEP : OC - 1 - oc) * K;
    from.window = window_of(input, weight->size[1], p, output, g, q);
    return from;
}

/* Loads term k0 + from.k of 4 filters into `left`, and terms k0 to k0 + BK - 1 of a
 * window into `right`. A term from `last` on, or in the padding, is 0. */
static __device__ void fetch(const source_t &from, const int2 *taps, int k0, int last,
                             accum (&left)[FILTERS], accum (&right)[BK])
{
    // BEGIN SOLUTION
    const window_t &window = from.window;
    const int k = k0 + from.k;
    for (int i = 0; i < FILTERS; i++)
        left[i] = k < last ? accum_from(from.filter[from.further[i] + k]) : 0;
    for (int i = 0; i < BK; i += 2) {
        const int4 two = *(const int4 *)(taps + i);  // one load of 16 bytes
        right[i] = two.y & window.outside ? 0 : accum_from(window.pixel[two.x]);
        right[i + 1] = two.w & window.outside ? 0 : accum_from(window.pixel[two.z]);
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 9 lines)
}

typedef struct {
    __align__(16) accum left[BK][BM + PAD];  // PAD: each k begins in another bank
    __align__(16) accum right[BK][BN];
} tiles_t;

/* Stores `left` and `right`, which fetch has loaded, in the tiles in shared memory. */
static __device__ void keep(const accum (&left)[FILTERS], const accum (&right)[BK],
                            tiles_t &tiles)
{
    // BEGIN SOLUTION
    const int t = threadIdx.x;
    for (int i = 0; i < FILTERS; i++) tiles.left[t % BK][t / BK + i * STEP] = left[i];
    for (int i = 0; i < BK; i++) tiles.right[i][t] = right[i];
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
}

/* Adds tiles.left^T @ tiles.right to `sum`, for 8 rows and 8 columns of thread (ty,
 * tx). LANES neighbouring rows or columns are one load of 16 bytes. */
static __device__ void multiply(const tiles_t &tiles, int ty, int tx,
                                accum (&sum)[TM][TN])
{
    // BEGIN SOLUTION
#pragma unroll  // with a variable index, sums would not be in registers
    for (int k = 0; k < BK; k++) {
        const pack *lhs = (const pack *)tiles.left[k] + ty;
        const pack *rhs = (const pack *)tiles.right[k] + tx;
        __align__(16) accum a[TM], b[TN];
        for (int i = 0; i < TM; i += LANES) *(pack *)(a + i) = lhs[i / LANES * TY];
        for (int j = 0; j < TN; j += LANES) *(pack *)(b + j) = rhs[j / LANES * TX];
        for (int i = 0; i < TM; i++) {
            for (int j = 0; j < TN; j++) sum[i][j] += a[i] * b[j];
        }
    }
    // END SOLUTION
    // STARTER // your code: for each k an outer product (the reference takes 10 lines)
}

/* Stores `sum` in result (N, G*OC, OH*OW), from filter oc0 of group g, window q0 on. */
static __device__ void store(accum (&sum)[TM][TN], const tensor_t *output, int64_t G,
                             int64_t g, int oc0, int q0, accum *result)
{
    const int AREA = (int)(output->size[2] * output->size[3]);
    const int OC = (int)(output->size[1] / G), Q = (int)output->size[0] * AREA;
    const bool packed = AREA % LANES == 0 && (uintptr_t)result % sizeof(pack) == 0;
    // BEGIN SOLUTION
#pragma unroll  // keeps sums in registers
    for (int j = 0; j < TN; j++) {
        const int lane = j % LANES, q = q0 + j / LANES * TX * LANES + lane;
        if (q >= Q || (packed && lane > 0)) continue;  // the first lane stores all
        accum *to = result + (q / AREA * G + g) * OC * AREA + q % AREA;
#pragma unroll
        for (int i = 0; i < TM; i++) {
            const int oc = oc0 + i / LANES * TY * LANES + i % LANES;
            if (oc >= OC) continue;
            if (packed)
                *(pack *)(to + (int64_t)oc * AREA) = *(pack *)&sum[i][j];
            else
                to[(int64_t)oc * AREA] = sum[i][j];
        }
    }
    // END SOLUTION
    // STARTER // your code: store the sums; if packed, 16 bytes at once
    // STARTER // (the reference takes 13 lines)
    // STARTER (void)packed, (void)Q, (void)OC;
}

/* For each group, output (OC, Q) = weight (OC, K) @ columns (K, Q). Q = N*OH*OW
 * windows, K = IC/G*KH*KW terms of a sum. A block owns SPLIT terms of 64 filters x 128
 * windows. A thread owns 8 x 8 of these sums. blockIdx.x numbers the tiles in the order
 * (split, g, q0, oc0). `result` is output, or scratch memory with a copy of output for
 * each split. Shared memory: the offsets of 2056 terms and two tiles of each matrix.
 * While a block multiplies one pair of tiles, it loads the next pair into registers. */
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    conv2d_forward_kernel(const __grid_constant__ tensor_t input,
                          const __grid_constant__ tensor_t weight, const real *filters,
                          const __grid_constant__ tensor_t bias, conv2d_params_t p,
                          const __grid_constant__ tensor_t output, int SPLIT,
                          accum *result)
{
    [[maybe_unused]] __shared__ __align__(16) int2 taps[SPAN + BK];
    [[maybe_unused]] __shared__ tiles_t tiles[2];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int ty = warp / 2 * 4 + lane / 16 * 2 + lane % 2;  // a warp is 4 x 8 threads;
    const int tx = warp % 2 * 8 + lane / 2 % 8;              // neighbours share reads
    const int G = (int)p.groups, OC = (int)weight.size[0] / G;
    const int Q = (int)(output.size[0] * output.size[2] * output.size[3]);
    const int K = (int)(weight.size[1] * weight.size[2] * weight.size[3]);
    const int ROWS = (OC + BM - 1) / BM, COLUMNS = (Q + BN - 1) / BN;  // of tiles
    const int column = (int)blockIdx.x / ROWS, other = column / COLUMNS;
    const int oc0 = (int)blockIdx.x % ROWS * BM, q0 = column % COLUMNS * BN;
    const int g = other % G, split = other / G;
    const source_t from =
        source_of(&input, &weight, filters, p, &output, g, oc0, q0 + t);

    accum left[FILTERS], right[BK], sum[TM][TN];
    for (int i = 0; i < TM; i++) {
        const int oc = oc0 + (i / LANES * TY + ty) * LANES + i % LANES;
        const bool first = bias.data && split == 0 && oc < OC;  // the bias counts once
        const accum start = first ? accum_from(*at1(&bias, g * OC + oc)) : 0;
        for (int j = 0; j < TN; j++) sum[i][j] = start;
    }
    const int end = K - split * SPLIT < SPLIT ? K : (split + 1) * SPLIT;
    for (int first = split * SPLIT; first < end; first += SPAN) {  // mostly one round
        const int last = end - first < SPAN ? end : first + SPAN;
#pragma unroll 1
        for (int i = t; i < last - first + 2 * BK && i < SPAN + BK; i += THREADS)
            taps[i] = tap_of(&input, &weight, p, first + i, last);
        __syncthreads();  // the taps are complete
        // BEGIN SOLUTION
        fetch(from, taps, first, last, left, right);
        keep(left, right, tiles[0]);
        __syncthreads();  // the first tiles are written
        const int2 *next = taps + BK;
        for (int k0 = first, now = 0; k0 < last; k0 += BK, now ^= 1, next += BK) {
            fetch(from, next, k0 + BK, last, left, right);
            multiply(tiles[now], ty, tx, sum);
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
    store(sum, &output, G, g, oc0 + ty * LANES, q0 + tx * LANES,
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
    const int64_t *size = weight->size, *stride = input->stride;
    const int64_t K = size[1] * size[2] * size[3], Q = COUNT / size[0];
    const int64_t REACH = size[1] * stride[1] + size[2] * p.dilation_h * stride[2] +
                          size[3] * p.dilation_w * stride[3];
    if (size[2] > SIDE || size[3] > SIDE || Q + BM * K + REACH > INT32_MAX - SPAN)
        return STATUS_UNSUPPORTED;
    const int64_t ROWS = p.groups * ceil_div(size[0] / p.groups, BM);
    const splits_t splits =
        splits_of<BLOCKS, LEAST, BK>(ctx, output, ROWS * ceil_div(Q, BN), K);
    const real *filters = tensor_contiguous(ctx, weight);
    if (!filters || !splits.result) return STATUS_NO_MEMORY;
    conv2d_forward_kernel<<<grid_of(splits.BLOCKS), THREADS, 0, ctx->stream>>>(
        *input, *weight, filters, bias ? *bias : tensor_t{}, p, *output, splits.TERMS,
        splits.result);
    CUDA_TRY(ctx, cudaGetLastError());
    return splits_added(ctx, &splits, output);
}
