/* 03 backward input
 *
 *   idea    grad_input is a matrix product for each phase (position modulo the stride)
 *   expect  no multiplications by inserted zeros; 2.9x the minimum of bytes (counted)
 *   limit   the threads of a block do not compute while the block fetches a tile
 *   run     make grade T=04_cuda_kernels/conv2d/03
 *
 * Example: stride 3 and kernel height 5. Which kernel rows kh meet which pixel ih?
 *
 *     ih + padding    0      1      2    3      4      5    6      7      8    ...
 *     kh              0,3    1,4    2    0,3    1,4    2    0,3    1,4    2
 *
 * Every third pixel meets the same kernel rows: these pixels are a phase. Each phase is
 * a convolution at stride 1. Covers grad_input. Scratch memory: a copy of weight.
 */
#include "layout.h"

enum { BM = 64, BN = 64, BK = 16, THREADS = 128 };  // of a block
enum { TM = 8, TN = 4, TX = BN / TN };              // of a thread; threads along n
enum { ROWS = THREADS / BN };                       // of a tile, fetched at once
enum { TURN_THREADS = 256 };

/* Copies weight (OC, IC/G, KH, KW) to filters (OC, KH*KW, IC/G), so that neighbouring
 * channels are neighbours in memory. A block owns 256 consecutive elements of filters,
 * a thread owns one. The kernel uses no shared memory. */
static __global__ void turn_kernel(const __grid_constant__ tensor_t weight,
                                   real *__restrict__ filters, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const int64_t IC = weight.size[1], KH = weight.size[2], KW = weight.size[3];
    const int64_t oc = i / (IC * KW * KH), kh = i / (IC * KW) % KH, kw = i / IC % KW;
    filters[i] = *at4(&weight, oc, i % IC, kh, kw);
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
}

/* A taps_t has the kernel positions (taps) that meet one phase along one axis. The
 * first is `first`, each next one is `step` further. At tap `first`, pixel j of the
 * phase is in window `window` + j. Each next tap is in a window `back` earlier. */
typedef struct {
    int64_t first, step, window, back;
} taps_t;

/* Computes *taps. Pixel 0 of the phase is `distance` pixels after tap 0 of window 0. */
static __device__ void find_taps(int64_t distance, int64_t K, int64_t stride,
                                 int64_t dilation, taps_t *taps)
{
    // BEGIN SOLUTION
    int64_t first = 0, step = 1;
    while (first < K && distance % stride != 0) first++, distance -= dilation;
    while (step < K && step * dilation % stride != 0) step++;
    taps->first = first, taps->step = step;
    taps->window = distance / stride, taps->back = step * dilation / stride;
    // END SOLUTION
    // STARTER // your code: the first tap of the phase, then the distance to the next
    // STARTER // tap (the reference takes 5 lines)
}

/* For each group and phase, grad_input (GM, GN) = sum over the phase's taps of
 * filters^T (GM, GK) @ grad_output (GK, GN). GM = IC/G channels, GK = OC/G filters,
 * GN = pixels of the phase in all images.
 * A block owns a tile of 64 x 64 sums. A thread (ty, tx) owns rows 8*ty to 8*ty + 7 and
 * columns tx, tx + 16, tx + 32, tx + 48. blockIdx.x numbers the tiles in the order (g,
 * phase, n0, m0). Shared memory: two tiles of 16 x 64, the indices of 64 pixels, and
 * two taps_t; 9792 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    grad_input_kernel(const __grid_constant__ tensor_t grad_output,
                      const real *__restrict__ filters, int64_t KH, int64_t KW,
                      conv2d_params_t p, const __grid_constant__ tensor_t grad_input,
                      int64_t PHASES_H, int64_t PHASES_W, int64_t GN)
{
    [[maybe_unused]] __shared__ __align__(16) accum left[BK][BM];  // (oc, ic)
    [[maybe_unused]] __shared__ accum right[BK][BN];               // (oc, pixel)
    __shared__ int64_t pixels[3][BN];  // n, and indices in the phase along h, w
    __shared__ taps_t taps[2];         // along h, along w
    const int tx = threadIdx.x % TX, ty = threadIdx.x / TX;
    const int side = threadIdx.x % BN, row = threadIdx.x / BN;  // what a thread fetches
    const int64_t GM = grad_input.size[1] / p.groups;
    const int64_t GK = grad_output.size[1] / p.groups;
    const int64_t N = grad_input.size[0], IH = grad_input.size[2];
    const int64_t IW = grad_input.size[3];

    const int64_t TILES_M = ceil_div(GM, BM), TILES = TILES_M * ceil_div(GN, BN);
    const int64_t m0 = blockIdx.x % TILES_M * BM;
    const int64_t n0 = blockIdx.x % TILES / TILES_M * BN;
    const int64_t phase = blockIdx.x / TILES % (PHASES_H * PHASES_W);
    const int64_t phase_h = phase / PHASES_W, phase_w = phase % PHASES_W;
    const int64_t g = blockIdx.x / (TILES * PHASES_H * PHASES_W);
    if (row == 0) {  // pixel n0 + side of the phase; may be past the last image
        // BEGIN SOLUTION
        const int64_t H = ceil_div(IH, p.stride_h), W = ceil_div(IW, p.stride_w);
        const int64_t i = n0 + side;
        pixels[0][side] = i / (H * W), pixels[1][side] = i / W % H;
        pixels[2][side] = i % W;
        // END SOLUTION
        // STARTER // your code (the reference takes 4 lines)
        // STARTER pixels[0][side] = pixels[1][side] = pixels[2][side] = 0;
        // STARTER (void)n0;
    }
    if (threadIdx.x == 0)  // the only divisions by a stride
        find_taps(phase_h + p.padding_h, KH, p.stride_h, p.dilation_h, &taps[0]);
    if (threadIdx.x == 1)
        find_taps(phase_w + p.padding_w, KW, p.stride_w, p.dilation_w, &taps[1]);
    __syncthreads();  // pixels and taps are written before they are used

    accum sum[TM][TN] = {};  // stays 0 in a phase without taps
    int64_t y = taps[0].window;
    for (int64_t kh = taps[0].first; kh < KH; kh += taps[0].step, y -= taps[0].back) {
        int64_t x = taps[1].window;
        for (int64_t kw = taps[1].first; kw < KW;
             kw += taps[1].step, x -= taps[1].back) {
            // BEGIN SOLUTION
            const int64_t n = pixels[0][side], oc = g * GK + row;
            const int64_t oh = pixels[1][side] + y, ow = pixels[2][side] + x;
            const bool meets = n < N && has_pixel(&grad_output, oh, ow);
            const real *from = at4(&grad_output, n, oc, oh, ow);
            const real *filter = filters + ((oc * KH + kh) * KW + kw) * GM + m0 + side;
            // END SOLUTION
            // STARTER // your code: where does pixel `side` read grad_output, if a
            // STARTER // window contains it? Where do the filters of column `side`
            // STARTER // begin? (the reference takes 5 lines)
            // STARTER (void)x;
            for (int64_t k0 = 0; k0 < GK; k0 += BK) {
                // BEGIN SOLUTION
#pragma unroll
                for (int i = 0; i < BK; i += ROWS) {
                    const bool inside = row + i < GK - k0;
                    const bool filled = inside && m0 + side < GM;
                    left[row + i][side] = filled ? accum_from(*filter) : 0;
                    right[row + i][side] = meets && inside ? accum_from(*from) : 0;
                    filter += ROWS * KH * KW * GM, from += ROWS * grad_output.stride[1];
                }
                // END SOLUTION
                // STARTER // your code: rows k0 to k0 + 15 of both tiles; 0 past the
                // STARTER // last one (the reference takes 7 lines)
                __syncthreads();  // both tiles are written before any thread reads

                // BEGIN SOLUTION
#pragma unroll 4
                for (int k = 0; k < BK; k++) {  // all 16 at once need 128 registers
                    accum l[TM], r[TN];
                    for (int i = 0; i < TM; i++) l[i] = left[k][ty * TM + i];
                    for (int j = 0; j < TN; j++) r[j] = right[k][tx + TX * j];
                    for (int i = 0; i < TM; i++) {
                        for (int j = 0; j < TN; j++) sum[i][j] += l[i] * r[j];
                    }
                }
                // END SOLUTION
                // STARTER // your code: the product (the reference takes 8 lines)
                // STARTER (void)filters, (void)g;
                __syncthreads();  // all have read the tiles before they change
            }
        }
    }
    for (int j = 0; j < TN; j++) {
        const int at = tx + TX * j;
        const int64_t n = pixels[0][at], ih = phase_h + pixels[1][at] * p.stride_h;
        const int64_t iw = phase_w + pixels[2][at] * p.stride_w;
        for (int i = 0; i < TM; i++) {
            const int64_t m = m0 + ty * TM + i;
            if (m >= GM || n >= N || ih >= IH || iw >= IW) continue;  // past the edge
            *at4(&grad_input, n, g * GM + m, ih, iw) = real_from(sum[i][j]);
        }
    }
}

/* Copies weight by turn_kernel, then computes grad_input for all phases at once. */
extern "C" status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *weight,
                                    conv2d_params_t p, tensor_t *grad_input,
                                    tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when both kernels are done
    if (!grad_input) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_WEIGHT | GRAD_BIAS;
    if (grad_input->size[0] == 0) return STATUS_OK;
    const int64_t COUNT = tensor_numel(weight), *in = grad_input->size;
    real *filters = (real *)ctx_scratch(ctx, (size_t)COUNT * sizeof(real));
    if (!filters) return STATUS_NO_MEMORY;
    const unsigned turns = grid_of(ceil_div(COUNT, TURN_THREADS));
    turn_kernel<<<turns, TURN_THREADS, 0, ctx->stream>>>(*weight, filters, COUNT);
    CUDA_TRY(ctx, cudaGetLastError());

    const int64_t PHASES_H = p.stride_h < in[2] ? p.stride_h : in[2];
    const int64_t PHASES_W = p.stride_w < in[3] ? p.stride_w : in[3];
    const int64_t GN =
        in[0] * ceil_div(in[2], p.stride_h) * ceil_div(in[3], p.stride_w);
    const int64_t TILES = ceil_div(weight->size[1], BM) * ceil_div(GN, BN);
    const unsigned blocks = grid_of(p.groups * PHASES_H * PHASES_W * TILES);
    grad_input_kernel<<<blocks, THREADS, 0, ctx->stream>>>(
        *grad_output, filters, weight->size[2], weight->size[3], p, *grad_input,
        PHASES_H, PHASES_W, GN);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
