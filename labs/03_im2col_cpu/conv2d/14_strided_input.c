/* 14 strided input
 *
 *   idea    grad_input pixel by pixel, with channels in the lanes: nothing is packed
 *   expect  1.2x to 1.5x the speed of 03_stride_phases with a stride
 *   limit   as many multiply-adds as the definition; reordering both gradients
 *   run     make bench T=03_im2col_cpu/conv2d/14
 *
 * Covers grad_input with a stride or dilation, one group with at least LANES input
 * channels, kernels of 2 to TAPS elements. Workspace: padded grad_output and weight,
 * both with channels last, and about PIXELS pixels of each phase of grad_input.
 */
#include "sizes.h"
#include "turned.h"

enum { MR = CHANNEL_ROWS, NV = CHANNEL_VECTORS, NR = NV * LANES };  // pixels, channels
enum { PIXELS = 192, TAPS = 64 };

/* Describes one axis. Tap k connects pixel i of grad_input to pixel o of grad_output if
 * i + padding = o * stride + k * dilation. Pixel r of a phase is r * stride + phase.
 * So o - r depends only on the phase and the tap. */
typedef struct {
    int64_t K, stride, padding, dilation;
    int64_t COUNT;         // pixels of a phase, at most
    int64_t BEFORE, SIZE;  // padded grad_output: zeros in front; all pixels
} axis_t;

typedef struct {
    axis_t h, w;
    int64_t OC, CP;  // channels of grad_output; numbers per padded pixel
    real *image;     // padded grad_output (N, h.SIZE, w.SIZE, CP)
    real *filters;   // weight (panels of NR input channels, KH*KW, OC, NR)
    real *strip;     // rows of grad_input (rows, h.stride, w.COUNT, w.stride, NR)
} conv_t;

/* Returns 1 if the pixels of a phase use tap k. Then *away is o - r (see axis_t). */
static int leads(const axis_t *a, int64_t phase, int64_t k, int64_t *away)
{
    // BEGIN SOLUTION
    const int64_t distance = phase + a->padding - k * a->dilation;
    *away = distance / a->stride;
    return distance % a->stride == 0;
    // END SOLUTION
    // STARTER (void)a, (void)phase, (void)k, (void)away;
    // STARTER return 0;  // (the reference takes 3 lines)
}

/* Sizes one axis: padded grad_output has all O pixels, and all that the taps read. */
static axis_t axis_of(int64_t I, int64_t O, int64_t K, int64_t stride, int64_t padding,
                      int64_t dilation)
{
    axis_t a = {K, stride, padding, dilation, .COUNT = parts(I, stride)};
    int64_t low = 0, high = O - a.COUNT, away = 0;  // bounds of o - r
    // BEGIN SOLUTION
    for (int64_t k = 0; k < K; k++) {
        for (int64_t phase = 0; phase < stride; phase++) {
            if (!leads(&a, phase, k, &away)) continue;
            if (away < low) low = away;
            if (away > high) high = away;
        }
    }
    // END SOLUTION
    // STARTER (void)leads, (void)away;
    // STARTER // find the smallest and the largest o - r (the reference takes 7 lines)
    a.BEFORE = -low;
    a.SIZE = a.BEFORE + a.COUNT + high;
    return a;
}

/* Computes MR pixels of up to NR channels: to[m] is the sum over T taps t and over OC
 * channels oc of x[m][reach[t] + oc] * row oc of panel[t]. Each panel is (OC, NR). */
EXPAND void multiply(int VECS, int64_t T, const int64_t *reach,
                     const real *const *panel, int64_t OC, const real *const x[MR],
                     real *const to[MR])
{
    // BEGIN SOLUTION
    vec sum[MR][NV] = {0}, u[NV];
    for (int64_t t = 0; t < T; t++) {
        const real *row = panel[t];
        for (int64_t k = reach[t]; k < reach[t] + OC; k++, row += NR) {
            UNROLL
            for (int v = 0; v < VECS; v++) u[v] = vec_keep(vec_load(row + v * LANES));
            UNROLL
            for (int m = 0; m < MR; m++)
                for (int v = 0; v < VECS; v++) sum[m][v] += x[m][k] * u[v];
        }
    }
    UNROLL
    for (int m = 0; m < MR; m++)
        for (int v = 0; v < VECS; v++) vec_store(to[m] + v * LANES, sum[m][v]);
    // END SOLUTION
    // STARTER // keep sums in registers, then store (the reference takes 14 lines)
}

/* Computes phase (i, j) of C channels in strip: rows r0 to r1 - 1 over all images. */
static void phase(const conv_t *c, int64_t i, int64_t j, int64_t r0, int64_t r1,
                  int64_t C, const real *filters)
{
    const axis_t *h = &c->h, *w = &c->w;
    const int64_t Q = (r1 - r0) * w->COUNT;
    const real *panel[TAPS], *x[MR];
    real *to[MR];
    int64_t reach[TAPS], T = 0, down = 0, across = 0;
    // BEGIN SOLUTION
    for (int64_t k = 0; k < h->K * w->K; k++) {
        if (!leads(h, i, k / w->K, &down) || !leads(w, j, k % w->K, &across)) continue;
        reach[T] = ((down + h->BEFORE) * w->SIZE + across + w->BEFORE) * c->CP;
        panel[T++] = filters + k * c->OC * NR;
    }
    // END SOLUTION
    // STARTER (void)h, (void)reach, (void)down, (void)across, (void)filters;
    // STARTER // the T taps of this phase, from pixel (0, 0) of the image
    // STARTER // (the reference takes 5 lines)
    for (int64_t q = 0; q < Q; q += MR) {
        // BEGIN SOLUTION
        for (int64_t m = 0; m < MR; m++) {
            const int64_t at = least(q + m, Q - 1), col = at % w->COUNT;
            const int64_t up = at / w->COUNT, n = (r0 + up) / h->COUNT;
            const int64_t row = n * h->SIZE + (r0 + up) % h->COUNT;
            x[m] = c->image + (row * w->SIZE + col) * c->CP;
            to[m] = c->strip + ((up * h->stride + i) * w->COUNT + col) * w->stride * NR;
            to[m] += j * NR;
        }
        // END SOLUTION
        // STARTER (void)panel, (void)x, (void)to, (void)T;
        // STARTER // pixels q to q + MR; past Q, repeat the last one
        // STARTER // (the reference takes 8 lines)
        if (C > NR / 2) multiply(NV, T, reach, panel, c->OC, x, to);
        if (C <= NR / 2) multiply(NV / 2, T, reach, panel, c->OC, x, to);
    }
}

/* Computes grad_input in strip: some rows of all phases and NR channels at a time. */
static status_t spread(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *weight,
                       conv2d_params_t p, const tensor_t *grad_input)
{
    const real *from = tensor_contiguous(ctx, grad_output);
    const real *filters = tensor_contiguous(ctx, weight);
    const int64_t *in = grad_input->size, *out = grad_output->size;
    const int64_t IC = in[1], IH = in[2], IW = in[3], S = p.stride_h;
    const int64_t KH = weight->size[2], KW = weight->size[3];
    conv_t c = {.OC = out[1], .CP = parts(out[1], LANES) * LANES};
    c.h = axis_of(IH, out[2], KH, p.stride_h, p.padding_h, p.dilation_h);
    c.w = axis_of(IW, out[3], KW, p.stride_w, p.padding_w, p.dilation_w);
    const int64_t ROWS = in[0] * c.h.COUNT, BLOCK = parts(PIXELS, c.w.COUNT);
    const int64_t WIDE = c.w.COUNT * p.stride_w * NR;  // a row of the strip
    const int64_t IMAGE = in[0] * c.h.SIZE * c.w.SIZE * c.CP;
    const int64_t FILTERS = parts(IC, NR) * NR * KH * KW * c.OC;
    const int64_t ROOM = IMAGE + FILTERS + BLOCK * S * WIDE;
    c.image = ctx_scratch(ctx, (size_t)ROOM * sizeof(real));
    if (!from || !filters || !c.image) return STATUS_NO_MEMORY;
    c.filters = c.image + IMAGE, c.strip = c.filters + FILTERS;
    memset(c.image, 0, (size_t)IMAGE * sizeof(real));
    for (int64_t i = 0; i < out[0] * out[2]; i++) {
        const int64_t n = i / out[2], oh = i % out[2];
        const int64_t row = n * c.h.SIZE + c.h.BEFORE + oh;
        vec_transpose_copy(from + (n * c.OC * out[2] + oh) * out[3], out[2] * out[3],
                           c.image + (row * c.w.SIZE + c.w.BEFORE) * c.CP, c.CP, c.OC,
                           out[3]);
    }
    input_panels(filters, c.OC, IC, KH * KW, NR, c.filters);
    for (int64_t r0 = 0; r0 < ROWS; r0 += BLOCK) {
        const int64_t r1 = least(ROWS, r0 + BLOCK);
        for (int64_t ic = 0; ic < IC; ic += NR) {
            const int64_t C = least(NR, IC - ic);
            // BEGIN SOLUTION
            const real *panels = c.filters + ic * KH * KW * c.OC;
            for (int64_t i = 0; i < S * p.stride_w; i++) {
                phase(&c, i / p.stride_w, i % p.stride_w, r0, r1, C, panels);
            }
            for (int64_t h = r0 * S; h < r1 * S; h++) {
                const int64_t n = h / (c.h.COUNT * S), ih = h % (c.h.COUNT * S);
                if (ih >= IH) continue;  // past the end of a shorter phase
                vec_transpose_copy(c.strip + (h - r0 * S) * WIDE, NR,
                                   at4(grad_input, n, ic, ih, 0), IH * IW, IW, C);
            }
            // END SOLUTION
            // STARTER (void)phase, (void)C, (void)r1, (void)grad_input;
            // STARTER // each phase; then each row of the strip that grad_input has:
            // STARTER // image n has COUNT * S of them (the reference takes 10 lines)
            // STARTER return STATUS_NOT_IMPLEMENTED;
        }
    }
    return STATUS_OK;
}

/* grad_input = sum of weight * grad_output over the taps of each pixel */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    const int64_t AREA = weight->size[2] * weight->size[3];
    const int plain = p.stride_h * p.stride_w * p.dilation_h * p.dilation_w == 1;
    const int fits = p.groups == 1 && weight->size[1] >= LANES && !plain && AREA > 1 &&
                     AREA <= TAPS && tensor_numel(grad_output) > 0;
    if (!fits || !grad_input) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_WEIGHT | GRAD_BIAS;
    return spread(ctx, grad_output, weight, p, grad_input);
}
