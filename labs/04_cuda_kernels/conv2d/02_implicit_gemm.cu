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

enum { BM = 64, BN = 128, BK = 8, TM = 8, TN = 8, PAD = 4, CHUNK = 512 };
enum { TY = BM / TM, TX = BN / TN, THREADS = TY * TX };  // 8 x 16 of a block; BN in all
enum { STEP = THREADS / BK, FILTERS = BM / STEP };       // of which a thread fetches
#if defined(REAL_F64)
typedef double2 pack;  // what one load of 128 bits brings
#else
typedef float4 pack;
#endif
enum { LANES = sizeof(pack) / sizeof(accum) };  // 4, in f64 2
enum { SIDE = 15, NOWHERE = 1 << SIDE };        // a bit that no row of a kernel has

/* Row k = (ic, kh, kw) of the columns. x: how far behind the first pixel of a window
 * lies what it reads; y: bits kh and 16 + kw, or NOWHERE beyond the last row. */
static __device__ int2 tap_of(const tensor_t *input, const tensor_t *weight,
                              conv2d_params_t p, int k)
{
    // BEGIN SOLUTION
    const int KH = (int)weight->size[2], KW = (int)weight->size[3];
    const int kw = k % KW, kh = k / KW % KH, ic = k / (KH * KW);
    const int64_t behind = ic * input->stride[1] +
                           kh * p.dilation_h * input->stride[2] +
                           kw * p.dilation_w * input->stride[3];
    const int bits = ic < weight->size[1] ? 1 << kh | 1 << (16 + kw) : NOWHERE;
    return make_int2((int)behind, bits);
    // END SOLUTION
    // STARTER return make_int2(0, NOWHERE);  // your code (the reference takes 7 lines)
}

/* sum += left^T @ right. Thread (ty, tx) has rows i / LANES * (TY * LANES) + ty * LANES
 * + i % LANES, and columns likewise: LANES of them side by side, a load of 16 bytes. */
static __device__ void multiply(const accum left[BK][BM + PAD],
                                const accum right[BK][BN], int ty, int tx,
                                accum (&sum)[TM][TN])
{
    // BEGIN SOLUTION
#pragma unroll  // sums that a variable counts would not lie in registers
    for (int k = 0; k < BK; k++) {
        const pack *lhs = (const pack *)left[k] + ty;
        const pack *rhs = (const pack *)right[k] + tx;
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

/* output (OC, Q) = weight (OC, K) @ columns (K, Q) of a group; Q windows of all images
 * A block owns 64 filters x 128 windows, a thread 8 x 8 of them. The grid counts tiles
 * in the order (g, q0, oc0), along x. Shared memory: 512 taps and two tiles of each
 * matrix, 16.5 KB in f32. While two are multiplied, the next are fetched into
 * registers, and then stored into the others. */
static __global__ void __launch_bounds__(THREADS, 12 / sizeof(accum))
    conv2d_forward_kernel(const __grid_constant__ tensor_t input,
                          const __grid_constant__ tensor_t weight, const real *filters,
                          const __grid_constant__ tensor_t bias, conv2d_params_t p,
                          const __grid_constant__ tensor_t output)
{
    [[maybe_unused]] __shared__ int2 taps[CHUNK];
    __shared__ __align__(16) accum left_tile[2][BK][BM + PAD];  // PAD: each k begins
    __shared__ __align__(16) accum right_tile[2][BK][BN];       // in another bank
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int ty = warp / 2 * 4 + lane / 16 * 2 + lane % 2;  // a warp is 4 x 8 threads;
    const int tx = warp % 2 * 8 + lane / 2 % 8;              // neighbours share reads
    const int OC = (int)(weight.size[0] / p.groups), OW = (int)output.size[3];
    const int AREA = (int)output.size[2] * OW, Q = (int)output.size[0] * AREA;
    const int K = (int)(weight.size[1] * weight.size[2] * weight.size[3]);
    const int ROWS = (OC + BM - 1) / BM, COLUMNS = (Q + BN - 1) / BN;  // of tiles
    const int g = (int)blockIdx.x / ROWS / COLUMNS, oc0 = (int)blockIdx.x % ROWS * BM;
    const int q0 = (int)blockIdx.x / ROWS % COLUMNS * BN;

    const int q = q0 + t, k = t % BK;  // it fetches window q, and number k of filters
    const int64_t ih = q % AREA / OW * p.stride_h - p.padding_h;
    const int64_t iw = q % OW * p.stride_w - p.padding_w;
    const int64_t ic0 = g * weight.size[1];  // the first channel of the group
    const real *pixel = q < Q ? at4(&input, q / AREA, ic0, ih, iw) : NULL;
    [[maybe_unused]] int outside = q < Q ? NOWHERE : -1;  // what lies in the padding
    // BEGIN SOLUTION
    for (int i = 0; i < SIDE; i++) {
        const int64_t h = ih + i * p.dilation_h, w = iw + i * p.dilation_w;
        if (h < 0 || h >= input.size[2]) outside |= 1 << i;
        if (w < 0 || w >= input.size[3]) outside |= 1 << (16 + i);
    }
    // END SOLUTION
    // STARTER // your code: as in tap_of, for SIDE rows and columns, so that tap.y &
    // STARTER // outside tells what reads a 0 (the reference takes 5 lines)
    [[maybe_unused]] const real *filter[FILTERS];
    for (int i = 0; i < FILTERS; i++) {  // beyond the edge the last, once more
        const int oc = oc0 + t / BK + i * STEP;
        filter[i] = filters + (int64_t)(g * OC + (oc < OC ? oc : OC - 1)) * K + k;
    }
    accum left[FILTERS], right[BK], sum[TM][TN] = {};
    for (int k0 = 0, next = 0; k0 < K + BK; k0 += BK, next ^= 1) {
        if (k0 < K && k0 % CHUNK == 0) {
#pragma unroll 1  // it runs once
            for (int i = t; i < CHUNK; i += THREADS)
                taps[i] = tap_of(&input, &weight, p, k0 + i);
            __syncthreads();  // the taps are there; nobody needed the last ones
        }
        if (k0 < K) {
            // BEGIN SOLUTION
            for (int i = 0; i < FILTERS; i++) {
                left[i] = k0 + k < K ? accum_from(*filter[i]) : 0;
                filter[i] += BK;
            }
            for (int i = 0; i < BK; i++) {
                const int2 tap = taps[k0 % CHUNK + i];
                right[i] = tap.y & outside ? 0 : accum_from(pixel[tap.x]);
            }
            // END SOLUTION
            // STARTER // your code: left and right, numbers k0 to k0 + 7 of each; 0
            // STARTER // beyond K and in the padding (the reference takes 8 lines)
            // STARTER (void)pixel, (void)k;
        }
        if (k0 > 0) multiply(left_tile[next ^ 1], right_tile[next ^ 1], ty, tx, sum);
        // BEGIN SOLUTION
        for (int i = 0; i < FILTERS; i++)
            left_tile[next][k][t / BK + i * STEP] = left[i];
        for (int i = 0; i < BK; i++) right_tile[next][i][t] = right[i];
        // END SOLUTION
        // STARTER // your code: store them in the others (the reference takes 3 lines)
        // STARTER (void)left, (void)right;
        __syncthreads();  // the next tiles are written, and all have read the others
    }
    const bool packed = AREA % LANES == 0 && sizeof(real) == sizeof(accum) &&
                        (uintptr_t)output.data % sizeof(pack) == 0;
    // BEGIN SOLUTION
#pragma unroll  // for the same reason
    for (int i = 0; i < TM; i++) {
        const int oc = oc0 + (i / LANES * TY + ty) * LANES + i % LANES;
#pragma unroll
        for (int j = 0; j < TN; j++) {
            const int lane = j % LANES, q = q0 + (j / LANES * TX + tx) * LANES + lane;
            if (q >= Q || oc >= OC) continue;
            real *to = at4(&output, q / AREA, g * OC + oc, 0, 0) + q % AREA;
            if (bias.data) sum[i][j] += accum_from(*at1(&bias, g * OC + oc));
            if (!packed) *to = real_from(sum[i][j]);
            if (!packed || lane < LANES - 1) continue;  // the last lane stores all
            *(pack *)(to - lane) = *(pack *)&sum[i][j - lane];
        }
    }
    // END SOLUTION
    // STARTER // your code: store the sums, 16 bytes at once where it is packed
    // STARTER // (the reference takes 12 lines)
    // STARTER (void)packed;
}

/* output[n,oc] = bias[oc] + sum over k of weight[oc,k] * row k of the columns */
extern "C" status_t conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   conv2d_params_t p, tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    if (tensor_numel(output) == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const int64_t *size = weight->size, *stride = input->stride;
    const int64_t K = size[1] * size[2] * size[3], Q = tensor_numel(output) / size[0];
    const int64_t REACH = size[1] * stride[1] + size[2] * p.dilation_h * stride[2] +
                          size[3] * p.dilation_w * stride[3];
    if (size[2] > SIDE || size[3] > SIDE || Q + K + REACH > INT32_MAX - CHUNK) {
        return fallback_forward(ctx, input, weight, bias, p, output);
    }
    const real *filters = tensor_contiguous(ctx, weight);
    if (!filters) return STATUS_NO_MEMORY;
    const int64_t ROWS = p.groups * ceil_div(size[0] / p.groups, BM);
    conv2d_forward_kernel<<<grid_of(ROWS * ceil_div(Q, BN)), THREADS, 0, ctx->stream>>>(
        *input, *weight, filters, bias ? *bias : tensor_t{}, p, *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
