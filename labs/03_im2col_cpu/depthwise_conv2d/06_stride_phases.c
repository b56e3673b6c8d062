/* 06 stride phases
 *
 *   idea    pixels a stride apart use the same kernel positions: insert no zeros
 *   expect  1.2x 04_turned_kernel at stride 2; 2x 01_rows_backward with two filters
 *   limit   each multiply-add needs a load; some phases have few kernel positions
 *   run     make bench T=03_im2col_cpu/depthwise_conv2d/06
 *
 * Covers grad_input with a stride, or with several filters per channel. Workspace per
 * thread: a padded plane of grad_output for each filter of a channel, and a plane of
 * grad_input. Each non-contiguous tensor is copied, too.
 */
#include "slab.h"

enum { MR = 7 };  // rows of sums in registers: images have 7, 14, 28 ... rows

/* Describes an axis. At kernel position k, window o = (i + P - k*D) / S reads pixel i,
 * if o is a whole number. Pixels phase, phase + S, phase + 2*S ... are read at the same
 * positions, by consecutive windows. For stride S = 2, padding P = 1, 3 positions:
 *
 *     pixels of phase 0    0 2 4   position 1: windows 0 1 2
 *     pixels of phase 1    1 3 5   position 0: windows 1 2 3, position 2: 0 1 2 */
typedef struct {
    int64_t IN, S, P, D;  // pixels; stride, padding, dilation
    int64_t BEFORE, ALL;  // zeros before the windows; windows, with all zeros
} axis_t;

static axis_t axis_of(int64_t IN, int64_t OUT, int64_t K, int64_t S, int64_t P,
                      int64_t D)
{
    const int64_t reach = (K - 1) * D - P;  // offset of the last position
    axis_t a = {IN, S, P, D, .BEFORE = reach > 0 ? (reach + S - 1) / S : 0};
    const int64_t END = (IN + S - 1) / S + (S - 1 + P) / S;  // position 0, last pixel
    a.ALL = a.BEFORE + (OUT > END ? OUT : END);
    return a;
}

/* Returns the window that reads pixel 0 of a phase at kernel position k. Counts the
 * BEFORE zeros as windows, too. If no window reads this pixel, returns -1. */
static int64_t window_of(const axis_t *a, int64_t phase, int64_t k)
{
    // BEGIN SOLUTION
    const int64_t distance = phase + a->P - k * a->D + a->BEFORE * a->S;
    return distance % a->S == 0 ? distance / a->S : -1;
    // END SOLUTION
    // STARTER // your code (the reference takes 2 lines)
    // STARTER return -1;
}

typedef struct {
    int64_t offset, k;  // of a kernel position: offset in the slab; index
} place_t;

typedef struct {
    axis_t h, w;
    int64_t M, K, SIZE;    // filters per channel; kernel positions; slab elements
    const place_t *place;  // the COUNT kernel positions of a phase
    int64_t COUNT;
} phase_t;

/* Writes a phase to the array `to` (ROWS, COLUMNS), rows `down` apart: sums of weight *
 * slab over M slabs and the phase's positions. Stores no sums past the edges of to. */
static void convolve(const phase_t *f, const real *slab, const real *restrict weight,
                     int64_t ROWS, int64_t COLUMNS, real *restrict to, int64_t down)
{
    // BEGIN SOLUTION
    const int64_t PITCH = f->w.ALL;
    for (int64_t h = 0; h < ROWS; h += MR) {
        for (int64_t w = 0; w < COLUMNS; w += LANES) {
            vec sum[MR] = {0};
            for (int64_t m = 0; m < f->M; m++) {
                for (int64_t c = 0; c < f->COUNT; c++) {
                    const real x = weight[m * f->K + f->place[c].k];
                    const real *at = slab + m * f->SIZE + h * PITCH + w;
                    UNROLL
                    for (int i = 0; i < MR; i++)
                        sum[i] += x * vec_load(at + i * PITCH + f->place[c].offset);
                }
            }
            UNROLL
            for (int i = 0; i < MR; i++) {
                if (h + i >= ROWS) break;
                const int64_t left = COLUMNS - w < LANES ? COLUMNS - w : LANES;
                vec_store_first(to + (h + i) * down + w, sum[i], left);
            }
        }
    }
    // END SOLUTION
    // STARTER // MR rows of sums at a time: add all filters and positions, store once
    // STARTER // (the reference takes 21 lines)
}

/* Computes a plane of grad_input. Copies grad (M, OH, OW) to M slabs, then computes all
 * phases. first[i] is the first position of phase i. parts: space for column phases. */
static void plane(phase_t f, const tensor_t *grad_output, const real *grad,
                  const place_t *places, const int64_t *first, const real *weight,
                  real *slab, real *parts, real *grad_input)
{
    const int64_t OH = grad_output->size[2], OW = grad_output->size[3];
    const int64_t IW = f.w.IN, COLUMNS = (IW + f.w.S - 1) / f.w.S;
    // BEGIN SOLUTION
    for (int64_t i = 0; i < f.M * OH; i++)
        memcpy(slab + i / OH * f.SIZE + (f.h.BEFORE + i % OH) * f.w.ALL + f.w.BEFORE,
               grad + i * OW, (size_t)OW * sizeof(real));
    for (int64_t h = 0; h < f.h.S; h++) {
        const int64_t ROWS = (f.h.IN - h + f.h.S - 1) / f.h.S, PART = ROWS * COLUMNS;
        for (int64_t w = 0; w < f.w.S; w++) {
            const int64_t *at = first + h * f.w.S + w;
            f.place = places + at[0], f.COUNT = at[1] - at[0];
            if (f.w.S == 1)
                convolve(&f, slab, weight, ROWS, IW, grad_input + h * IW, f.h.S * IW);
            else
                convolve(&f, slab, weight, ROWS, COLUMNS, parts + w * PART, COLUMNS);
        }
        if (f.w.S == 1) continue;  // convolve wrote to grad_input
        for (int64_t j = 0; j < ROWS; j++)
            merge(parts + j * COLUMNS, PART, f.w.S, IW,
                  grad_input + (h + j * f.h.S) * IW);
    }
    // END SOLUTION
    // STARTER // copy windows to slabs; compute each phase; merge if S > 1
    // STARTER // (the reference takes 18 lines)
    // STARTER (void)convolve, (void)OH, (void)OW, (void)COLUMNS;
}

/* Computes grad_input[n,ic]: the sum over m < M of grad_output[n,oc], spread by stride
 * and convolved with the flipped filter oc, where oc = ic*M + m. */
status_t depthwise_conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                   const tensor_t *input, const tensor_t *weight,
                                   depthwise_conv2d_params_t p, tensor_t *grad_input,
                                   tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    const int64_t IC = input->size[1], KH = weight->size[2], KW = weight->size[3];
    const int64_t *in = input->size, *out = grad_output->size;
    const int turned = p.stride_h * p.stride_w == 1 && weight->size[0] == IC;
    if (turned || !grad_input || tensor_numel(grad_input) == 0)
        return STATUS_UNSUPPORTED;
    ctx->left = GRAD_WEIGHT | GRAD_BIAS;
    phase_t f = {.M = weight->size[0] / IC, .K = KH * KW};
    f.h = axis_of(in[2], out[2], KH, p.stride_h, p.padding_h, p.dilation_h);
    f.w = axis_of(in[3], out[3], KW, p.stride_w, p.padding_w, p.dilation_w);
    f.SIZE = (f.h.ALL + MR) * f.w.ALL + LANES;
    const int64_t PHASES = p.stride_h * p.stride_w, T = ctx->threads, N = in[0];
    const real *grad = tensor_contiguous(ctx, grad_output);
    const real *filters = tensor_contiguous(ctx, weight);
    place_t *places = ctx_scratch(ctx, (size_t)f.K * sizeof(place_t));
    int64_t *first = ctx_scratch(ctx, (size_t)(PHASES + 1) * sizeof(int64_t));
    const int64_t SLABS = f.M * f.SIZE, OWN = SLABS + in[2] * (in[3] + p.stride_w);
    real *own = ctx_scratch(ctx, (size_t)(T * OWN) * sizeof(real));
    if (!grad || !filters || !places || !first || !own) return STATUS_NO_MEMORY;
    memset(own, 0, (size_t)(T * OWN) * sizeof(real));
    // BEGIN SOLUTION
    int64_t count = 0;
    for (int64_t i = 0; i < PHASES; i++) {
        first[i] = count;
        for (int64_t k = 0; k < f.K; k++) {
            const int64_t h = window_of(&f.h, i / p.stride_w, k / KW);
            const int64_t w = window_of(&f.w, i % p.stride_w, k % KW);
            if (h < 0 || w < 0) continue;
            places[count++] = (place_t){h * f.w.ALL + w, k};
        }
    }
    first[PHASES] = count;
    // END SOLUTION
    // STARTER (void)window_of;  // fill places and first (the reference takes 11 lines)
    // STARTER memset(first, 0, (size_t)(PHASES + 1) * sizeof(int64_t));  // none yet
#pragma omp parallel for num_threads(ctx->threads)  // results equal bit for bit
    for (int64_t t = 0; t < T; t++)
        for (int64_t i = N * IC * t / T; i < N * IC * (t + 1) / T; i++)
            plane(f, grad_output, grad + i * f.M * out[2] * out[3], places, first,
                  filters + i % IC * f.M * f.K, own + t * OWN, own + t * OWN + SLABS,
                  real_data(grad_input) + i * in[2] * in[3]);
    return STATUS_OK;
}
