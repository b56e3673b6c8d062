/* 04 backward weight
 *
 *   idea    several blocks share each sum of grad_weight; a second kernel adds them up
 *   expect  about 512 blocks, even for a small weight; 2.8x the minimum bytes (counted)
 *   limit   no block computes while it fetches; splits are stored and read again
 *   run     make grade T=04_cuda_kernels/conv2d/04
 *
 *     windows of all images    0 ..... 255   256 .... 511   512 .... 767   ...
 *     a block sums each part   partial[0]    partial[1]     partial[2]
 *     then, in this order      partial[0]  + partial[1]  +  partial[2]   + ...
 *
 * A split is a range of windows that one block sums. The sizes alone decide the number
 * of splits, so two runs give equal results. Covers grad_weight and grad_bias, if rows
 * and columns fit into 32 bits. Scratch memory: both gradients of each split, as accum.
 */
#include "layout.h"

enum { BM = 64, BN = 64, BK = 16, THREADS = 128 };  // of a block
enum { TM = 8, TN = 4, TX = BN / TN };              // of a thread; threads along n
enum { ROWS = THREADS / BK };                       // of a tile, fetched at once
enum { BLOCKS = 512, LEAST = 256 };  // blocks wanted; windows per block, at least

/* For each split and group, partial (GM, GN + 1) = grad_output (GM, GK) @ windows^T
 * (GK, GN), for SPAN of the GK windows. Column GN of partial has the sums of
 * grad_output. GM = OC/G, GK = N*OH*OW, GN = IC/G*KH*KW. If only grad_bias is wanted,
 * GN = 0. A block owns a tile of 64 x 64, thread (ty, tx) owns rows 8*ty to 8*ty + 7
 * and columns tx, tx + 16, tx + 32, tx + 48. blockIdx.x numbers the tiles in the order
 * (split, g, n0, m0). Shared memory: tiles of 16 x 68 and 16 x 66, padded against bank
 * conflicts, and 64 kernel positions; 9600 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    partial_kernel(const __grid_constant__ tensor_t grad_output,
                   const __grid_constant__ tensor_t input,
                   const __grid_constant__ tensor_t weight, conv2d_params_t p,
                   int64_t GN, int64_t TILES_N, int64_t SPAN,
                   accum *__restrict__ partial)
{
    __shared__ __align__(16) accum left[BK][BM + 4];      // (window, oc)
    [[maybe_unused]] __shared__ accum right[BK][BN + 2];  // (window, position)
    [[maybe_unused]] __shared__ int64_t offset[BN];  // kernel position's input offset
    [[maybe_unused]] __shared__ int2 away[BN];       // offset in columns and in rows
    const int t = threadIdx.x, tx = t % TX, ty = t / TX;
    const int at = t % BK, row = t / BK;  // fetches window `at`, every 8th row
    const int64_t GM = grad_output.size[1] / p.groups, IC = input.size[1] / p.groups;
    const int OH = (int)grad_output.size[2], OW = (int)grad_output.size[3];
    const unsigned IH = (unsigned)input.size[2], IW = (unsigned)input.size[3];

    const int64_t TILES_M = ceil_div(GM, BM), TILES = TILES_M * TILES_N;
    const int64_t m0 = blockIdx.x % TILES_M * BM;
    const int64_t n0 = blockIdx.x % TILES / TILES_M * BN;
    const int64_t g = blockIdx.x / TILES % p.groups;
    const int64_t split = blockIdx.x / (TILES * p.groups);
    const int64_t LEFT = grad_output.size[0] * OH * OW - split * SPAN;
    const int64_t GK = LEFT < SPAN ? LEFT : SPAN;  // windows of this split
    if (t < BN) {
        // BEGIN SOLUTION
        const place_t of = place_of(&weight, n0 + t);  // (oc,) ic, kh, kw
        const int64_t h = of.h * p.dilation_h - p.padding_h;
        const int64_t w = of.w * p.dilation_w - p.padding_w;
        offset[t] = of.c * input.stride[1] + h * input.stride[2] + w * input.stride[3];
        away[t] = make_int2((int)w, (int)h);
        // END SOLUTION
        // STARTER // your code: offset and away of column n0 + t. place_of(&weight, i)
        // STARTER // gives its kernel position (the reference takes 5 lines)
    }
    const int64_t first = split * SPAN + at;  // first window that the thread fetches
    int64_t n = first / OW / OH;
    int oh = (int)(first / OW % OH), ow = (int)(first % OW);
    __syncthreads();  // the positions are written before they are used
    accum sum[TM][TN] = {}, bias = 0;
    for (int64_t k0 = 0; k0 < GK; k0 += BK) {
        // BEGIN SOLUTION
        const int ih = oh * (int)p.stride_h, iw = ow * (int)p.stride_w;
        const real *grad = at4(&grad_output, n, g * GM + m0 + row, oh, ow);
        const real *pixel = at4(&input, n, g * IC, ih, iw);
#pragma unroll
        for (int i = 0; i < BM; i += ROWS) {  // BM = BN
            const int x = row + i;            // row of left and of right
            const unsigned w = iw + away[x].x, h = ih + away[x].y;  // -1 becomes large
            const bool filled = k0 + at < GK && m0 + x < GM;
            const bool inside = k0 + at < GK && n0 + x < GN && h < IH && w < IW;
            left[at][x] = filled ? accum_from(*grad) : 0;
            right[at][x] = inside ? accum_from(pixel[offset[x]]) : 0;
            grad += ROWS * grad_output.stride[1];
        }
        // END SOLUTION
        // STARTER // your code: row `at` of both tiles, for window (n, oh, ow); 0 if
        // STARTER // there is none (the reference takes 12 lines)
        // STARTER (void)IC, (void)IH, (void)IW, (void)row;
        ow += BK;  // to the thread's next window
        while (ow >= OW) {
            ow -= OW, oh++;
            if (oh == OH) oh = 0, n++;
        }
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
        if (n0 == 0 && t < BM) {
            for (int k = 0; k < BK; k++) bias += left[k][t];
        }
        __syncthreads();  // all have read the tiles before they change
    }
    partial += ((split * p.groups + g) * GM + m0) * (GN + 1);
    for (int i = 0; i < TM; i++) {
        for (int j = 0; j < TN; j++) {
            const int64_t m = ty * TM + i, column = n0 + tx + TX * j;
            if (m0 + m >= GM || column >= GN) continue;  // past the edge
            partial[m * (GN + 1) + column] = sum[i][j];
        }
    }
    if (n0 == 0 && t < BM && m0 + t < GM) partial[t * (GN + 1) + GN] = bias;
}

/* Adds up partial (SPLITS, OC, GN + 1) into grad_weight (OC, GN) and grad_bias (OC). A
 * block owns 128 of the OC*(GN + 1) elements, a thread one. No shared memory. */
static __global__ void sum_kernel(const accum *__restrict__ partial, int64_t SPLITS,
                                  int64_t GN, real *__restrict__ grad_weight,
                                  real *__restrict__ grad_bias, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    accum sum = 0;  // stays 0 without images
    for (int64_t s = 0; s < SPLITS; s++) sum += partial[s * COUNT + i];
    const int64_t oc = i / (GN + 1), column = i % (GN + 1);
    if (column < GN) grad_weight[oc * GN + column] = real_from(sum);
    if (column == GN && grad_bias) grad_bias[oc] = real_from(sum);
    // END SOLUTION
    // STARTER // your code: a weight, or in the last column a bias; grad_bias may be
    // STARTER // NULL (the reference takes 5 lines)
}

/* Computes the sums of each split by partial_kernel, and adds them up by sum_kernel. */
extern "C" status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *weight,
                                    conv2d_params_t p, tensor_t *grad_input,
                                    tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when both kernels are done
    const int64_t *in = input->size, *out = grad_output->size, *size = weight->size;
    const bool fits =
        in[2] + 2 * p.padding_h <= INT32_MAX && in[3] + 2 * p.padding_w <= INT32_MAX;
    if (!fits || (!grad_weight && !grad_bias)) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_INPUT;
    const int64_t GN = grad_weight ? size[1] * size[2] * size[3] : 0;
    const int64_t GK = out[0] * out[2] * out[3], COUNT = size[0] * (GN + 1);
    const int64_t TILES_N = GN > 0 ? ceil_div(GN, BN) : 1;
    const int64_t TILES = p.groups * ceil_div(size[0] / p.groups, BM) * TILES_N;
    // BEGIN SOLUTION
    const int64_t WANTED = ceil_div(BLOCKS, TILES);  // splits
    const int64_t SPAN = ceil_div(GK, WANTED * LEAST) * LEAST;
    // END SOLUTION
    // STARTER // your code: the windows per split. The number is a multiple of LEAST,
    // STARTER // and gives about BLOCKS blocks (the reference takes 2 lines)
    // STARTER const int64_t SPAN = LEAST;
    const int64_t SPLITS = GK > 0 ? ceil_div(GK, SPAN) : 0;
    accum *partial = NULL;
    if (SPLITS > 0) {  // there are images
        partial = (accum *)ctx_scratch(ctx, (size_t)(SPLITS * COUNT) * sizeof(accum));
        if (!partial) return STATUS_NO_MEMORY;
        partial_kernel<<<grid_of(SPLITS * TILES), THREADS, 0, ctx->stream>>>(
            *grad_output, *input, *weight, p, GN, TILES_N, SPAN, partial);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    sum_kernel<<<grid_of(ceil_div(COUNT, THREADS)), THREADS, 0, ctx->stream>>>(
        partial, SPLITS, GN, data_or_null(grad_weight), data_or_null(grad_bias), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
