/* 17 depthwise
 *
 *   idea    a filter of one channel needs no matrix: add shifted planes, times numbers
 *   expect  4x over 16_threads forward, 10x backward, where it applies
 *   limit   each multiply-add loads its vector, most of them across two cache lines
 *   run     make bench T=03_im2col_cpu/conv2d/17
 *
 * For two groups or more, of one channel and M filters each; else the fallback.
 * Workspace: for each thread a padded plane of input, M of grad_output, and the filters
 * of CHANNELS channels with vectors for elements; a copy of each tensor with gaps.
 */
#include "operators.h"
#include "vector.h"

enum { MR = 7, TAPS = 9 };  // sums in registers: rows (of 7, 14, 28 ...); a 3x3 kernel
enum { CHANNELS = 16 };     // of an image in turn: memory is read in its order

conv2d_forward_fn fallback_forward;
conv2d_backward_fn fallback_backward;

// BEGIN SOLUTION
static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* An axis of a padded plane. Element j of the plane stands at begin + j * apart, with
 * zeros around it. The first sum reads first + k * dilation for element k of the
 * kernel, the next one the place that is `stride` further.
 *
 *                  begin    apart     first              dilation     stride
 *     input        padding  1         0                  p.dilation   p.stride
 *     grad_output  reach    p.stride  padding + reach    -p.dilation  1
 *
 * So grad_input is a convolution as well, with the kernel turned over; its reach, from
 * first to last element, is (K - 1) * dilation. */
typedef struct {
    int64_t COUNT, SIZE, begin, apart, first, dilation, stride;
} axis_t;

static axis_t input_axis(int64_t IN, int64_t stride, int64_t padding, int64_t dilation)
{
    return (axis_t){IN, IN + 2 * padding, padding, 1, 0, dilation, stride};
}

static axis_t grad_axis(axis_t in, int64_t OUT, int64_t K)
{
    const int64_t reach = (K - 1) * in.dilation, first = in.begin + reach;
    return (axis_t){OUT, in.SIZE + reach, reach, in.stride, first, -in.dilation, 1};
}

/* Padded planes. Shift k begins at offset[k]; a vector may end behind the last one. */
typedef struct {
    axis_t h, w;
    int64_t PLANES, PITCH, PLANE, *offset;
} slab_t;

/* Where column x is in a row. Those that are a stride apart lie side by side, so that
 * sums read rows without gaps:
 *
 *     stride 2    a b a b a b  ->  a a a b b b
 */
static int64_t column(const axis_t *w, int64_t x)
{
    return w->stride == 1 ? x : x % w->stride * (w->SIZE / w->stride) + x / w->stride;
}

static slab_t slab_of(ctx_t *ctx, axis_t h, axis_t w, int64_t PLANES, int64_t KH,
                      int64_t KW)
{
    w.SIZE = (w.SIZE + w.stride - 1) / w.stride * w.stride;
    slab_t s = {h, w, PLANES, w.SIZE, h.SIZE * w.SIZE, NULL};
    s.offset = ctx_scratch(ctx, (size_t)(PLANES * KH * KW) * sizeof(int64_t));
    for (int64_t i = 0; s.offset && i < PLANES * KH * KW; i++) {
        const int64_t plane = i / (KH * KW), kh = i / KW % KH, kw = i % KW;
        s.offset[i] = plane * s.PLANE + (h.first + kh * h.dilation) * s.PITCH +
                      column(&w, w.first + kw * w.dilation);
    }
    return s;
}

/* What the planes do not cover is 0 already, and stays so. */
static void pad(const slab_t *s, const real *restrict planes, real *slab)
{
    const int64_t SW = s->w.stride, W = s->w.COUNT, APART = s->w.apart;
    for (int64_t j = 0; j < s->PLANES * SW; j++) {
        const int64_t first = j % SW, COUNT = (W - first + SW - 1) / SW;
        const real *from = planes + j / SW * s->h.COUNT * W + first;
        real *restrict to = slab + j / SW * s->PLANE + s->h.begin * s->PITCH;
        to += column(&s->w, s->w.begin + first);
        for (int64_t r = 0; r < s->h.COUNT; r++, from += W) {
            for (int64_t i = 0; i < COUNT; i++)  // four loops, two of them of vectors
                if (APART > 1)
                    to[i * APART] = from[i];
                else
                    to[i] = SW == 1 ? from[i] : SW == 2 ? from[2 * i] : from[i * SW];
            to += s->h.apart * s->PITCH;
        }
    }
}

/* result (H, W) = start + sum over K shifts of the slab of weight[k] * shift k */
static void convolve(const slab_t *s, const real *slab, const real *restrict weight,
                     int64_t K, real start, int64_t H, int64_t W, real *restrict result)
{
    const int64_t *restrict offset = s->offset;
    for (int64_t i = 0; i < H; i += MR) {
        for (int64_t c = 0; c < W; c += LANES) {
            const real *rows[MR];
            vec sum[MR];
            UNROLL
            for (int j = 0; j < MR; j++) {  // those below the last repeat it
                rows[j] = slab + least(i + j, H - 1) * s->h.stride * s->PITCH + c;
                sum[j] = vec_splat(start);
            }
            for (int64_t k = 0; k < K; k++) {
                UNROLL
                for (int j = 0; j < MR; j++)
                    sum[j] += weight[k] * vec_load(rows[j] + offset[k]);
            }
            UNROLL
            for (int j = 0; j < MR; j++) {
                if (i + j >= H) break;
                real *to = result + (i + j) * W + c;
                if (W - c >= LANES)
                    vec_store(to, sum[j]);
                else
                    vec_store_first(to, sum[j], W - c);
            }
        }
    }
}

/* sum[i] += grad * row i from `at` on, COUNT elements */
EXPAND void multiply(const real *grad, const real *const rows[TAPS], int64_t at,
                     int64_t COUNT, vec sum[TAPS])
{
    const vec y = vec_load_first(grad, COUNT);
    UNROLL
    for (int i = 0; i < TAPS; i++) sum[i] += y * vec_load_first(rows[i] + at, COUNT);
}

/* total[k] += grad (OH, OW) * shift k of the slab, each lane for itself */
static void correlate(const slab_t *s, const real *slab, const real *grad, int64_t K,
                      int64_t OH, int64_t OW, real *total)
{
    const int64_t WHOLE = OW - OW % LANES;
    for (int64_t k = 0; k < K; k += TAPS) {
        const real *rows[TAPS], *row = grad;
        vec sum[TAPS] = {0};
        for (int64_t i = 0; i < TAPS; i++)  // those beyond the last repeat it
            rows[i] = slab + s->offset[least(k + i, K - 1)];
        for (int64_t oh = 0; oh < OH; oh++, row += OW) {
            const int64_t at = oh * s->h.stride * s->PITCH;
            for (int64_t ow = 0; ow < WHOLE; ow += LANES)
                multiply(row + ow, rows, at + ow, LANES, sum);
            if (WHOLE < OW) multiply(row + WHOLE, rows, at + WHOLE, OW - WHOLE, sum);
        }
        UNROLL
        for (int i = 0; i < TAPS; i++) {
            real *to = total + (k + i) * LANES;
            vec_store(to, vec_load(to) + sum[i]);
        }
    }
}

/* total += grad (COUNT), each lane for itself */
static void add(const real *grad, int64_t COUNT, real *total)
{
    vec sum = vec_load(total);
    for (int64_t i = 0; i < COUNT; i += LANES)
        sum += vec_load_first(grad + i, least(LANES, COUNT - i));
    vec_store(total, sum);
}

static real all_lanes(const real *total)
{
    real sum = 0;
    for (int i = 0; i < LANES; i++) sum += total[i];
    return sum;
}

typedef struct {
    const int64_t *in, *out;      // sizes of input and output
    int64_t M, K, IMAGE, PIXELS;  // weight (IC, M, K); of a plane of each
    slab_t image, grads;
    const real *input, *weight, *grad_output;    // without gaps
    real *grad_input, *grad_weight, *grad_bias;  // NULL: not wanted
} layer_t;

static int fits(const tensor_t *input, const tensor_t *weight, const tensor_t *output)
{
    return weight->size[1] == 1 && input->size[1] > 1 && tensor_numel(input) > 0 &&
           tensor_numel(output) > 0;
}

static layer_t layer_of(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *output, conv2d_params_t p)
{
    const int64_t *in = input->size, *out = output->size;
    const int64_t M = out[1] / in[1], KH = weight->size[2], KW = weight->size[3];
    const axis_t h = input_axis(in[2], p.stride_h, p.padding_h, p.dilation_h);
    const axis_t w = input_axis(in[3], p.stride_w, p.padding_w, p.dilation_w);
    const axis_t gh = grad_axis(h, out[2], KH), gw = grad_axis(w, out[3], KW);
    layer_t l = {.in = in, .out = out, .M = M, .K = KH * KW};
    l.IMAGE = in[2] * in[3], l.PIXELS = out[2] * out[3];
    l.image = slab_of(ctx, h, w, 1, KH, KW), l.grads = slab_of(ctx, gh, gw, M, KH, KW);
    l.input = tensor_contiguous(ctx, input), l.weight = tensor_contiguous(ctx, weight);
    return l;
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 153 lines)

/* output[n,oc] = bias[oc] + sum over k of weight[oc,k] * shift k of a plane of input.
 * Each thread takes planes; what it needs to pad them is its own. */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    if (!fits(input, weight, output))
        return fallback_forward(ctx, input, weight, bias, p, output);
    const layer_t l = layer_of(ctx, input, weight, output, p);
    const int64_t T = ctx->threads, P = l.in[0] * l.in[1], SLAB = l.image.PLANE + LANES;
    real *slabs = ctx_scratch(ctx, (size_t)(T * SLAB) * sizeof(real));
    if (!l.input || !l.weight || !l.image.offset || !slabs) return STATUS_NO_MEMORY;
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t t = 0; t < T; t++) {
        real *slab = slabs + t * SLAB;
        memset(slab, 0, (size_t)SLAB * sizeof(real));
        for (int64_t i = P * t / T; i < P * (t + 1) / T; i++) {
            pad(&l.image, l.input + i * l.IMAGE, slab);
            for (int64_t m = 0; m < l.M; m++) {
                const int64_t oc = i % l.in[1] * l.M + m;
                convolve(&l.image, slab, l.weight + oc * l.K, l.K,
                         bias ? *at1(bias, oc) : 0, l.out[2], l.out[3],
                         real_data(output) + (i * l.M + m) * l.PIXELS);
            }
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 20 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

// BEGIN SOLUTION
/* All gradients of channels c0 to before c1, image after image. own: the two slabs, and
 * totals (c1-c0, M, SUMS, LANES), of a filter's elements and last of its bias. */
static void gradients(const layer_t *l, int64_t c0, int64_t c1, int64_t SUMS, real *own)
{
    const int64_t C = c1 - c0, M = l->M, K = l->K, TOTAL = SUMS * LANES;
    real *slab = own, *grads = slab + l->image.PLANE + LANES;
    real *total = grads + M * l->grads.PLANE + LANES;
    memset(total, 0, (size_t)(C * M * TOTAL) * sizeof(real));
    for (int64_t i = 0; i < l->in[0] * C; i++) {
        const int64_t c = i % C, plane = i / C * l->in[1] + c0 + c;
        const real *grad = l->grad_output + plane * M * l->PIXELS;
        if (l->grad_weight) pad(&l->image, l->input + plane * l->IMAGE, slab);
        for (int64_t m = 0; m < M; m++) {
            const real *y = grad + m * l->PIXELS;
            real *sums = total + (c * M + m) * TOTAL;
            if (l->grad_weight)
                correlate(&l->image, slab, y, K, l->out[2], l->out[3], sums);
            if (l->grad_bias) add(y, l->PIXELS, sums + TOTAL - LANES);
        }
        if (!l->grad_input) continue;
        pad(&l->grads, grad, grads);
        convolve(&l->grads, grads, l->weight + (c0 + c) * M * K, M * K, 0, l->in[2],
                 l->in[3], l->grad_input + plane * l->IMAGE);
    }
    for (int64_t oc = c0 * M; oc < c1 * M; oc++, total += TOTAL) {
        for (int64_t k = 0; l->grad_weight && k < K; k++)
            l->grad_weight[oc * K + k] = all_lanes(total + k * LANES);
        if (l->grad_bias) l->grad_bias[oc] = all_lanes(total + TOTAL - LANES);
    }
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 28 lines)

/* Each thread takes channels, and adds over images in their order: results do not
 * depend on the number of threads. */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    if (!fits(input, weight, grad_output))
        return fallback_backward(ctx, grad_output, input, weight, p, grad_input,
                                 grad_weight, grad_bias);
    layer_t l = layer_of(ctx, input, weight, grad_output, p);
    l.grad_output = tensor_contiguous(ctx, grad_output);
    l.grad_input = grad_input ? real_data(grad_input) : NULL;
    l.grad_weight = grad_weight ? real_data(grad_weight) : NULL;
    l.grad_bias = grad_bias ? real_data(grad_bias) : NULL;
    const int64_t T = ctx->threads, SUMS = (l.K + TAPS - 1) / TAPS * TAPS + 1;
    const int64_t SLABS = l.image.PLANE + l.M * l.grads.PLANE + 2 * LANES;
    const int64_t OWN = SLABS + CHANNELS * l.M * SUMS * LANES;
    real *all = ctx_scratch(ctx, (size_t)(T * OWN) * sizeof(real));
    if (!l.input || !l.weight || !l.grad_output || !all) return STATUS_NO_MEMORY;
    if (!l.image.offset || !l.grads.offset) return STATUS_NO_MEMORY;
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t t = 0; t < T; t++) {
        const int64_t END = l.in[1] * (t + 1) / T;
        memset(all + t * OWN, 0, (size_t)SLABS * sizeof(real));
        for (int64_t c = l.in[1] * t / T; c < END; c += CHANNELS)
            gradients(&l, c, least(c + CHANNELS, END), SUMS, all + t * OWN);
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 21 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
