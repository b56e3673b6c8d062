/* 08 wide block
 *
 *   idea    keep MR x NV vectors of sums in registers, and fetch the next pairs' rows
 *   expect  3x to 5x the speed of 04_register_block with 64 channels and many points
 *   limit   the multiply-adds take the time; with few neighbours, the rulebook does
 *   run     make bench T=03_im2col_cpu/subm_conv3d/08
 *
 * Forward. The threads divide the rows of output, so any number of threads gives the
 * same result, bit for bit. Workspace: as in 07_sorted_lines, packed weight, rulebook,
 * a bias, copies of non-contiguous tensors.
 */
#include "operators.h"
#include "vector.h"

subm_conv3d_forward_fn rulebook_forward;  // 07_sorted_lines

enum { MR = CHANNEL_ROWS, NV = CHANNEL_VECTORS, NR = NV * LANES };  // pairs x channels
enum { ROWS = 1024, PARTS = 4 };  // rows that stay in the L2 cache; parts of a thread
enum { AHEAD = 2 * MR, LINE = 64 / sizeof(real) };  // pairs to fetch; a cache line

typedef struct {
    int64_t P, IC, OC, PLACES;
    const real *features;  // (P, IC), contiguous
    const real *bias;      // (OC)
    const real *panels;    // (PLACES, OC / NR, IC, NR), the packed weight
    const int32_t *pairs;  // (PLACES, P, 2)
    const int64_t *count;  // (PLACES)
    real *output;          // (P, OC)
} layer_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the numbers in the panels of one kernel position. */
static int64_t panel_numbers(const layer_t *l)
{
    return (l->OC + NR - 1) / NR * NR * l->IC;
}

/* Packs weight (OC, IC, PLACES) into panels (IC, NR) of NR filters. A kernel position
 * has all its panels side by side. */
static void pack(const real *weight, const layer_t *l, real *to)
{
    // BEGIN SOLUTION
    const int64_t IC = l->IC, PLACES = l->PLACES;
    for (int64_t oc = 0; oc < l->OC; oc += LANES) {
        real *panel = to + oc / NR * NR * IC + oc % NR;
        for (int64_t ic = 0; ic < IC; ic++)
            vec_transpose_copy(weight + (oc * IC + ic) * PLACES, IC * PLACES,
                               panel + ic * NR, panel_numbers(l),
                               least(l->OC - oc, LANES), PLACES);
    }
    // END SOLUTION
    // STARTER // as in 04_register_block, with NR filters in a row of a panel
    // STARTER // (the reference takes 8 lines)
    // STARTER (void)panel_numbers;
}

/* Prefetches the part of MR pairs' rows that begins at channel oc: features[read] and
 * output[write]. The calls for all panels of a block fetch whole rows. */
static void fetch(const layer_t *l, const int32_t *pair, int64_t pairs, int64_t oc)
{
    for (int64_t i = 0; i < least(MR, pairs); i++) {
        const real *row = l->features + pair[2 * i] * l->IC;
        const real *to = l->output + pair[2 * i + 1] * l->OC;
        for (int64_t c = oc; c < oc + NR; c += LINE) {
            if (c < l->IC) __builtin_prefetch(row + c);
            if (c < l->OC) __builtin_prefetch(to + c, 1);
        }
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

/* For MR pairs (read, write): output[write] += features[read] @ panel (IC, NR), for
 * VECS vectors of channels from oc on. If fewer pairs are left, the last pair is
 * repeated, not stored. */
EXPAND void micro_kernel(int VECS, const layer_t *l, const real *panel,
                         const int32_t *pair, int64_t pairs, int64_t oc)
{
    const real *left[MR];
    real *to[MR];
    vec sum[MR][NV], right[NV];
    // BEGIN SOLUTION
    for (int i = 0; i < MR; i++) {
        const int32_t *one = pair + 2 * least(i, pairs - 1);
        left[i] = l->features + one[0] * l->IC;
        to[i] = l->output + one[1] * l->OC + oc;
    }
    UNROLL
    for (int i = 0; i < MR; i++) {
        for (int v = 0; v < VECS; v++)
            sum[i][v] = load_channels(to[i] + v * LANES, l->OC - oc - v * LANES);
    }
    for (int64_t ic = 0; ic < l->IC; ic++, panel += NR) {
        UNROLL
        for (int v = 0; v < VECS; v++) right[v] = vec_keep(vec_load(panel + v * LANES));
        UNROLL
        for (int i = 0; i < MR; i++) {
            const real factor = left[i][ic];
            for (int v = 0; v < VECS; v++) sum[i][v] += factor * right[v];
        }
    }
    UNROLL
    for (int i = 0; i < MR; i++) {
        if (i >= pairs) break;
        for (int v = 0; v < VECS; v++)
            store_channels(to[i] + v * LANES, sum[i][v], l->OC - oc - v * LANES);
    }
    // END SOLUTION
    // STARTER // find the rows of the pairs; load all sums;
    // STARTER // add a vector of the panel times features; store
    // STARTER // (the reference takes 25 lines)
    // STARTER (void)left, (void)to, (void)sum, (void)right, (void)load_channels;
    // STARTER (void)store_channels, (void)least;
}

/* Adds the products of the pairs from `begin` to `end` of kernel position k. */
static void add_pairs(const layer_t *l, int64_t k, int64_t begin, int64_t end)
{
    // BEGIN SOLUTION
    for (int64_t i = begin; i < end; i += MR) {
        const real *panel = l->panels + k * panel_numbers(l);
        const int32_t *pair = l->pairs + (k * l->P + i) * 2;
        for (int64_t oc = 0; oc < l->OC; oc += NR, panel += l->IC * NR) {
            fetch(l, pair + 2 * AHEAD, end - i - AHEAD, oc);
            if (l->OC - oc > NR / 2)
                micro_kernel(NV, l, panel, pair, end - i, oc);
            else if (l->OC - oc > LANES)
                micro_kernel(NV / 2, l, panel, pair, end - i, oc);
            else
                micro_kernel(1, l, panel, pair, end - i, oc);
        }
    }
    // END SOLUTION
    // STARTER // MR pairs at a time, and for them all panels; fetch rows AHEAD pairs on
    // STARTER // (the reference takes 13 lines)
    // STARTER (void)fetch, (void)micro_kernel;
}

/* Returns the first pair of kernel position k that writes row `row` or a later one. */
static int64_t first_pair(const layer_t *l, int64_t k, int64_t row)
{
    const int32_t *pair = l->pairs + k * l->P * 2;
    int64_t begin = 0, end = l->count[k];
    while (begin < end) {
        const int64_t middle = (begin + end) / 2;
        if (pair[2 * middle + 1] < row)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Computes rows begin to end of output: the bias, then all kernel positions. */
static void compute_rows(const layer_t *l, int64_t begin, int64_t end)
{
    // BEGIN SOLUTION
    for (int64_t row = begin; row < end; row++)
        memcpy(l->output + row * l->OC, l->bias, (size_t)l->OC * sizeof(real));
    for (int64_t k = 0; k < l->PLACES; k++)
        add_pairs(l, k, first_pair(l, k, begin), first_pair(l, k, end));
    // END SOLUTION
    // STARTER // the pairs that write these rows follow one another
    // STARTER // (the reference takes 4 lines)
    // STARTER (void)add_pairs, (void)first_pair;
}

/* output[write] = bias + sum of weight @ features[read] over the rulebook's pairs */
status_t subm_conv3d_forward(ctx_t *ctx, const tensor_t *features,
                             const tensor_t *coordinates, const tensor_t *weight,
                             const tensor_t *bias, subm_conv3d_params_t p,
                             tensor_t *output, tensor_t *rulebook, tensor_t *count)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    layer_t l = {.P = features->size[0], .OC = weight->size[0], .IC = weight->size[1]};
    l.PLACES = weight->size[2] * weight->size[3] * weight->size[4];
    const size_t bytes = (size_t)l.PLACES * sizeof(int64_t);  // also of PLACES pairs
    tensor_t all = {.ndim = 3, .dtype = DTYPE_I32, .size = {l.PLACES, l.P, 2}};
    tensor_t counts = {.ndim = 1, .dtype = DTYPE_I64, .size = {l.PLACES}};
    all.stride[0] = 2 * l.P, all.stride[1] = 2, all.stride[2] = counts.stride[0] = 1;
    all.data = rulebook ? rulebook->data : ctx_scratch(ctx, bytes * (size_t)l.P);
    counts.data = count ? count->data : ctx_scratch(ctx, bytes);
    if (!counts.data || (l.P > 0 && !all.data)) return STATUS_NO_MEMORY;

    // with 0 channels, rulebook_forward computes only the rulebook
    tensor_t no_features = *features, no_weight = *weight, no_output = *output;
    no_features.size[1] = no_output.size[1] = no_weight.size[0] = no_weight.size[1] = 0;
    const status_t status = rulebook_forward(ctx, &no_features, coordinates, &no_weight,
                                             NULL, p, &no_output, &all, &counts);
    if (status != STATUS_OK || l.P * l.OC == 0) return status;

    real *start = ctx_scratch(ctx, (size_t)l.OC * sizeof(real));
    real *panels =
        ctx_scratch(ctx, (size_t)(l.PLACES * panel_numbers(&l)) * sizeof(real));
    const real *filters = tensor_contiguous(ctx, weight);
    l.features = tensor_contiguous(ctx, features);
    if (!start || (l.IC > 0 && (!panels || !filters || !l.features)))
        return STATUS_NO_MEMORY;
    l.pairs = all.data, l.count = counts.data, l.output = real_data(output);
    l.bias = start, l.panels = panels;
    for (int64_t oc = 0; oc < l.OC; oc++) start[oc] = bias ? *at1(bias, oc) : 0;
    pack(filters, &l, panels);

    const int64_t rows = least(l.P / (PARTS * ctx->threads) + 1, ROWS);
    // a row's pairs keep their order, so its sums do not depend on the threads
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
    for (int64_t row = 0; row < l.P; row += rows)
        compute_rows(&l, row, least(row + rows, l.P));
    return STATUS_OK;
}
