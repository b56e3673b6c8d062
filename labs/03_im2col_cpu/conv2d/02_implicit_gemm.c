/* 02 implicit gemm
 *
 *   idea    never store the column matrix: copy blocks of it directly into panels
 *   expect  1.2x to 1.3x the speed of 01_unfold_blocks
 *   limit   the number of multiply-adds: as many as in the definition
 *   run     make bench T=03_im2col_cpu/conv2d/02
 *
 * Covers all shapes. Workspace: a block of the column matrix, KC * NC elements or one
 * channel and one output row; the block's input; a copy of a non-contiguous weight.
 */
#include "phases.h"

// sums in registers: MR filters x NR pixels, or FEW filters if at most FEW are left
enum { MR = BLOCK_ROWS, FEW = 4, NV = BLOCK_VECTORS, NR = NV * LANES };
// L1 cache: KC terms of MR filters. L2 cache: a block of KC terms x NC pixels.
enum { KC = 288, NC = (1 << 19) / KC / sizeof(real) };

/* A block is Q output pixels: some rows or some images. The slab of phases.h holds the
 * block's input, some channels at a time. Row k of the column matrix has the Q inputs
 * that element k of a filter multiplies. Each row is cut into panels of NR pixels:
 *
 *     pixels        0 .. NR-1   NR .. 2*NR-1
 *     row 0       | panel 0   | panel 1     | ...      row k of panel j begins at
 *     row K-1     |           |             |          panels + j * PANEL + k * NR
 *
 * A piece is a run of pixels that are neighbours in the slab and in a panel. Each piece
 * ends with the row of output, with the panel, or after LANES pixels. All rows of the
 * column matrix have the same pieces. */
typedef struct {
    const tensor_t *bias, *output;
    const real *filters;      // weight (G*OC, TERMS)
    phases_t slab;            // the sizes of the slab
    int64_t OC, AREA, TERMS;  // filters of a group; KH*KW; elements of a filter
    int64_t *offset;          // offset[k]: the first pixel's element k in the slab
    int64_t *from, *to;       // of piece i: from[i] in the slab, to[i] in the panels
    int64_t PIECES, PANEL;    // pieces of a row; elements of a panel
    real *panels, *data;      // the packed block; the elements of the slab
} conv_t;

/* Allocates scratch memory and fills offset, from and to for the largest block. */
static status_t prepare(ctx_t *ctx, conv_t *c)
{
    const phases_t *slab = &c->slab;
    const int64_t K = slab->C * c->AREA, Q = slab->N * slab->OH * slab->OW;
    const int64_t MOST = slab->N * slab->OH * parts(slab->OW, LANES) + parts(Q, NR);
    c->PANEL = K * NR + LANES;  // the last piece is stored as a whole vector
    c->offset = ctx_scratch(ctx, (size_t)K * sizeof(int64_t));
    c->from = ctx_scratch(ctx, (size_t)(2 * MOST) * sizeof(int64_t));
    c->panels = ctx_scratch(ctx, (size_t)(parts(Q, NR) * c->PANEL) * sizeof(real));
    c->data = ctx_scratch(ctx, (size_t)(phases_size(slab) + LANES) * sizeof(real));
    if (!c->offset || !c->from || !c->panels || !c->data) return STATUS_NO_MEMORY;
    c->to = c->from + MOST;
    // BEGIN SOLUTION
    for (int64_t k = 0; k < K; k++) c->offset[k] = phases_element(slab, k);
    // a piece ends with a row of output, with a panel, or after LANES pixels
    for (int64_t q = 0, count = 0; q < Q; q += count) {
        c->from[c->PIECES] = phases_window(slab, q);
        c->to[c->PIECES++] = q / NR * c->PANEL + q % NR;
        count = least(LANES, least(slab->OW - q % slab->OW, NR - q % NR));
    }
    // END SOLUTION
    // STARTER // offset[k] of K rows; for each piece from[i] and to[i]; their number
    // STARTER // PIECES: phases.h computes all but to (the reference takes 6 lines)
    return STATUS_OK;
}

/* Copies K rows of the column matrix from the slab to the panels, each piece as a whole
 * vector. A vector may write past the end of its piece. The next piece, or the next row
 * of the panel, overwrites these numbers. So copy row by row, and pieces in order. */
// noinline for pack and product: inlined, their pointers would not fit into registers
__attribute__((noinline)) static void pack(const conv_t *c, int64_t K)
{
    // BEGIN SOLUTION
    const int64_t *restrict from = c->from, *restrict to = c->to, PIECES = c->PIECES;
    for (int64_t k = 0; k < K; k++) {
        const real *restrict row = c->data + c->offset[k];
        real *restrict panels = c->panels + k * NR;
        for (int64_t i = 0; i < PIECES; i++) {
            vec_store(panels + to[i], vec_load(row + from[i]));
        }
    }
    // END SOLUTION
    // STARTER // for each row and piece: load, store (the reference takes 8 lines)
}

/* Writes filters (ROWS, K) @ panel (K, NR) to tile, VECS vectors of each row. Rows of
 * tile are NR elements apart. filters[m] points to the K elements of filter m. */
EXPAND void multiply(int ROWS, int VECS, int64_t K, const real *const filters[MR],
                     const real *restrict panel, real *restrict tile)
{
    // BEGIN SOLUTION
    vec sum[MR][NV] = {0}, x[NV];
    for (int64_t k = 0; k < K; k++, panel += NR) {
        UNROLL
        for (int v = 0; v < VECS; v++) x[v] = vec_keep(vec_load(panel + v * LANES));
        UNROLL
        for (int m = 0; m < ROWS; m++)
            for (int v = 0; v < VECS; v++) sum[m][v] += filters[m][k] * x[v];
    }
    UNROLL
    for (int m = 0; m < ROWS; m++)
        for (int v = 0; v < VECS; v++) vec_store(tile + m * NR + v * LANES, sum[m][v]);
    // END SOLUTION
    // STARTER // keep sums in registers, then store (the reference takes 11 lines)
}

/* Adds ROWS rows of a tile to ROWS channels of output, from channel oc on, at pixels q
 * to END - 1 of the block. `to` points to the block's first pixel of channel oc. If
 * `first`, output has no values yet: add the tile to the bias, or to 0 without bias. */
static void add(const conv_t *c, const real *tile, int64_t oc, int64_t ROWS, int64_t q,
                int64_t END, int first, real *to)
{
    // BEGIN SOLUTION
    const int64_t P = c->slab.OH * c->slab.OW;  // pixels of one image in this block
    for (int64_t count = 0; q < END; q += count, tile += count) {
        real *row = to + q / P * c->output->stride[0] + q % P;
        count = least(least(LANES, END - q), P - q % P);
        for (int64_t m = 0; m < ROWS; m++, row += c->output->stride[1]) {
            vec sum = vec_load(tile + m * NR);
            if (!first) sum += vec_load_first(row, count);
            if (first && c->bias) sum += vec_splat(*at1(c->bias, oc + m));
            vec_store_first(row, sum, count);
        }
    }
    // END SOLUTION
    // STARTER // if a block has several images, pixel OH * OW is the first one of the
    // STARTER // next image, output->stride[0] away (the reference takes 11 lines)
}

/* Adds K terms, from input channel ic of group g on, to all output channels of group g.
 * The block of Q output pixels begins at image n and row oh. */
__attribute__((noinline)) static void product(const conv_t *c, int64_t g, int64_t n,
                                              int64_t oh, int64_t Q, int64_t ic,
                                              int64_t K)
{
    // BEGIN SOLUTION
    const int64_t END = (g + 1) * c->OC;
    real tile[MR * NR + LANES];
    for (int64_t oc = g * c->OC; oc < END; oc += MR) {
        const real *rows[MR];  // past the last filter, repeat it
        for (int64_t m = 0; m < MR; m++)
            rows[m] = c->filters + least(oc + m, END - 1) * c->TERMS + ic * c->AREA;
        for (int64_t q = 0; q < Q; q += NR) {
            const real *panel = c->panels + q / NR * c->PANEL;
            for (int64_t m = 0; m < MR; m++)  // prefetch the next filters
                __builtin_prefetch(rows[m] + MR * c->TERMS + q / NR * LANES);
            const int few = END - oc <= FEW, wide = Q - q > LANES;
            if (few && wide) multiply(FEW, NV, K, rows, panel, tile);
            if (few && !wide) multiply(FEW, 1, K, rows, panel, tile);
            if (!few && wide) multiply(MR, NV, K, rows, panel, tile);
            if (!few && !wide) multiply(MR, 1, K, rows, panel, tile);
            add(c, tile, oc, least(MR, END - oc), q, least(Q, q + NR), ic == 0,
                at4(c->output, n, oc, oh, 0));
        }
    }
    // END SOLUTION
    // STARTER // MR filters at a time, for all panels: multiply, add. If fewer filters
    // STARTER // are left, the other pointers repeat a filter, and add skips their rows
    // STARTER // (the reference takes 19 lines)
}

/* output[n,oc] = bias[oc] + sum over k of weight[oc,k] * row k of the column matrix */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    if (tensor_numel(output) == 0) return STATUS_OK;
    const int64_t N = output->size[0], OH = output->size[2], OW = output->size[3];
    const int64_t IC = weight->size[1], AREA = weight->size[2] * weight->size[3];
    const int64_t OC = weight->size[0] / p.groups, TERMS = IC * AREA;
    conv_t c = {.bias = bias, .output = output, .OC = OC, .AREA = AREA, .TERMS = TERMS};
    c.filters = tensor_contiguous(ctx, weight);
    // cut channels, rows and images into about equal parts: SC, BH and BN at a time
    const int64_t SC = parts(IC, parts(TERMS, KC)), BH = parts(OH, parts(OH * OW, NC));
    const int64_t BN = BH < OH ? 1 : parts(N, parts(N * OH * OW, NC));
    c.slab = phases_of(p, output->size, weight->size, SC, BN, BH);
    if (!c.filters || prepare(ctx, &c) != STATUS_OK) return STATUS_NO_MEMORY;
    // BEGIN SOLUTION
    for (int64_t g = 0; g < p.groups; g++) {
        for (int64_t n = 0; n < N; n += BN) {
            for (int64_t oh = 0; oh < OH; oh += BH) {
                const int64_t Q = least(BN, N - n) * least(BH, OH - oh) * OW;
                for (int64_t ic = 0; ic < IC; ic += SC) {
                    const int64_t C = least(SC, IC - ic), K = C * AREA;
                    phases_fill(&c.slab, input, g * IC + ic, C, n, least(BN, N - n), oh,
                                c.data);
                    pack(&c, K);
                    product(&c, g, n, oh, Q, ic, K);
                }
            }
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER (void)pack, (void)product, (void)multiply, (void)add, (void)input;
    // STARTER // groups, BN images, BH rows of output, SC channels at a time: fill the
    // STARTER // slab, pack, product (the reference takes 15 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
