/* 09 wide gradient
 *
 *   idea    compute grad_features with the register block of 08_wide_block
 *   expect  4x to 6x the speed of 05_opposite_places with 64 channels and many points
 *   limit   the multiply-adds take the time; with few neighbours, reading the rows does
 *   run     make bench T=03_im2col_cpu/subm_conv3d/09
 *
 * Covers grad_features. The threads divide the rows of grad_features, so any number of
 * threads gives equal results, bit for bit. Workspace: packed weight, copies of
 * grad_output and weight if these tensors are non-contiguous.
 */
#include "operators.h"
#include "vector.h"

/* As in 05_opposite_places, the pairs (read, write) of kernel position k are used as in
 * forward, with the weight of the opposite position, PLACES - 1 - k. */
enum { MR = CHANNEL_ROWS, NV = CHANNEL_VECTORS, NR = NV * LANES };  // pairs x channels
enum { ROWS = 1024, PARTS = 4 };  // rows that stay in the L2 cache; parts of a thread
enum { AHEAD = 2 * MR, LINE = 64 / sizeof(real) };  // pairs to fetch; a cache line

typedef struct {
    int64_t P, IC, OC, PLACES;
    const real *grad_output;     // (P, OC), contiguous
    const real *panels;          // (PLACES, IC / NR, OC, NR), the packed weight
    const int32_t *pairs;        // (PLACES, P, 2)
    int64_t next, down, across;  // its strides
    const int64_t *count;        // (PLACES)
    int64_t count_next;          // its stride
    real *grad_features;         // (P, IC)
} layer_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the numbers in the panels of one kernel position. */
static int64_t panel_numbers(const layer_t *l)
{
    return (l->IC + NR - 1) / NR * NR * l->OC;
}

/* Packs weight (OC, IC, PLACES) into panels (OC, NR) of NR channels. A kernel position
 * has all its panels side by side. */
static void pack(const real *weight, const layer_t *l, real *to)
{
    // BEGIN SOLUTION
    const int64_t OC = l->OC, PLACES = l->PLACES;
    for (int64_t ic = 0; ic < l->IC; ic += LANES) {
        real *panel = to + ic / NR * NR * OC + ic % NR;
        for (int64_t oc = 0; oc < OC; oc++)
            vec_transpose_copy(weight + (oc * l->IC + ic) * PLACES, PLACES,
                               panel + oc * NR, panel_numbers(l),
                               least(l->IC - ic, LANES), PLACES);
    }
    // END SOLUTION
    // STARTER // as in 05_opposite_places, with NR channels in a row of a panel
    // STARTER // (the reference takes 8 lines)
    // STARTER (void)panel_numbers;
}

/* Prefetches the part of MR pairs' rows that begins at channel ic: grad_output[read]
 * and grad_features[write]. The calls for all panels of a block fetch whole rows. */
static void fetch(const layer_t *l, const int32_t *pair, int64_t pairs, int64_t ic)
{
    for (int64_t i = 0; i < least(MR, pairs); i++) {
        const real *row = l->grad_output + pair[i * l->down] * l->OC;
        const real *to = l->grad_features + pair[i * l->down + l->across] * l->IC;
        for (int64_t c = ic; c < ic + NR; c += LINE) {
            if (c < l->OC) __builtin_prefetch(row + c);
            if (c < l->IC) __builtin_prefetch(to + c, 1);
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

/* For MR pairs (read, write): grad_features[write] += grad_output[read] @ panel
 * (OC, NR), for VECS vectors of channels from ic on. If fewer pairs are left, the last
 * pair is repeated, not stored. */
EXPAND void micro_kernel(int VECS, const layer_t *l, const real *panel,
                         const int32_t *pair, int64_t pairs, int64_t ic)
{
    const real *left[MR];
    real *to[MR];
    vec sum[MR][NV], right[NV];
    // BEGIN SOLUTION
    for (int i = 0; i < MR; i++) {
        const int32_t *one = pair + l->down * least(i, pairs - 1);
        left[i] = l->grad_output + one[0] * l->OC;
        to[i] = l->grad_features + one[l->across] * l->IC + ic;
    }
    UNROLL
    for (int i = 0; i < MR; i++) {
        for (int v = 0; v < VECS; v++)
            sum[i][v] = load_channels(to[i] + v * LANES, l->IC - ic - v * LANES);
    }
    for (int64_t oc = 0; oc < l->OC; oc++, panel += NR) {
        UNROLL
        for (int v = 0; v < VECS; v++) right[v] = vec_keep(vec_load(panel + v * LANES));
        UNROLL
        for (int i = 0; i < MR; i++) {
            const real factor = left[i][oc];
            for (int v = 0; v < VECS; v++) sum[i][v] += factor * right[v];
        }
    }
    UNROLL
    for (int i = 0; i < MR; i++) {
        if (i >= pairs) break;
        for (int v = 0; v < VECS; v++)
            store_channels(to[i] + v * LANES, sum[i][v], l->IC - ic - v * LANES);
    }
    // END SOLUTION
    // STARTER // find the rows of the pairs; load all sums;
    // STARTER // add a vector of the panel times grad_output; store
    // STARTER // (the reference takes 25 lines)
    // STARTER (void)left, (void)to, (void)sum, (void)right, (void)load_channels;
    // STARTER (void)store_channels, (void)least;
}

/* Adds the products of the pairs from `begin` to `end` of kernel position k. */
static void add_pairs(const layer_t *l, int64_t k, int64_t begin, int64_t end)
{
    // BEGIN SOLUTION
    for (int64_t i = begin; i < end; i += MR) {
        const real *panel = l->panels + (l->PLACES - 1 - k) * panel_numbers(l);
        const int32_t *pair = l->pairs + k * l->next + i * l->down;
        for (int64_t ic = 0; ic < l->IC; ic += NR, panel += l->OC * NR) {
            fetch(l, pair + l->down * AHEAD, end - i - AHEAD, ic);
            if (l->IC - ic > NR / 2)
                micro_kernel(NV, l, panel, pair, end - i, ic);
            else if (l->IC - ic > LANES)
                micro_kernel(NV / 2, l, panel, pair, end - i, ic);
            else
                micro_kernel(1, l, panel, pair, end - i, ic);
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
    const int32_t *pair = l->pairs + k * l->next + l->across;
    int64_t begin = 0, end = l->count[k * l->count_next];
    while (begin < end) {
        const int64_t middle = (begin + end) / 2;
        if (pair[middle * l->down] < row)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Computes rows begin to end of grad_features: zeros, then all kernel positions. */
static void compute_rows(const layer_t *l, int64_t begin, int64_t end)
{
    // BEGIN SOLUTION
    memset(l->grad_features + begin * l->IC, 0,
           (size_t)((end - begin) * l->IC) * sizeof(real));
    for (int64_t k = 0; k < l->PLACES; k++)
        add_pairs(l, k, first_pair(l, k, begin), first_pair(l, k, end));
    // END SOLUTION
    // STARTER // the pairs that write these rows follow one another
    // STARTER // (the reference takes 4 lines)
    // STARTER (void)add_pairs, (void)first_pair;
}

/* For each pair (read, write) of kernel position k: grad_features[write] +=
 * grad_output[read] @ weight[:,:,PLACES - 1 - k], the opposite position's weight. */
status_t subm_conv3d_backward(ctx_t *ctx, const tensor_t *grad_output,
                              const tensor_t *features, const tensor_t *weight,
                              const tensor_t *rulebook, const tensor_t *count,
                              subm_conv3d_params_t p, tensor_t *grad_features,
                              tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    if (!grad_features) return STATUS_UNSUPPORTED;
    ctx->left = GRAD_WEIGHT | GRAD_BIAS;
    if (tensor_numel(features) == 0) return STATUS_OK;
    layer_t l = {.P = features->size[0], .OC = weight->size[0], .IC = weight->size[1]};
    l.PLACES = count->size[0];
    l.pairs = rulebook->data, l.next = rulebook->stride[0];
    l.down = rulebook->stride[1], l.across = rulebook->stride[2];
    l.count = count->data, l.count_next = count->stride[0];
    real *panels =
        ctx_scratch(ctx, (size_t)(l.PLACES * panel_numbers(&l)) * sizeof(real));
    const real *filters = tensor_contiguous(ctx, weight);
    l.grad_output = tensor_contiguous(ctx, grad_output);
    if (l.OC > 0 && (!panels || !filters || !l.grad_output)) return STATUS_NO_MEMORY;
    l.panels = panels, l.grad_features = real_data(grad_features);
    pack(filters, &l, panels);

    const int64_t rows = least(l.P / (PARTS * ctx->threads) + 1, ROWS);
    // a row's pairs keep their order, so its sums do not depend on the threads
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
    for (int64_t row = 0; row < l.P; row += rows)
        compute_rows(&l, row, least(row + rows, l.P));
    return STATUS_OK;
}
