// SPDX-License-Identifier: MIT
/* tiles.h - divides a layer into tiles, and allocates memory for their transforms
 *
 * A tile is TILE x TILE outputs. A tile reads READ x READ inputs of the padded image.
 * The next tile begins STEP inputs later. So two neighbouring tiles share READ - STEP
 * rows or columns of inputs:
 *
 *     inputs    . . . . . . . . . .
 *               [  tile 0 ]
 *                       [  tile 1 ]        KERNEL = 3, TILE = STEP = 4, READ = 6
 *
 * A transform turns each tile, and each filter, into POINTS x POINTS numbers, one
 * for each plane. A vector holds LANES neighbouring channels:
 *
 *     rows      (READ, pixels, CP)      padded rows of input that a row of tiles reads
 *     V         (chunks, planes, tiles, KC)
 *     filters   (KC, KERNEL*KERNEL, NR)           the panels and chunks of
 *     U         (.., planes, KC, NR)              register_block.h's product
 *     M         (planes, tiles, NR)
 *     strip     (TILE, pixels, NR)      rows of output that a row of tiles computes
 *
 * Rows of tiles are numbered over all images. V and M hold SLAB rows of tiles.
 */
#ifndef CONVLAB_TILES_H
#define CONVLAB_TILES_H

#include "operators.h"
#include "register_block.h"
#include "sizes.h"

/* A rung sets the fields in to KC. tiles_measure and tiles_share set the others. */
typedef struct {
    const int64_t *in, *out;  // sizes N, C, H, W of input and output
    int64_t padding_h, padding_w;
    int64_t KERNEL, TILE, STEP, READ, POINTS;
    int64_t KC;                     // channels of a chunk, a multiple of LANES
    int64_t TH, TW, ROWS;           // TH x TW tiles per image, ROWS rows in all
    int64_t CHUNKS, PANELS;         // chunks of input channels; panels of filters
    int64_t SLAB;                   // rows of tiles in a slab
    int64_t CP, ROW, LINE, PV, PM;  // strides: pixel, row, row of strip, planes
    real *U, *V, *M, *filters, *rows, *strip;
} tiles_t;

/* Returns 1 for KERNEL x KERNEL kernels, stride STRIDE, dilation 1 and one group. */
static inline int tiles_fit(const tensor_t *weight, conv2d_params_t p, int64_t KERNEL,
                            int64_t STRIDE)
{
    return weight->size[2] == KERNEL && weight->size[3] == KERNEL && p.groups == 1 &&
           p.stride_h == STRIDE && p.stride_w == STRIDE &&
           p.dilation_h * p.dilation_w == 1;
}

/* Computes the number of tiles, chunks and panels of the layer. */
static inline void tiles_measure(tiles_t *t)
{
    t->TH = parts(t->out[2], t->TILE), t->TW = parts(t->out[3], t->TILE);
    t->ROWS = t->in[0] * t->TH;
    t->CHUNKS = parts(t->in[1], t->KC), t->PANELS = parts(t->out[1], NR);
    t->CP = parts(t->in[1], LANES) * LANES;
    t->ROW = (t->TW * t->STEP + t->READ - t->STEP) * t->CP;
    t->LINE = t->TW * t->TILE * NR;
}

/* Allocates scratch memory for slabs of about COUNT tiles and for U numbers of filters.
 * Sets only rows and strip to 0. The strides PV and PM between planes are no powers of
 * two: otherwise all planes would use the same cache lines. */
static inline status_t tiles_share(ctx_t *ctx, tiles_t *t, int64_t COUNT, int64_t U)
{
    const int64_t PLANES = t->POINTS * t->POINTS;
    t->SLAB = least(t->ROWS, parts(COUNT, t->TW));
    t->PV = t->SLAB * t->TW * t->KC + LANES, t->PM = t->SLAB * t->TW * NR + LANES;
    const int64_t V = t->CHUNKS * PLANES * t->PV, M = PLANES * t->PM;
    const int64_t F = t->KC * t->KERNEL * t->KERNEL * NR;
    const int64_t R = t->READ * t->ROW, S = t->TILE * t->LINE;
    t->U = ctx_scratch(ctx, (size_t)(U + V + M + F + R + S) * sizeof(real));
    if (!t->U) return STATUS_NO_MEMORY;
    t->V = t->U + U, t->M = t->V + V, t->filters = t->M + M;
    t->rows = t->filters + F, t->strip = t->rows + R;
    memset(t->rows, 0, (size_t)(R + S) * sizeof(real));
    return STATUS_OK;
}

/* Copies the padded input rows that row r of tiles reads to `rows`. Call it for r = 0,
 * 1, 2, ...: the last READ - STEP rows of a call are the first of the next call. */
static inline void tiles_read(const tiles_t *t, const real *input, int64_t r)
{
    const int64_t IC = t->in[1], IH = t->in[2], IW = t->in[3], th = r % t->TH;
    const real *image = input + r / t->TH * IC * IH * IW;
    const int64_t OLD = th ? t->READ - t->STEP : 0;
    const int64_t SEEN = least(IW, t->ROW / t->CP - t->padding_w);
    memmove(t->rows, t->rows + t->STEP * t->ROW, (size_t)(OLD * t->ROW) * sizeof(real));
    for (int64_t i = OLD; i < t->READ; i++) {
        const int64_t ih = th * t->STEP + i - t->padding_h;
        real *row = t->rows + i * t->ROW;
        if (ih >= 0 && ih < IH)
            vec_transpose_copy(image + ih * IW, IH * IW, row + t->padding_w * t->CP,
                               t->CP, IC, SEEN);
        else
            memset(row, 0, (size_t)t->ROW * sizeof(real));
    }
}

/* Copies row r of tiles, C channels, from the output array `channels` to strip. Channel
 * 0 of image 0 is at `channels`. Past the last row of output, writes 0. */
static inline void tiles_take(const tiles_t *t, const real *channels, int64_t C,
                              int64_t r)
{
    const int64_t OH = t->out[2], OW = t->out[3], oh = r % t->TH * t->TILE;
    const real *from = channels + (r / t->TH * t->out[1] * OH + oh) * OW;
    for (int64_t i = 0; i < t->TILE; i++) {
        real *line = t->strip + i * t->LINE;
        if (oh + i < OH)
            vec_transpose_copy(from + i * OW, OH * OW, line, NR, C, OW);
        else
            memset(line, 0, (size_t)t->LINE * sizeof(real));
    }
}

/* Copies C channels of strip, from c on, to row r of tiles in the output `channels`. */
static inline void tiles_write(const tiles_t *t, int64_t c, int64_t C, int64_t r,
                               real *channels)
{
    const int64_t OH = t->out[2], OW = t->out[3], oh = r % t->TH * t->TILE;
    real *to = channels + ((r / t->TH * t->out[1] + c) * OH + oh) * OW;
    for (int64_t i = 0; i < least(t->TILE, OH - oh); i++)
        vec_transpose_copy(t->strip + i * t->LINE + c, NR, to + i * OW, OH * OW, OW, C);
}

#endif
