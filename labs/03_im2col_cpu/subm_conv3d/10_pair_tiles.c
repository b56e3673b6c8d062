/* 10 pair tiles
 *
 *   idea    compute all blocks of grad_weight for a tile of pairs in the L1 cache
 *   expect  5x to 10x the speed of 06_weight_block with 64 channels and many points
 *   limit   the multiply-adds take the time; with few neighbours, reading the rows does
 *   run     make bench T=03_im2col_cpu/subm_conv3d/10
 *
 * Covers grad_weight. The threads divide the kernel positions, so any number of threads
 * gives equal results, bit for bit. Workspace: grad_weight, and copies of grad_output
 * and features if these tensors are non-contiguous.
 */
#include "operators.h"
#include "vector.h"

enum { MR = 4, NV = CHANNEL_VECTORS, NR = NV * LANES };  // OC x IC
enum { TILE = 64, LINE = 64 / sizeof(real) };  // pairs of a tile; a cache line

typedef struct {
    int64_t IC, OC;
    const real *grad_output;  // (P, OC), contiguous
    const real *features;     // (P, IC), contiguous
    int64_t down, across;     // strides: next pair; from read to write
} layer_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Prefetches both rows of each pair. */
static void fetch(const layer_t *l, const int32_t *pair, int64_t pairs)
{
    for (int64_t i = 0; i < pairs; i++, pair += l->down) {
        const real *x = l->features + pair[0] * l->IC;
        const real *grad = l->grad_output + pair[l->across] * l->OC;
        for (int64_t ic = 0; ic < l->IC; ic += LINE) __builtin_prefetch(x + ic);
        for (int64_t oc = 0; oc < l->OC; oc += LINE) __builtin_prefetch(grad + oc);
    }
}

/* Loads a vector of channels. If `channels`, the number of channels from p on, is less
 * than LANES, all other lanes are 0. It may be less than 0. */
static inline vec load_channels(const real *p, int64_t channels)
{
    if (channels >= LANES) return vec_load(p);
    return channels > 0 ? vec_load_first(p, channels) : (vec){0};
}

static inline void store_channels(real *p, vec v, int64_t channels)
{
    if (channels >= LANES)
        vec_store(p, v);
    else if (channels > 0)
        vec_store_first(p, v, channels);
}

/* Adds grad_output[write]^T @ features[read] of a tile's pairs to ROWS rows of VECS
 * vectors of sums (OC, IC), from (oc, ic) on. Only `columns` columns are left. */
EXPAND void micro_kernel(int ROWS, int VECS, int64_t columns, const layer_t *l,
                         const int32_t *pair, int64_t pairs, int64_t oc, int64_t ic,
                         real *sums)
{
    vec sum[MR][NV], right[NV];
    sums += oc * l->IC + ic;
    // BEGIN SOLUTION
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        for (int v = 0; v < VECS; v++)
            sum[i][v] =
                load_channels(sums + i * l->IC + v * LANES, columns - v * LANES);
    }
    for (int64_t n = 0; n < pairs; n++, pair += l->down) {
        const real *x = l->features + pair[0] * l->IC + ic;
        const real *grad = l->grad_output + pair[l->across] * l->OC + oc;
        UNROLL
        for (int v = 0; v < VECS; v++)
            right[v] = vec_keep(load_channels(x + v * LANES, columns - v * LANES));
        UNROLL
        for (int i = 0; i < ROWS; i++) {
            for (int v = 0; v < VECS; v++) sum[i][v] += grad[i] * right[v];
        }
    }
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        for (int v = 0; v < VECS; v++)
            store_channels(sums + i * l->IC + v * LANES, sum[i][v],
                           columns - v * LANES);
    }
    // END SOLUTION
    // STARTER // load the sums; add each pair to all of them; store
    // STARTER // (the reference takes 23 lines)
    // STARTER (void)sum, (void)right, (void)sums, (void)load_channels;
    // STARTER (void)store_channels;
}

/* Adds a tile of pairs to rows oc to oc + MR of sums, in blocks of NV, NV / 2 or 1
 * vectors. The last rows, if there are fewer than MR, are computed one by one. */
static void add_rows(const layer_t *l, const int32_t *pair, int64_t pairs, int64_t oc,
                     real *sums)
{
    const int64_t rows = least(l->OC - oc, MR);
    for (int64_t ic = 0, width; ic < l->IC; ic += width) {
        const int64_t columns = l->IC - ic;
        width = columns >= NR ? NR : columns >= NR / 2 ? NR / 2 : LANES;
        if (rows < MR) {
            for (int64_t row = oc; row < oc + rows; row++)
                micro_kernel(1, NV, least(columns, width), l, pair, pairs, row, ic,
                             sums);
        } else if (width == NR) {
            micro_kernel(MR, NV, NR, l, pair, pairs, oc, ic, sums);
        } else if (width > LANES) {
            micro_kernel(MR, NV / 2, NR / 2, l, pair, pairs, oc, ic, sums);
        } else {
            micro_kernel(MR, 1, columns, l, pair, pairs, oc, ic, sums);
        }
    }
}

/* Adds a tile of pairs to all blocks of sums (OC, IC). After this tile, `after` more
 * pairs follow. Each block of rows fetches a part of the next tile. */
static void add_tile(const layer_t *l, const int32_t *pair, int64_t pairs,
                     int64_t after, real *sums)
{
    // BEGIN SOLUTION
    for (int64_t oc = 0; oc < l->OC; oc += MR) {
        const int64_t begin = oc * TILE / l->OC, end = (oc + MR) * TILE / l->OC;
        fetch(l, pair + (TILE + begin) * l->down,
              least(least(end, TILE), after) - begin);
        add_rows(l, pair, pairs, oc, sums);
    }
    // END SOLUTION
    // STARTER // MR output channels at a time; fetch their part of the next tile first
    // STARTER // (the reference takes 6 lines)
    // STARTER (void)fetch, (void)add_rows;
}

/* grad_weight[:,:,k] sums grad_output[write]^T @ features[read] over all pairs of
 * kernel position k. */
status_t subm_conv3d_backward(ctx_t *ctx, const tensor_t *grad_output,
                              const tensor_t *features, const tensor_t *weight,
                              const tensor_t *rulebook, const tensor_t *count,
                              subm_conv3d_params_t p, tensor_t *grad_features,
                              tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    if (!grad_weight) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_FEATURES | GRAD_BIAS;
    const int64_t P = features->size[0], PLACES = count->size[0];
    layer_t l = {.OC = weight->size[0], .IC = weight->size[1]};
    const int64_t ALL = l.OC * l.IC;
    if (ALL == 0) return STATUS_OK;
    l.down = rulebook->stride[1], l.across = rulebook->stride[2];
    real *sums = ctx_scratch(ctx, (size_t)(PLACES * ALL) * sizeof(real));
    l.grad_output = P > 0 ? tensor_contiguous(ctx, grad_output) : NULL;
    l.features = P > 0 ? tensor_contiguous(ctx, features) : NULL;
    if (!sums || (P > 0 && (!l.features || !l.grad_output))) return STATUS_NO_MEMORY;
    memset(sums, 0, (size_t)(PLACES * ALL) * sizeof(real));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
    for (int64_t k = 0; k < PLACES; k++) {
        const int64_t PAIRS = ((const int64_t *)count->data)[k * count->stride[0]];
        const int32_t *pair = (const int32_t *)rulebook->data + k * rulebook->stride[0];
        // BEGIN SOLUTION
        for (int64_t i = 0; i < PAIRS; i += TILE)
            add_tile(&l, pair + i * l.down, least(PAIRS - i, TILE), PAIRS - i - TILE,
                     sums + k * ALL);
        // END SOLUTION
        // STARTER // loop over tiles of pairs (the reference takes 3 lines)
        // STARTER (void)add_tile, (void)PAIRS, (void)pair;
    }
    // BEGIN SOLUTION
    vec_transpose_copy(sums, ALL, real_data(grad_weight), PLACES, PLACES, ALL);
    // END SOLUTION
    // STARTER // grad_weight (OC, IC, PLACES) is the transpose of sums
    // STARTER // (the reference takes 1 line)
    return STATUS_OK;
}
