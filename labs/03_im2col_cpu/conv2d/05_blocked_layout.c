/* 05 blocked layout
 *
 *   idea    put channels into lanes: image (C, H, W) becomes (C/LANES, H, W, LANES)
 *   expect  0.7x the speed of 02_implicit_gemm: reordering costs more than it gains
 *   limit   reordering input and output, unless all layers of a network use the layout
 *   run     make bench T=03_im2col_cpu/conv2d/05
 *
 * Covers all shapes. Reorders input, weight and output. Workspace, for one group: a
 * padded image, and the filters, rounded up to a multiple of NR filters.
 */
#include "operators.h"
#include "vector.h"

enum { MR = VECTOR_REGISTERS == 32 ? 12 : 6, NV = 2, NR = NV * LANES };  // MR x NR sums
enum { KC = 256 };  // a sum stays in a register for at most KC terms

/* A pixel of the padded image stores LANES channels next to each other:
 *
 *     block 0   (h, w): c0 c1 .. c15   (h, w+1): c0 c1 .. c15   ...   block 1   ...
 *
 * So each stride or dilation is only a distance between two pixels in memory. */
typedef struct {
    int64_t K, OW, STEP;    // STEP: elements between neighbouring windows
    const int64_t *offset;  // offset[k]: from a window's first element to element k
} window_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Adds windows (MR, K) @ filters (K, NR) to sums, for at most KC terms from k0 on. */
static void tile(const window_t *window, int64_t k0, const real *restrict filters,
                 const real *restrict image, real *restrict sums)
{
    // BEGIN SOLUTION
    const int64_t *restrict offset = window->offset;
    const int64_t END = least(window->K, k0 + KC), STEP = window->STEP;
    vec sum[MR][NV] = {0}, w[NV];
    for (int64_t k = k0; k < END; k++) {
        const real *pixel = image + offset[k];
        UNROLL
        for (int j = 0; j < NV; j++) w[j] = vec_load(filters + k * NR + j * LANES);
        UNROLL
        for (int i = 0; i < MR; i++) {
            const vec x = vec_splat(*pixel);
            UNROLL
            for (int j = 0; j < NV; j++) sum[i][j] += x * w[j];
            pixel += STEP;
        }
    }
    UNROLL
    for (int i = 0; i < MR * NV; i++) {
        vec_store(sums + i * LANES, vec_load(sums + i * LANES) + sum[i / NV][i % NV]);
    }
    // END SOLUTION
    // STARTER // at most KC terms, sums in registers (the reference takes 19 lines)
}

/* Computes one row of NR channels: row (OW, NR), which has space for MR more pixels. */
static void convolve_row(const window_t *window, const real *filters, const real *start,
                         const real *image, real *row)
{
    // BEGIN SOLUTION
    for (int64_t i = 0; i < window->OW * NR; i++) row[i] = start[i % NR];
    for (int64_t ow = 0; ow < window->OW; ow += MR) {
        for (int64_t k = 0; k < window->K; k += KC) {
            tile(window, k, filters, image + ow * window->STEP, row + ow * NR);
        }
    }
    // END SOLUTION
    // STARTER (void)tile;  // start; MR pixels at a time (the reference takes 6 lines)
}

/* Copies rows (IC, IH, IW) into the padded image (IC/LANES, padded IH, COLS, LANES). */
static void block_image(const real *rows, const int64_t *in, int64_t IC, int64_t COLS,
                        int64_t plane, real *image)
{
    // BEGIN SOLUTION
    for (int64_t i = 0; i < (IC + LANES - 1) / LANES * in[2]; i++) {
        const int64_t c = i / in[2] * LANES, ih = i % in[2];
        vec_transpose_copy(rows + (c * in[2] + ih) * in[3], in[2] * in[3],
                           image + c * plane + ih * COLS * LANES, LANES,
                           least(LANES, IC - c), in[3]);
    }
    // END SOLUTION
    // STARTER // for each row, LANES channels at once (the reference takes 6 lines)
}

/* Computes each row (OW, NR) = bias + windows @ filters, and reorders it to output. */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    const int64_t *in = input->size, *size = weight->size, *out = output->size;
    const int64_t IC = size[1], OC = size[0] / p.groups, AREA = size[2] * size[3];
    if (tensor_numel(output) == 0) return STATUS_OK;
    const int64_t COLS = in[3] + 2 * p.padding_w,
                  plane = COLS * (in[2] + 2 * p.padding_h);
    const int64_t K = IC * AREA, IMAGE = plane * (IC + LANES - 1) / LANES * LANES +
                                         MR * p.stride_w * LANES;
    const int64_t ROW = (out[3] + MR) * NR;
    const real *weights = tensor_contiguous(ctx, weight);
    const real *images = tensor_contiguous(ctx, input);
    int64_t *offset = ctx_scratch(ctx, (size_t)K * sizeof(int64_t));
    real *image =
        ctx_scratch(ctx, (size_t)(IMAGE + ROW + (OC + NR) * K) * sizeof(real));
    if (!weights || !images || !offset || !image) return STATUS_NO_MEMORY;
    real *row = image + IMAGE, *filters = row + ROW, start[NR];
    for (int64_t k = 0; k < K; k++) {
        const int64_t h = k / size[3] % size[2] * p.dilation_h,
                      w = k % size[3] * p.dilation_w;
        offset[k] =
            (k / AREA / LANES * plane + h * COLS + w) * LANES + k / AREA % LANES;
    }
    const window_t window = {K, out[3], p.stride_w * LANES, offset};
    memset(image, 0, (size_t)IMAGE * sizeof(real));
    // BEGIN SOLUTION
    for (int64_t i = 0; i < out[0] * p.groups; i++) {  // i is one group of one image
        const int64_t g = i / out[0], n = i % out[0];
        block_image(images + (n * p.groups + g) * IC * in[2] * in[3], in, IC, COLS,
                    plane, image + (p.padding_h * COLS + p.padding_w) * LANES);
        if (n == 0) {  // a new group: reorder its filters
            for (int64_t oc = 0; oc < OC; oc += NR)
                vec_transpose_copy(weights + (g * OC + oc) * K, K, filters + oc * K, NR,
                                   least(NR, OC - oc), K);
        }
        for (int64_t j = 0; j < (OC + NR - 1) / NR * out[2]; j++) {
            const int64_t oc = j / out[2] * NR, oh = j % out[2],
                          COUNT = least(NR, OC - oc);
            for (int64_t c = 0; c < NR; c++)
                start[c] = bias && c < COUNT ? *at1(bias, g * OC + oc + c) : 0;
            convolve_row(&window, filters + oc * K, start,
                         image + oh * p.stride_h * COLS * LANES, row);
            vec_transpose_copy(row, NR, at4(output, n, g * OC + oc, oh, 0),
                               out[2] * out[3], out[3], COUNT);
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER (void)convolve_row, (void)block_image, (void)least;
    // STARTER (void)window, (void)filters, (void)start;
    // STARTER // reorder image and filters, then rows (the reference takes 21 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
