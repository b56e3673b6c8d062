/* 03 row reuse
 *
 *   idea    several rows of output read the same image row: load this row only once
 *   expect  1.3x to 1.9x the speed of 02_padded_plane
 *   limit   the multiply-adds; for small images, copying them into padded planes
 *   run     make bench T=03_im2col_cpu/depthwise_conv2d/03
 *
 * Covers forward at stride 1, kernels of height 3 or 5, no dilation along the height.
 * Workspace: a padded plane for each thread, a copy of each non-contiguous tensor.
 */
#include "operators.h"
#include "vector.h"

enum { MR = 7 };  // rows of sums in registers: images have 7, 14, 28 ... rows

/* A vector with the alignment of one element. It is read as volatile: then gcc loads it
 * only once. Otherwise gcc loads it for each use, which takes most of the time. */
typedef real loose
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));

typedef struct {
    int64_t IH, IW, PITCH, SIZE;  // input plane; padded plane: row, elements
    int64_t OH, OW, KW;
    depthwise_conv2d_params_t p;
} plane_t;

/* Copies a plane (IH, IW) into the padded plane, in whole vectors. The zeros after a
 * row go to the padding, or to a row that is written later. */
static void pad(const plane_t *s, const real *from, real *padded)
{
    // BEGIN SOLUTION
    real *to = padded + s->p.padding_h * s->PITCH + s->p.padding_w;
    for (int64_t ih = 0; ih < s->IH; ih++, from += s->IW, to += s->PITCH) {
        for (int64_t iw = 0; iw < s->IW; iw += LANES) {
            const int64_t left = s->IW - iw < LANES ? s->IW - iw : LANES;
            vec_store(to + iw, vec_load_first(from + iw, left));
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 7 lines)
}

/* Computes output (OH, OW) = start + a padded plane convolved with weight (K, KW). Row
 * r of the padded plane is row kh of the windows in window row r - kh:
 *
 *     K = 3    rows of the plane   0  1  2  3  4  5  6  7  8
 *     window row 0                 *  *  *
 *     window row 1                    *  *  *                  ... to 6
 *
 * Does not store sums past the last row or column of output. */
EXPAND void convolve(const plane_t *s, const real *padded, const real *restrict weight,
                     const int K, real start, real *restrict output)
{
    for (int64_t oh = 0; oh < s->OH; oh += MR) {
        for (int64_t ow = 0; ow < s->OW; ow += LANES) {
            vec sum[MR];
            UNROLL
            for (int i = 0; i < MR; i++) sum[i] = vec_splat(start);
            // BEGIN SOLUTION
            for (int64_t kw = 0; kw < s->KW; kw++) {
                const real *at = padded + oh * s->PITCH + ow + kw * s->p.dilation_w;
                UNROLL
                for (int r = 0; r < MR + K - 1; r++) {
                    const vec row = *(const volatile loose *)(at + r * s->PITCH);
                    UNROLL
                    for (int kh = 0; kh < K; kh++)
                        if (r >= kh && r - kh < MR)
                            sum[r - kh] += weight[kh * s->KW + kw] * row;
                }
            }
            // END SOLUTION
            // STARTER // load each row of the plane once, and add it to all sums that
            // STARTER // use it (the reference takes 11 lines)
            UNROLL
            for (int i = 0; i < MR; i++) {
                if (oh + i >= s->OH) break;
                real *to = output + (oh + i) * s->OW + ow;
                if (s->OW - ow >= LANES)
                    vec_store(to, sum[i]);
                else
                    vec_store_first(to, sum[i], s->OW - ow);
            }
        }
    }
}

/* output[n,oc] = bias[oc] + a padded plane of input convolved with weight[oc] */
status_t depthwise_conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *bias,
                                  depthwise_conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t *in = input->size, *out = output->size, *k = weight->size, K = k[2];
    if ((K != 3 && K != 5) || p.stride_h * p.stride_w > 1 || p.dilation_h > 1 ||
        tensor_numel(output) == 0)
        return STATUS_UNSUPPORTED;
    const int64_t M = k[0] / in[1], PLANES = in[0] * in[1], T = ctx->threads;
    plane_t s = {in[2], in[3], in[3] + 2 * p.padding_w, 0, out[2], out[3], k[3], p};
    s.SIZE = (s.IH + 2 * p.padding_h + MR - 1) * s.PITCH + 2 * LANES;
    const real *planes = tensor_contiguous(ctx, input);
    const real *filters = tensor_contiguous(ctx, weight);
    real *all = ctx_scratch(ctx, (size_t)(T * s.SIZE) * sizeof(real));
    if (!planes || !filters || !all) return STATUS_NO_MEMORY;
    memset(all, 0, (size_t)(T * s.SIZE) * sizeof(real));
#pragma omp parallel for num_threads(ctx->threads)  // results equal bit for bit
    for (int64_t t = 0; t < T; t++) {
        real *padded = all + t * s.SIZE;
        for (int64_t i = PLANES * t / T * M; i < PLANES * (t + 1) / T * M; i++) {
            const int64_t oc = i % k[0];  // i = n*OC + oc
            const real start = bias ? *at1(bias, oc) : 0;
            const real *w = filters + oc * K * s.KW;
            real *to = real_data(output) + i * s.OH * s.OW;
            if (i % M == 0) pad(&s, planes + i / M * s.IH * s.IW, padded);
            if (K == 3) convolve(&s, padded, w, 3, start, to);
            if (K == 5) convolve(&s, padded, w, 5, start, to);
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 25 lines)
    // STARTER (void)pad;  // delete when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
