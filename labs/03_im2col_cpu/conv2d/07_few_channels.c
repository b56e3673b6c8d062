/* 07 few channels
 *
 *   idea    with few channels a sum has few terms, so it stays in one register
 *   expect  1.5x the speed of 02_implicit_gemm for the layers that this rung covers
 *   limit   writing output to memory takes longer than computing it
 *   run     make bench T=03_im2col_cpu/conv2d/07
 *
 * Covers groups of at most 4 input channels, with filters of at most KC elements.
 * Workspace: the filters of a group, and the input of this group for BH output rows.
 */
#include "phases.h"

enum { MR = BLOCK_ROWS, NV = BLOCK_VECTORS };  // MR x NV vectors of sums
enum { CHANNELS = 4, KC = 256, BH = 16 };      // BH: rows of output at a time

/* Describes a row of output (MR, OW) = start + filters (MR, K) @ windows (K, OW). */
typedef struct {
    int64_t OW, PLANE, K;
    const int64_t *offset;  // offset[k]: element k of the first window in the slab
} row_t;

/* Computes VECS vectors of a row, for `rows` channels. Stores at most `left` pixels. */
EXPAND void tile(int VECS, const row_t *row, int64_t left, int64_t rows,
                 const real *restrict filters, const real *start,
                 const real *restrict slab, real *restrict output)
{
    const int64_t *restrict offset = row->offset;
    // BEGIN SOLUTION
    const int64_t K = row->K;
    vec sum[MR][NV], x[NV];
    UNROLL
    for (int m = 0; m < MR; m++)
        for (int v = 0; v < VECS; v++) sum[m][v] = vec_splat(start[m]);
    for (int64_t k = 0; k < K; k++, filters += MR) {
        const real *window = slab + offset[k];
        UNROLL
        for (int v = 0; v < VECS; v++) x[v] = vec_keep(vec_load(window + v * LANES));
        UNROLL
        for (int m = 0; m < MR; m++)
            for (int v = 0; v < VECS; v++) sum[m][v] += filters[m] * x[v];
    }
    UNROLL
    for (int m = 0; m < MR; m++, output += row->PLANE) {
        if (m >= rows) break;
        for (int v = 0; v < VECS - 1; v++) vec_store(output + v * LANES, sum[m][v]);
        vec_store_first(output + (VECS - 1) * LANES, sum[m][VECS - 1],
                        least(LANES, left - (VECS - 1) * LANES));
    }
    // END SOLUTION
    // STARTER (void)offset;
    // STARTER // start, add K terms, store (the reference takes 20 lines)
}

/* Computes a row of `rows` channels, NV vectors at a time and fewer at its end. */
static void convolve_row(const row_t *row, int64_t rows, const real *filters,
                         const real *start, const real *slab, real *output)
{
    // BEGIN SOLUTION
    for (int64_t i = 0; i < row->OW; i += NV * LANES) {
        const int64_t left = row->OW - i;
        const int vecs = left > 2 * LANES ? NV : left > LANES ? 2 : 1;
        vecs > 2    ? tile(NV, row, left, rows, filters, start, slab + i, output + i)
        : vecs == 2 ? tile(2, row, left, rows, filters, start, slab + i, output + i)
                    : tile(1, row, left, rows, filters, start, slab + i, output + i);
    }
    // END SOLUTION
    // STARTER (void)tile;  // for 1, 2 or NV vectors (the reference takes 7 lines)
}

/* output[n,oc] = bias[oc] + sum over k of weight[oc,k] * element k of the windows */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    const int64_t *size = weight->size, *out = output->size;
    const int64_t IC = size[1], OC = size[0] / p.groups, K = IC * size[2] * size[3];
    if (IC > CHANNELS || K > KC) return STATUS_UNSUPPORTED;
    if (tensor_numel(output) == 0) return STATUS_OK;
    const phases_t slab = phases_of(p, out, size, IC, 1, BH);
    const int64_t SLAB = phases_size(&slab) + NV * LANES, FILTERS = (OC + MR) * (K + 1);
    const real *weights = tensor_contiguous(ctx, weight);
    real *data = ctx_scratch(ctx, (size_t)(SLAB + FILTERS) * sizeof(real));
    if (!weights || !data) return STATUS_NO_MEMORY;
    real *filters = data + SLAB, *start = filters + (OC + MR) * K;
    int64_t offset[KC];
    for (int64_t k = 0; k < K; k++) offset[k] = phases_element(&slab, k);
    const row_t row = {out[3], out[2] * out[3], K, offset};
    for (int64_t g = 0; g < p.groups; g++) {
        for (int64_t oc = 0; oc < OC; oc++)
            start[oc] = bias ? *at1(bias, g * OC + oc) : 0;
        for (int64_t oc = 0; oc < OC; oc += MR) {  // to panels (K, MR)
            vec_transpose_copy(weights + (g * OC + oc) * K, K, filters + oc * K, MR,
                               least(MR, OC - oc), K);
        }
        // BEGIN SOLUTION
        for (int64_t n = 0; n < out[0]; n++) {
            for (int64_t oh = 0; oh < out[2]; oh += BH) {
                phases_fill(&slab, input, g * IC, IC, n, 1, oh, data);
                for (int64_t oc = 0; oc < OC; oc += MR)
                    for (int64_t r = 0; r < least(BH, out[2] - oh); r++)
                        convolve_row(&row, least(MR, OC - oc), filters + oc * K,
                                     start + oc, data + r * slab.COLS,
                                     at4(output, n, g * OC + oc, oh + r, 0));
            }
        }
        // END SOLUTION
        // STARTER (void)convolve_row, (void)row;
        // STARTER // for BH rows: slab, then all filters (the reference takes 10 lines)
        // STARTER return STATUS_NOT_IMPLEMENTED;
    }
    return STATUS_OK;
}
