/* 02 register column
 *
 *   idea    a thread owns 8 windows of a column, and loads a pixel once for KH windows
 *   expect  3 x 3: 1/3.7 of 01_halo_tile's shared loads; 2.9x its speed on an H100
 *   limit   no thread computes while the block fetches a tile
 *   run     make grade T=04_cuda_kernels/depthwise_conv2d/02
 *
 * Covers kernels of height 3 or 5 with stride_h = dilation_h = 1, if tile and filters
 * fit into 48 KB. Scratch memory: a copy of a non-contiguous weight.
 */
#include "layout.h"

enum { TW = 32, ROWS = 8, TY = 4, THREADS = TW * TY };  // a thread has 8 windows
enum { TH = ROWS * TY };                                // 32 x 32 windows of a block
enum { BANKS = 32, SHARED = 48 * 1024 };  // bytes per block that each GPU has

/* A tile has HIGH x WIDE pixels. Columns with the same x % stride_w are neighbours. */
typedef struct {
    int64_t HIGH, WIDE, PART, PITCH;  // of the tile; PITCH = stride_w * PART words
} tile_t;

static tile_t tile_of(const tensor_t *weight, depthwise_conv2d_params_t p)
{
    // BEGIN SOLUTION
    tile_t t;
    t.HIGH = TH + weight->size[2] - 1;
    t.WIDE = (TW - 1) * p.stride_w + (weight->size[3] - 1) * p.dilation_w + 1;
    const int64_t apart = ceil_div(BANKS, p.stride_w);  // banks between two residues,
    const int64_t least = ceil_div(t.WIDE, p.stride_w) - apart;  // avoids conflicts
    t.PART = apart + (least > 0 ? ceil_div(least, BANKS) * BANKS : 0);
    t.PITCH = p.stride_w * t.PART;
    return t;
    // END SOLUTION
    // STARTER // your code, for stride 1 (the reference takes 8 lines)
    // STARTER return tile_t{};
}

/* A step from kernel column kw to kw + 1 adds `right` to the offset in the tile. If the
 * column modulo S wraps around, the step also adds `back`. */
typedef struct {
    int S, residue, right, back;
} step_t;

static __device__ step_t step_of(depthwise_conv2d_params_t p, tile_t tile)
{
    const int S = (int)p.stride_w, D = (int)p.dilation_w;  // small: the tile fits
    const int PART = (int)tile.PART;
    return {S, D % S, D % S * PART + D / S, 1 - S * PART};
}

/* Adds the products of one filter of K x KW to the sums of a thread's 8 windows. The
 * windows are in one column. For each kw, the thread loads K weights and 8 + K - 1
 * pixels. Pixel r is under kernel row kh in window r - kh.
 *
 *     K = 3    pixels   0  1  2  3  4  5  6  7  8  9
 *     window 0          *  *  *
 *     window 1             *  *  *                    ... to window 7 */
template <int K>
static __device__ void column(const accum *filter, int KW, step_t step,
                              const accum *corner, tile_t tile, accum sum[ROWS])
{
    // BEGIN SOLUTION
    const accum *at = corner;
    for (int kw = 0, rest = 0; kw < KW; kw++) {
        accum w[K];
#pragma unroll  // with a variable index, weights and sums would not be in registers
        for (int kh = 0; kh < K; kh++) w[kh] = filter[kh * KW + kw];
#pragma unroll
        for (int r = 0; r < ROWS + K - 1; r++) {
            const accum pixel = at[r * tile.PITCH];
#pragma unroll
            for (int kh = 0; kh < K; kh++) {
                if (r - kh >= 0 && r - kh < ROWS) sum[r - kh] += w[kh] * pixel;
            }
        }
        at += step.right, rest += step.residue;
        if (rest >= step.S) rest -= step.S, at += step.back;
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 13 lines)
}

/* Copies a block's tile of input[n, ic], from (ih0, iw0) on, to `pixels`. The padding
 * becomes 0. Each thread copies every 4th row of every 32nd column. */
static __device__ void fetch(const tensor_t *input, int64_t n, int64_t ic, int64_t ih0,
                             int64_t iw0, int S, tile_t tile, accum *pixels)
{
    // BEGIN SOLUTION
    const int ty = threadIdx.x / TW;
    for (int x = threadIdx.x % TW; x < tile.WIDE; x += TW) {
        accum *to = pixels + ty * tile.PITCH + x % S * tile.PART + x / S;
        const real *from = at4(input, n, ic, ih0 + ty, iw0 + x);
        for (int y = ty; y < tile.HIGH; y += TY) {
            const bool inside = has_pixel(input, ih0 + y, iw0 + x);
            *to = inside ? accum_from(*from) : 0;
            to += TY * tile.PITCH, from += TY * input->stride[2];
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 10 lines)
}

/* A block owns 32 x 32 windows of one channel, for all M filters of the channel. A
 * thread owns 8 windows of a column. blockIdx.x numbers the tiles in the order (n, ic,
 * oh0, ow0). Shared memory: the M filters and a tile of HIGH x PITCH pixels, 8.5 KB for
 * a 3 x 3 kernel in f32. */
static __global__ void __launch_bounds__(THREADS)
    output_kernel(const __grid_constant__ tensor_t input,
                  const __grid_constant__ tensor_t weight,
                  const __grid_constant__ tensor_t bias, depthwise_conv2d_params_t p,
                  tile_t tile, const __grid_constant__ tensor_t output)
{
    extern __shared__ __align__(16) accum shared[];
    const int64_t IC = input.size[1], OH = output.size[2], OW = output.size[3];
    const int64_t M = output.size[1] / IC, KH = weight.size[2], KW = weight.size[3];
    const int64_t COLUMNS = ceil_div(OW, TW), TILES = ceil_div(OH, TH) * COLUMNS;
    const int64_t plane = blockIdx.x / TILES, n = plane / IC, ic = plane % IC;
    const int64_t oh0 = blockIdx.x % TILES / COLUMNS * TH;
    const int64_t ow0 = blockIdx.x % COLUMNS * TW;
    const int tx = threadIdx.x % TW, ty = threadIdx.x / TW;
    const step_t step = step_of(p, tile);
    accum *const filters = shared, *const pixels = shared + M * KH * KW;
    const int64_t ih0 = oh0 - p.padding_h, iw0 = ow0 * p.stride_w - p.padding_w;
    for (int64_t i = threadIdx.x; i < M * KH * KW; i += THREADS)
        filters[i] = accum_from(real_data(&weight)[ic * M * KH * KW + i]);
    fetch(&input, n, ic, ih0, iw0, step.S, tile, pixels);
    __syncthreads();  // filters and pixels are written before any thread reads them
    const int64_t oh1 = oh0 + ty * ROWS, ow = ow0 + tx;  // of the first window
    if (oh1 >= OH || ow >= OW) return;                   // an edge; no barrier follows
    const accum *const corner = pixels + ty * ROWS * tile.PITCH + tx;
    const accum *filter = filters;
    real *results = at4(&output, n, ic * M, oh1, ow);
    for (int64_t m = 0; m < M; m++, filter += KH * KW, results += output.stride[1]) {
        const accum start = bias.data ? accum_from(*at1(&bias, ic * M + m)) : 0;
        accum sum[ROWS];
        for (int r = 0; r < ROWS; r++) sum[r] = start;
        if (KH == 3) column<3>(filter, (int)KW, step, corner, tile, sum);
        if (KH == 5) column<5>(filter, (int)KW, step, corner, tile, sum);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (oh1 + r < OH) results[r * output.stride[2]] = real_from(sum[r]);
        }
    }
}

/* output[n,oc,oh,ow] = bias[oc] + sum over kh, kw of input * weight */
extern "C" status_t depthwise_conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                             const tensor_t *weight,
                                             const tensor_t *bias,
                                             depthwise_conv2d_params_t p,
                                             tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    if (tensor_numel(output) == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const tile_t tile = tile_of(weight, p);
    const int64_t IC = input->size[1], KH = weight->size[2], *out = output->size;
    const int64_t FILTERS = tensor_numel(weight) / IC;  // words of a channel's filters
    const bool fits = (KH == 3 || KH == 5) && p.stride_h == 1 && p.dilation_h == 1 &&
                      tile.PITCH <= SHARED && FILTERS <= SHARED;
    const int64_t BYTES =
        fits ? (FILTERS + tile.HIGH * tile.PITCH) * (int64_t)sizeof(accum) : 0;
    if (!fits || BYTES > SHARED) return STATUS_UNSUPPORTED;
    const real *filters = tensor_contiguous(ctx, weight);
    if (!filters) return STATUS_NO_MEMORY;
    const int64_t TILES = ceil_div(out[2], TH) * ceil_div(out[3], TW);
    output_kernel<<<grid_of(out[0] * IC * TILES), THREADS, (size_t)BYTES,
                    ctx->stream>>>(*input, tensor_dense(filters, 4, weight->size),
                                   bias ? *bias : tensor_t{}, p, tile, *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
