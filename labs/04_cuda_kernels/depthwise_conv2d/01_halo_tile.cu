/* 01 halo tile
 *
 *   idea    a block fetches the pixels that its windows share once, into shared memory
 *   expect  a pixel read about once for KH*KW windows; time not measured
 *   limit   three loads from shared memory for every multiply-add
 *   run     make grade T=04_cuda_kernels/depthwise_conv2d/01
 *
 * Forward, where tile and filters fit into 48 KB; else the fallback. Workspace: none.
 */
#include "launch.h"

extern "C" depthwise_conv2d_forward_fn fallback_forward;

enum { TW = 32, TH = 8, THREADS = TW * TH };  // windows of a block, one for each thread
enum { BANKS = 32, SHARED = 48 * 1024 };      // bytes that every card has for a block

// BEGIN SOLUTION
/* Windows (oh0, ow0) to (oh0 + 7, ow0 + 31) see these pixels of the padded image:
 *
 *     stride 1, 3 x 3        . . . . . .     HIGH = 7 * stride_h + reach of a kernel
 *                            . # # # # .     WIDE = 31 * stride_w + reach of a kernel
 *     # windows, . halo      . # # # # .
 *                            . . . . . .
 *
 * Columns that are a stride apart lie side by side, in PART words for each residue:
 * a warp then reads 32 neighbours whatever the stride is. */
typedef struct {
    int64_t HIGH, WIDE, PART, PITCH;  // of the tile; PITCH = stride_w * PART words
} tile_t;

static tile_t tile_of(const tensor_t *weight, depthwise_conv2d_params_t p)
{
    tile_t t;
    t.HIGH = (TH - 1) * p.stride_h + (weight->size[2] - 1) * p.dilation_h + 1;
    t.WIDE = (TW - 1) * p.stride_w + (weight->size[3] - 1) * p.dilation_w + 1;
    const int64_t apart = ceil_div(BANKS, p.stride_w);  // banks between two residues,
    const int64_t least = ceil_div(t.WIDE, p.stride_w) - apart;  // for who writes them
    t.PART = apart + (least > 0 ? ceil_div(least, BANKS) * BANKS : 0);
    t.PITCH = p.stride_w * t.PART;
    return t;
}
// END SOLUTION
// STARTER // a helper for the tile's sizes, if you want (the reference takes 14 lines)

/* A block owns 8 x 32 windows of one channel, for all M filters of the channel; a
 * thread owns one window. The grid counts tiles in the order (n, ic, oh0, ow0), along
 * x.
 * Shared memory: M filters, HIGH x PITCH pixels, and where in them each place of the
 * kernel is; 2.6 KB for 3 x 3, stride 1, f32. */
// BEGIN SOLUTION
static __global__ void __launch_bounds__(THREADS)
    output_kernel(const __grid_constant__ tensor_t input,
                  const __grid_constant__ tensor_t weight,
                  const __grid_constant__ tensor_t bias, depthwise_conv2d_params_t p,
                  tile_t tile, const __grid_constant__ tensor_t output)
{
    extern __shared__ __align__(16) accum shared[];
    const int64_t IC = input.size[1], OH = output.size[2], OW = output.size[3];
    const int64_t M = output.size[1] / IC, KW = weight.size[3];
    const int64_t K = weight.size[2] * KW, COLUMNS = ceil_div(OW, TW);
    const int64_t TILES = ceil_div(OH, TH) * COLUMNS, plane = blockIdx.x / TILES;
    const int64_t n = plane / IC, ic = plane % IC;
    const int64_t oh0 = blockIdx.x % TILES / COLUMNS * TH;
    const int64_t ow0 = blockIdx.x % COLUMNS * TW;
    const int tx = threadIdx.x % TW, ty = threadIdx.x / TW;
    const int S = (int)p.stride_w;  // the tile fits, so it does too
    accum *const filters = shared, *const pixels = shared + M * K;
    int *const places = (int *)(pixels + tile.HIGH * tile.PITCH);

    for (int64_t i = threadIdx.x; i < M * K; i += THREADS) {
        const real *from = at4(&weight, ic * M + i / K, 0, i % K / KW, i % KW);
        filters[i] = accum_from(*from);
    }
    for (int k = (int)threadIdx.x; k < K; k += THREADS) {
        const int x = k % (int)KW * (int)p.dilation_w;
        places[k] = k / (int)KW * (int)(p.dilation_h * tile.PITCH) +
                    x % S * (int)tile.PART + x / S;
    }
    const int64_t ih0 = oh0 * p.stride_h - p.padding_h;
    const int64_t iw0 = ow0 * p.stride_w - p.padding_w;
    for (int64_t y = ty; y < tile.HIGH; y += TH) {
        for (int x = tx; x < tile.WIDE; x += TW) {
            const int64_t ih = ih0 + y, iw = iw0 + x;
            const bool inside =
                ih >= 0 && ih < input.size[2] && iw >= 0 && iw < input.size[3];
            accum *to = pixels + y * tile.PITCH + x % S * tile.PART + x / S;
            *to = inside ? accum_from(*at4(&input, n, ic, ih, iw)) : 0;
        }
    }
    __syncthreads();  // filters, places and pixels are written before anybody reads
    const int64_t oh = oh0 + ty, ow = ow0 + tx;
    if (oh >= OH || ow >= OW) return;  // an edge; no barrier follows
    const accum *const corner = pixels + ty * p.stride_h * tile.PITCH + tx;
    for (int64_t m = 0; m < M; m++) {
        const int64_t oc = ic * M + m;
        accum sum = bias.data ? accum_from(*at1(&bias, oc)) : 0;
        for (int k = 0; k < K; k++) sum += filters[m * K + k] * corner[places[k]];
        *at4(&output, n, oc, oh, ow) = real_from(sum);
    }
}
// END SOLUTION
// STARTER // the kernel (the reference takes 49 lines)

/* output[n,oc,oh,ow] = bias[oc] + sum over kh, kw of input * weight */
extern "C" status_t depthwise_conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                             const tensor_t *weight,
                                             const tensor_t *bias,
                                             depthwise_conv2d_params_t p,
                                             tensor_t *output)
{
    // BEGIN SOLUTION
    if (tensor_numel(output) == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const tile_t tile = tile_of(weight, p);
    const int64_t IC = input->size[1], *out = output->size;
    const int64_t FILTERS = tensor_numel(weight) / IC;  // words of a channel's
    const int64_t K = weight->size[2] * weight->size[3];
    const bool fits = tile.HIGH <= SHARED && tile.PITCH <= SHARED && FILTERS <= SHARED;
    const int64_t WORDS = fits ? FILTERS + tile.HIGH * tile.PITCH : 0;
    const int64_t BYTES = WORDS * (int64_t)sizeof(accum) + K * (int64_t)sizeof(int);
    if (!fits || BYTES > SHARED)
        return fallback_forward(ctx, input, weight, bias, p, output);
    const int64_t TILES = ceil_div(out[2], TH) * ceil_div(out[3], TW);
    output_kernel<<<grid_of(out[0] * IC * TILES), THREADS, (size_t)BYTES,
                    ctx->stream>>>(*input, *weight, bias ? *bias : tensor_t{}, p, tile,
                                   *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 16 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
