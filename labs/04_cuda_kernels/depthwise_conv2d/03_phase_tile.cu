/* 03 phase tile
 *
 *   idea    for every stride-th pixel, grad_input is a convolution of stride 1
 *   expect  no multiplications by inserted zeros; 1.5x the minimum of bytes (counted)
 *   limit   three loads from shared memory for every multiply-add
 *   run     make grade T=04_cuda_kernels/depthwise_conv2d/03
 *
 * Covers grad_input, if a tile and a filter fit into 48 KB of shared memory. Scratch
 * memory: a copy of a non-contiguous weight.
 */
#include "layout.h"

enum { TW = 32, TH = 8, THREADS = TW * TH };  // pixels of a block, one per thread
enum { SHARED = 48 * 1024 };                  // bytes per block that each GPU has
enum { BLOCKS_PER_SM = 3 };                   // a thread may have 80 registers

/* The options along one axis. At kernel position k, pixel i is in window (i + P - k*D)
 * / S, if this is a whole number. So all pixels phase + S*j of a phase use the same k,
 * and for each k they are in consecutive windows. Each phase is a convolution of stride
 * 1. Example with stride 2, padding 1, K = 3:
 *
 *     pixels of phase 0    0 2 4   position 1: windows 0 1 2
 *     pixels of phase 1    1 3 5   position 0: windows 1 2 3, position 2: 0 1 2 */
typedef struct {
    int64_t K, S, P, D;  // kernel, stride, padding, dilation
} axis_t;

/* Returns the first window that may contain pixel 0 of a phase, rounded down. A window
 * with a negative number does not exist, and its gradient counts as 0. */
[[maybe_unused]] static HOST_DEVICE int64_t first_window(axis_t a, int64_t phase)
{
    // BEGIN SOLUTION
    const int64_t distance = phase + a.P - (a.K - 1) * a.D;
    return distance >= 0 ? distance / a.S : -ceil_div(-distance, a.S);
    // END SOLUTION
    // STARTER return 0;  // your code (the reference takes 2 lines)
}

/* Returns (window of position k) - first_window, or -1 if the phase does not use k. */
[[maybe_unused]] static HOST_DEVICE int64_t windows_to(axis_t a, int64_t phase,
                                                       int64_t k)
{
    // BEGIN SOLUTION
    const int64_t distance = phase + a.P - k * a.D - first_window(a, phase) * a.S;
    return distance % a.S == 0 ? distance / a.S : -1;
    // END SOLUTION
    // STARTER return -1;  // your code (the reference takes 2 lines)
}

/* Returns how many windows a tile has along an axis, for `pixels` pixels of a phase. */
static HOST_DEVICE int64_t tile_side(axis_t a, int64_t pixels)
{
    // BEGIN SOLUTION
    return pixels + (a.K - 1) * a.D / a.S + 1;
    // END SOLUTION
    // STARTER return pixels;  // your code (the reference takes 1 line)
}

/* Copies HIGH x WIDE elements of one plane of grad_output, from (oh0, ow0) on, to
 * `windows`. Elements outside of the plane become 0. `first` is the address of (oh0,
 * ow0). Each thread copies every 8th row of every 32nd column. */
static __device__ void fetch(const tensor_t *grad_output, const real *first,
                             int64_t oh0, int64_t ow0, int HIGH, int WIDE,
                             accum *windows)
{
    // BEGIN SOLUTION
    const int64_t right = grad_output->stride[3], down = grad_output->stride[2];
    const int ty = threadIdx.x / TW;
    for (int x = threadIdx.x % TW; x < WIDE; x += TW) {
        const real *from = first + ty * down + x * right;
        for (int y = ty; y < HIGH; y += TH, from += TH * down) {
            const bool there = has_pixel(grad_output, oh0 + y, ow0 + x);
            windows[y * WIDE + x] = there ? accum_from(*from) : 0;
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 9 lines)
}

/* A block owns 8 x 32 pixels of one phase of one channel, a thread owns one pixel. The
 * block sums over the filters of the channel, one filter after the other. blockIdx.x
 * numbers the tiles in the order (n, ic, phase, j0, i0). Shared memory: a filter, HIGH
 * x WIDE elements of grad_output, and the offset of each kernel position. In f32, a 3 x
 * 3 kernel with stride 1 needs 1.7 KB. */
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    grad_input_kernel(const __grid_constant__ tensor_t grad_output,
                      const __grid_constant__ tensor_t weight, axis_t h, axis_t w,
                      const __grid_constant__ tensor_t grad_input)
{
    extern __shared__ __align__(16) accum shared[];
    const int64_t IC = grad_input.size[1], M = weight.size[0] / IC;
    const int64_t COLUMNS = ceil_div(ceil_div(grad_input.size[3], w.S), TW);
    const int64_t ROWS = ceil_div(ceil_div(grad_input.size[2], h.S), TH);
    const int64_t TILES = ROWS * COLUMNS, plane = blockIdx.x / (h.S * w.S * TILES);
    const int64_t n = plane / IC, ic = plane % IC;
    const int64_t phase_h = blockIdx.x / (w.S * TILES) % h.S;
    const int64_t phase_w = blockIdx.x / TILES % w.S;
    const int64_t j0 = blockIdx.x % TILES / COLUMNS * TH;
    const int64_t i0 = blockIdx.x % COLUMNS * TW;
    const int HIGH = (int)tile_side(h, TH), WIDE = (int)tile_side(w, TW);  // fit int
    const int K = (int)(h.K * w.K);                                        // fits int
    const int64_t oh0 = j0 + first_window(h, phase_h);  // first window of the tile
    const int64_t ow0 = i0 + first_window(w, phase_w);
    const int tx = threadIdx.x % TW, ty = threadIdx.x / TW;
    accum *const filter = shared, *const windows = shared + K;
    int *const places = (int *)(windows + HIGH * WIDE);
    // places[k] is the offset from a pixel's first window to that of k, or -1: none
    // BEGIN SOLUTION
    for (int k = threadIdx.x; k < K; k += THREADS) {
        const int64_t y = windows_to(h, phase_h, k / w.K);
        const int64_t x = windows_to(w, phase_w, k % w.K);
        places[k] = y < 0 || x < 0 ? -1 : (int)(y * WIDE + x);
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
    // STARTER (void)places;
    const real *weights = real_data(&weight) + ic * M * K;  // of filter m below
    const real *first = at4(&grad_output, n, ic * M, oh0, ow0);
    accum sum = 0;  // stays 0 in a phase without positions
    for (int64_t m = 0; m < M; m++, weights += K, first += grad_output.stride[1]) {
        for (int k = threadIdx.x; k < K; k += THREADS)
            filter[k] = accum_from(weights[k]);
        fetch(&grad_output, first, oh0, ow0, HIGH, WIDE, windows);
        __syncthreads();  // places, filter and windows are written before all read them
        const accum *const mine = windows + ty * WIDE + tx;
        // BEGIN SOLUTION
        for (int k = 0; k < K; k++) {
            if (places[k] >= 0) sum += filter[k] * mine[places[k]];  // same k in a warp
        }
        // END SOLUTION
        // STARTER // your code: positions of this phase (the reference takes 3 lines)
        // STARTER (void)mine;
        __syncthreads();  // all have read before the next filter overwrites
    }
    const int64_t ih = phase_h + (j0 + ty) * h.S, iw = phase_w + (i0 + tx) * w.S;
    if (has_pixel(&grad_input, ih, iw))
        *at4(&grad_input, n, ic, ih, iw) = real_from(sum);
}

/* grad_input[n,ic] = the sum, over the filters oc of channel ic, of a convolution of
 * grad_output[n,oc], with stride - 1 zeros inserted, by the flipped filter oc. */
extern "C" status_t
depthwise_conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                          const tensor_t *input, const tensor_t *weight,
                          depthwise_conv2d_params_t p, tensor_t *grad_input,
                          tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    const axis_t h = {weight->size[2], p.stride_h, p.padding_h, p.dilation_h};
    const axis_t w = {weight->size[3], p.stride_w, p.padding_w, p.dilation_w};
    const int64_t HIGH = tile_side(h, TH), WIDE = tile_side(w, TW), K = h.K * w.K;
    const bool small = HIGH <= SHARED && WIDE <= SHARED && K <= SHARED;
    const size_t BYTES =
        small ? (size_t)(K + HIGH * WIDE) * sizeof(accum) + (size_t)K * sizeof(int) : 0;
    if (!grad_input || !small || BYTES > SHARED) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_WEIGHT | GRAD_BIAS;
    if (tensor_numel(grad_input) == 0) return STATUS_OK;
    const real *filters = tensor_contiguous(ctx, weight);
    if (!filters) return STATUS_NO_MEMORY;
    const int64_t *in = input->size;
    const int64_t TILES = h.S * ceil_div(ceil_div(in[2], h.S), TH) * w.S *
                          ceil_div(ceil_div(in[3], w.S), TW);
    grad_input_kernel<<<grid_of(in[0] * in[1] * TILES), THREADS, BYTES, ctx->stream>>>(
        *grad_output, tensor_dense(filters, 4, weight->size), h, w, *grad_input);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
