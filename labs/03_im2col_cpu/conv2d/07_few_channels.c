/* 07 few channels
 *
 *   idea    with few channels a whole sum fits into a register: outputs are stored once
 *   expect  1.5x over 02_implicit_gemm where it applies
 *   limit   output is written to memory faster than it is computed
 *   run     make bench T=03_im2col_cpu/conv2d/07
 *
 * For at most 4 channels in a group, and filters of at most KC elements. Workspace: the
 * filters of a group, and BH + KH rows of its input.
 */
#include "operators.h"
#include "vector.h"

enum { MR = BLOCK_ROWS, NV = BLOCK_VECTORS };  // registers
enum { CHANNELS = 4, KC = 256, BH = 16 };      // rows of output at a time

conv2d_forward_fn fallback_forward;

// BEGIN SOLUTION
/* A row of MR channels: output (MR, OW) = start + filters (MR, K) @ windows (K, OW). */
typedef struct {
    int64_t OW, PLANE, K;
    const int64_t *offset;  // of the windows' elements in the slab, (K)
} row_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A phase of a channel: every stride-th row and column from (h, w) on, 0 outside. */
static void pad(const tensor_t *input, conv2d_params_t p, int64_t n, int64_t ic,
                int64_t h, int64_t w, int64_t ROWS, int64_t COLS, real *restrict padded)
{
    const int64_t SW = p.stride_w, STEP = SW * input->stride[3];
    const int64_t begin = w < 0 ? (SW - 1 - w) / SW : 0;
    const int64_t count = least(COLS, (input->size[3] - w + SW - 1) / SW) - begin;
    for (int64_t i = 0; i < ROWS * COLS; i++) padded[i] = 0;
    padded += begin;
    for (int64_t r = 0; r < ROWS; r++, h += p.stride_h, padded += COLS) {
        if (h < 0 || h >= input->size[2] || count <= 0) continue;
        const real *row = at4(input, n, ic, h, w + begin * SW);
        for (int64_t i = 0; i < count; i++)  // three loops, two of them of vectors
            padded[i] = STEP == 1 ? row[i] : STEP == 2 ? row[2 * i] : row[i * STEP];
    }
}

/* VECS vectors of a row, the last of them partly, of `rows` channels */
EXPAND void tile(int VECS, const row_t *row, int64_t left, int64_t rows,
                 const real *restrict filters, const real *start,
                 const real *restrict slab, real *restrict output)
{
    const int64_t *restrict offset = row->offset;
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
}

static void convolve_row(const row_t *row, int64_t rows, const real *filters,
                         const real *start, const real *slab, real *output)
{
    for (int64_t i = 0; i < row->OW; i += NV * LANES) {
        const int64_t left = row->OW - i;
        const int vecs = left > 2 * LANES ? NV : left > LANES ? 2 : 1;
        vecs > 2    ? tile(NV, row, left, rows, filters, start, slab + i, output + i)
        : vecs == 2 ? tile(2, row, left, rows, filters, start, slab + i, output + i)
                    : tile(1, row, left, rows, filters, start, slab + i, output + i);
    }
}
// END SOLUTION
// STARTER // helpers, if you want some (the reference takes 60 lines)

/* output[n,oc] = bias[oc] + sum over k of weight[oc,k] * element k of the windows */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t *size = weight->size, *out = output->size;
    const int64_t SH = p.stride_h, SW = p.stride_w, PHASES = SH * SW;
    const int64_t OC = size[0] / p.groups, OH = out[2], OW = out[3];
    const int64_t AREA = size[2] * size[3], K = size[1] * AREA;
    if (size[1] > CHANNELS || K > KC)
        return fallback_forward(ctx, input, weight, bias, p, output);
    if (tensor_numel(output) == 0) return STATUS_OK;
    const int64_t ROWS = BH + (size[2] - 1) * p.dilation_h / SH;
    const int64_t COLS = OW + (size[3] - 1) * p.dilation_w / SW;
    const int64_t BLOCKS = (OH + BH - 1) / BH, FILTERS = (OC + MR) * (K + 1);
    const int64_t SLAB = size[1] * PHASES * ROWS * COLS + NV * LANES;
    const real *weights = tensor_contiguous(ctx, weight);
    real *slab = ctx_scratch(ctx, (size_t)(SLAB + FILTERS) * sizeof(real));
    if (!weights || !slab) return STATUS_NO_MEMORY;
    real *filters = slab + SLAB, *start = filters + (OC + MR) * K;
    int64_t offset[KC];
    for (int64_t k = 0; k < K; k++) {
        const int64_t h = k / size[3] % size[2] * p.dilation_h;
        const int64_t w = k % size[3] * p.dilation_w;
        const int64_t phase = (k / AREA * SH + h % SH) * SW + w % SW;
        offset[k] = (phase * ROWS + h / SH) * COLS + w / SW;
    }
    const row_t row = {OW, OH * OW, K, offset};
    for (int64_t g = 0; g < p.groups; g++) {
        for (int64_t oc = 0; oc < OC; oc++)
            start[oc] = bias ? *at1(bias, g * OC + oc) : 0;
        for (int64_t oc = 0; oc < OC; oc += MR)
            vec_transpose_copy(weights + (g * OC + oc) * K, K, filters + oc * K, MR,
                               least(MR, OC - oc), K);
        for (int64_t i = 0; i < out[0] * BLOCKS; i++) {
            const int64_t n = i / BLOCKS, oh = i % BLOCKS * BH;
            for (int64_t j = 0; j < size[1] * PHASES; j++)
                pad(input, p, n, g * size[1] + j / PHASES,
                    oh * SH + j / SW % SH - p.padding_h, j % SW - p.padding_w, ROWS,
                    COLS, slab + j * ROWS * COLS);
            for (int64_t oc = 0; oc < OC; oc += MR)
                for (int64_t r = 0; r < least(BH, OH - oh); r++)
                    convolve_row(&row, least(MR, OC - oc), filters + oc * K, start + oc,
                                 slab + r * COLS,
                                 at4(output, n, g * OC + oc, oh + r, 0));
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 43 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
