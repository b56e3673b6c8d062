/* 02 implicit gemm
 *
 *   idea    a product of matrices, but the right one, the columns, is never stored
 *   expect  no scratch for columns, nor their traffic in 01; time not measured
 *   limit   one instruction in five is no multiply-add: it fetches, reads or counts
 *   run     make grade T=04_cuda_kernels/conv2d/02
 *
 * Up to 15 x 15 and 31 bits, else the fallback. Workspace: weight, if it has gaps.
 */
#include "launch.h"

extern "C" conv2d_forward_fn fallback_forward;

// BEGIN SOLUTION
enum { BM = 64, BN = 128, BK = 8, TM = 8, TN = 8, PAD = 4, CHUNK = 512 };
enum { TY = BM / TM, TX = BN / TN, THREADS = TY * TX };            // 8 x 16 of a block
enum { FILTERS = BM * BK / THREADS, PIXELS = BN * BK / THREADS };  // a thread fetches
#if defined(REAL_F64)
typedef double2 pack;  // what one load of 128 bits brings
#else
typedef float4 pack;
#endif
enum { LANES = sizeof(pack) / sizeof(accum), NOWHERE = 1 << 15 };  // 4, in f64 2

typedef struct {
    __align__(16) accum left[BK][BM + PAD];  // PAD: each k begins in another bank
    accum right[BK][BN];
} tiles_t;

/* Row k = (ic, kh, kw) of the columns. x: how far behind the first pixel of a window
 * lies what it reads; y: the bits that say, in a window's `outside`, that this is
 * padding: bit kh if that row of the window is outside, 16 + kw if that column is. */
static __device__ int2 tap_of(const tensor_t *input, const int64_t *size,
                              conv2d_params_t p, int k)
{
    const int64_t kw = k % (int)size[3], kh = k / (int)size[3] % (int)size[2];
    const int64_t ic = k / (int)(size[2] * size[3]), *stride = input->stride;
    const int64_t row = ic * stride[1] + kh * p.dilation_h * stride[2];
    const int bits = ic < size[1] ? 1 << kh | 1 << (16 + kw) : NOWHERE;  // beyond K
    return make_int2((int)(row + kw * p.dilation_w * stride[3]), bits);
}

/* output (OC, Q) = weight (OC, K) @ columns (K, Q) of a group; Q windows of all images
 * A block owns 64 filters x 128 windows, a thread 8 x 8 of them: four squares of 4 x 4,
 * read 16 bytes at once. The grid counts tiles in the order (g, q0, oc0), along x.
 * Shared memory: 512 taps and two tiles of each matrix, 16.5 KB in f32. While two are
 * multiplied, the next are fetched into registers, and then stored into the others. */
static __global__ void __launch_bounds__(THREADS, 12 / sizeof(accum))
    conv2d_forward_kernel(const __grid_constant__ tensor_t input,
                          const __grid_constant__ tensor_t weight, const real *filters,
                          const __grid_constant__ tensor_t bias, conv2d_params_t p,
                          const __grid_constant__ tensor_t output)
{
    __shared__ int2 taps[CHUNK];
    __shared__ tiles_t tiles[2];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int ty = warp / 2 * 4 + lane / 16 * 2 + lane % 2;  // a warp is 4 x 8 threads;
    const int tx = warp % 2 * 8 + lane / 2 % 8;              // neighbours share reads
    const int OC = (int)(weight.size[0] / p.groups), OW = (int)output.size[3];
    const int AREA = (int)output.size[2] * OW, Q = (int)output.size[0] * AREA;
    const int K = (int)(weight.size[1] * weight.size[2] * weight.size[3]);
    const int ROWS = (OC + BM - 1) / BM, COLUMNS = (Q + BN - 1) / BN;  // of tiles
    const int g = (int)blockIdx.x / ROWS / COLUMNS, oc0 = (int)blockIdx.x % ROWS * BM;
    const int q0 = (int)blockIdx.x / ROWS % COLUMNS * BN;
    // what I fetch: number tk of FILTERS filters, PIXELS pixels of window q from k1 on
    const int tk = t % BK, q = q0 + t % BN, k1 = t / BN * PIXELS;
    int64_t ih = q % AREA / OW * p.stride_h - p.padding_h;
    int64_t iw = q % OW * p.stride_w - p.padding_w;
    const real *pixel = q < Q ? at4(&input, q / AREA, g * weight.size[1], ih, iw) : 0;
    int outside = q < Q ? NOWHERE : -1;
    for (int i = 0; i < 15; i++, ih += p.dilation_h, iw += p.dilation_w) {
        if (ih < 0 || ih >= input.size[2]) outside |= 1 << i;
        if (iw < 0 || iw >= input.size[3]) outside |= 1 << (16 + i);
    }
    const real *filter[FILTERS];
    for (int i = 0; i < FILTERS; i++) {  // beyond the edge the last, once more
        const int oc = oc0 + t / BK + i * (THREADS / BK);
        filter[i] = filters + (int64_t)(g * OC + (oc < OC ? oc : OC - 1)) * K + tk;
    }
    accum left[FILTERS], right[PIXELS], sum[TM][TN] = {};
    tiles_t *now = &tiles[0], *next = &tiles[1];
    for (int k0 = 0; k0 < K + BK; k0 += BK) {
        if (k0 < K && k0 % CHUNK == 0) {
#pragma unroll 1  // it runs once
            for (int i = t; i < CHUNK; i += THREADS) {
                taps[i] = tap_of(&input, weight.size, p, k0 + i);
            }
            __syncthreads();  // the taps are there; nobody needed the last ones
        }
        if (k0 < K) {
            for (int i = 0; i < FILTERS; i++) {
                left[i] = k0 + tk < K ? accum_from(*filter[i]) : 0, filter[i] += BK;
            }
            for (int i = 0; i < PIXELS; i++) {
                const int2 tap = taps[k0 % CHUNK + k1 + i];
                right[i] = tap.y & outside ? 0 : accum_from(pixel[tap.x]);
            }
        }
#pragma unroll  // sums that a variable counts would not lie in registers
        for (int k = 0; k < BK && k0 > 0; k++) {
            const pack *lhs = (const pack *)now->left[k] + ty;
            const pack *rhs = (const pack *)now->right[k] + tx;
            pack a[TM / LANES], b[TN / LANES];
            for (int i = 0; i < TM / LANES; i++) a[i] = lhs[i * TY];
            for (int j = 0; j < TN / LANES; j++) b[j] = rhs[j * TX];
            for (int i = 0; i < TM * TN; i++) {
                sum[i / TN][i % TN] += ((accum *)a)[i / TN] * ((accum *)b)[i % TN];
            }
        }
        for (int i = 0; i < FILTERS; i++) {
            next->left[tk][t / BK + i * (THREADS / BK)] = left[i];
        }
        for (int i = 0; i < PIXELS; i++) next->right[k1 + i][t % BN] = right[i];
        __syncthreads();  // the next tiles are written, and all have read those of now
        tiles_t *const read = now;
        now = next, next = read;
    }
    const bool packed = AREA % LANES == 0 && sizeof(real) == sizeof(accum) &&
                        (uintptr_t)output.data % sizeof(pack) == 0;
#pragma unroll  // for the same reason
    for (int e = 0; e < TM * TN; e++) {
        const int i = e / TN, j = e % TN, lane = j % LANES;
        const int oc = oc0 + (i / LANES * TY + ty) * LANES + i % LANES;
        const int q = q0 + (j / LANES * TX + tx) * LANES + lane;
        if (q >= Q || oc >= OC) continue;
        real *to = at4(&output, q / AREA, g * OC + oc, 0, 0) + q % AREA;
        if (bias.data) sum[i][j] += accum_from(*at1(&bias, g * OC + oc));
        if (!packed) *to = real_from(sum[i][j]);
        if (!packed || lane < LANES - 1) continue;  // the last lane stores all
        *(pack *)(to - lane) = *(pack *)&sum[i][j - lane];
    }
}
// END SOLUTION
// STARTER // tile sizes, the kernel and its helpers (the reference takes 100 lines)

/* output[n,oc] = bias[oc] + sum over k of weight[oc,k] * row k of the columns */
extern "C" status_t conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    if (tensor_numel(output) == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const int64_t *size = weight->size, *stride = input->stride;
    const int64_t K = size[1] * size[2] * size[3], Q = tensor_numel(output) / size[0];
    const int64_t REACH = size[1] * stride[1] + size[2] * p.dilation_h * stride[2] +
                          size[3] * p.dilation_w * stride[3];
    if (size[2] > 15 || size[3] > 15 || Q + K + REACH > INT32_MAX - CHUNK) {
        return fallback_forward(ctx, input, weight, bias, p, output);
    }
    const real *filters = tensor_contiguous(ctx, weight);
    if (!filters) return STATUS_NO_MEMORY;
    const int64_t ROWS = p.groups * ceil_div(size[0] / p.groups, BM);
    conv2d_forward_kernel<<<grid_of(ROWS * ceil_div(Q, BN)), THREADS, 0, ctx->stream>>>(
        *input, *weight, filters, bias ? *bias : tensor_t{}, p, *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 15 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
