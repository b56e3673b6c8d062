/* 01 half searches
 *
 *   idea    search half of the kernel positions; opposite positions have reversed pairs
 *   expect  2x the speed of 00_hash_table for the rulebook
 *   limit   the weights of one kernel position are KD*KH*KW numbers apart in memory
 *   run     make bench T=03_im2col_cpu/subm_conv3d/01
 *
 * Forward, all shapes and strides. Workspace: as in 00_hash_table, and P row numbers.
 */
#include "factors.h"
#include "operators.h"

typedef struct {
    int64_t n, z, y, x;
} point_t;

/* The hash table of 00_hash_table. If there is no memory, `point` or `slot` is NULL. */
typedef struct {
    point_t *point;      // (P), the points of all rows
    int32_t *slot;       // (SLOTS), a row number; -1 is free
    int64_t SLOTS;       // a power of 2, more than 4 * P: most slots stay free
    uint64_t factor[4];  // of n, z, y, x in a key
} table_t;

/* Returns the slot of point `at`, or the free slot that the point would get. */
static int32_t *slot_of(const table_t *table, point_t at)
{
    // BEGIN SOLUTION
    const uint64_t *factor = table->factor;
    const uint64_t key =  // modulo 2^64; the upper half depends on all bits of a point
        (uint64_t)at.n * factor[0] + (uint64_t)at.z * factor[1] +
        (uint64_t)at.y * factor[2] + (uint64_t)at.x * factor[3];
    for (uint64_t i = key >> 32;; i++) {
        int32_t *row = table->slot + (i & (uint64_t)(table->SLOTS - 1));
        if (*row < 0) return row;
        const point_t there = table->point[*row];
        if (there.n == at.n && there.z == at.z && there.y == at.y && there.x == at.x)
            return row;
    }
    // END SOLUTION
    // STARTER // as in 00_hash_table (the reference takes 11 lines)
    // STARTER return table->slot;
}

static table_t table_of(ctx_t *ctx, const tensor_t *coordinates)
{
    // BEGIN SOLUTION
    const int64_t P = coordinates->size[0], down = coordinates->stride[0];
    const int64_t across = coordinates->stride[1];
    table_t table = {.SLOTS = 2};
    draw_factors(ctx, table.factor);
    while (table.SLOTS <= 4 * P) table.SLOTS *= 2;
    table.point = ctx_scratch(ctx, (size_t)P * sizeof(point_t));
    table.slot = ctx_scratch(ctx, (size_t)table.SLOTS * sizeof(int32_t));
    if (!table.point || !table.slot) return table;
    for (int64_t i = 0; i < table.SLOTS; i++) table.slot[i] = -1;
    for (int32_t row = 0; row < P; row++) {
        const int32_t *at = (const int32_t *)coordinates->data + row * down;
        table.point[row] = (point_t){at[0], at[across], at[2 * across], at[3 * across]};
        *slot_of(&table, table.point[row]) = row;
    }
    return table;
    // END SOLUTION
    // STARTER // as in 00_hash_table (the reference takes 15 lines)
    // STARTER return (table_t){0};  // as if there were no memory
}

/* output[write] += weight[:,:,k] @ features[read] for all pairs of kernel position k */
static void multiply(const tensor_t *features, const tensor_t *weight, int64_t k,
                     const int32_t *pair, int64_t pairs, tensor_t *output)
{
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t KH = weight->size[3], KW = weight->size[4];
    const int64_t kd = k / KW / KH, kh = k / KW % KH, kw = k % KW;
    // BEGIN SOLUTION
    for (int64_t i = 0; i < pairs * OC; i++) {
        const int64_t read = pair[i / OC * 2], write = pair[i / OC * 2 + 1];
        accum sum = 0;
        for (int64_t ic = 0; ic < IC; ic++)
            sum += *at5(weight, i % OC, ic, kd, kh, kw) * *at2(features, read, ic);
        *at2(output, write, i % OC) += (real)sum;
    }
    // END SOLUTION
    // STARTER // for each pair and output channel, a sum over ic
    // STARTER // (the reference takes 7 lines)
    // STARTER (void)OC, (void)IC, (void)kd, (void)kh, (void)kw;
}

/* output[write] = bias + sum of weight @ features[read] over the rulebook's pairs */
status_t subm_conv3d_forward(ctx_t *ctx, const tensor_t *features,
                             const tensor_t *coordinates, const tensor_t *weight,
                             const tensor_t *bias, subm_conv3d_params_t p,
                             tensor_t *output, tensor_t *rulebook, tensor_t *count)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    const int64_t KD = weight->size[2], KH = weight->size[3], KW = weight->size[4];
    const int64_t P = features->size[0], OC = weight->size[0], PLACES = KD * KH * KW;
    const table_t table = table_of(ctx, coordinates);
    int32_t *own = ctx_scratch(ctx, (size_t)P * 3 * sizeof(int32_t));
    if (P > 0 && (!table.point || !table.slot || !own)) return STATUS_NO_MEMORY;
    int32_t *reader = own + 2 * P;  // reader[read] is `write` of a pair, or -1
    for (int64_t i = 0; i < P * OC; i++)
        real_data(output)[i] = bias ? *at1(bias, i % OC) : 0;
    for (int64_t k = 0; k <= PLACES / 2; k++) {
        int32_t *pair = rulebook ? (int32_t *)rulebook->data + k * P * 2 : own;
        int64_t pairs = 0;
        // BEGIN SOLUTION
        for (int64_t row = 0; row < P; row++) reader[row] = -1;
        for (int32_t write = 0; write < P; write++) {
            point_t at = table.point[write];
            at.z += (k / KW / KH - KD / 2) * p.dilation_d;
            at.y += (k / KW % KH - KH / 2) * p.dilation_h;
            at.x += (k % KW - KW / 2) * p.dilation_w;
            const int32_t read = *slot_of(&table, at);
            if (read < 0) continue;  // there is no neighbour
            pair[2 * pairs] = read, pair[2 * pairs + 1] = write;
            reader[read] = write;
            pairs++;
        }
        // END SOLUTION
        // STARTER // the pairs of position k, as in 00_hash_table; fill reader
        // STARTER // (the reference takes 12 lines)
        // STARTER (void)slot_of, (void)reader;
        multiply(features, weight, k, pair, pairs, output);
        if (count) ((int64_t *)count->data)[k] = pairs;
        if (count) ((int64_t *)count->data)[PLACES - 1 - k] = pairs;
        if (k == PLACES / 2) break;  // the centre has no opposite position
        // BEGIN SOLUTION
        if (rulebook) pair += (PLACES - 1 - 2 * k) * P * 2;
        for (int32_t write = 0, i = 0; write < P; write++) {
            if (reader[write] < 0) continue;  // the reversed pair
            pair[i++] = reader[write], pair[i++] = write;
        }
        // END SOLUTION
        // STARTER // the pairs of the opposite position, in rising order of write; the
        // STARTER // rulebook lists them at that position (the reference takes 5 lines)
        multiply(features, weight, PLACES - 1 - k, pair, pairs, output);
    }
    return STATUS_OK;
}
