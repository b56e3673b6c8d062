// SPDX-License-Identifier: MIT
/* probes.c - counts the slots that the hash table of subm_conv3d reads for each point
 *
 * RUNG is the file of a rung with the functions table_of and slot_of. Each line of the
 * output is a set of points, and the average number of slots read to find a point. Each
 * set has DRAWS lines, for other addresses of ctx, so for other factors.
 */
#include <stdio.h>
#include <stdlib.h>

#include RUNG

enum { P = 4000, ROW = 63, DRAWS = 15 };

static void *memory(ctx_t *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

/* Slots read for point `at`: from the first slot of its key to its own slot. */
static int64_t probes(const table_t *table, point_t at)
{
    const uint64_t *factor = table->factor;
    const uint64_t key = (uint64_t)at.n * factor[0] + (uint64_t)at.z * factor[1] +
                         (uint64_t)at.y * factor[2] + (uint64_t)at.x * factor[3];
    const int64_t mask = table->SLOTS - 1, first = (int64_t)(key >> 32) & mask;
    return ((slot_of(table, at) - table->slot - first) & mask) + 1;
}

static void count(ctx_t *ctx, const char *name, const int32_t step[4])
{
    static int32_t at[P][4];
    for (int32_t i = 0; i < P; i++) {
        for (int axis = 0; axis < 4; axis++)
            at[i][axis] = (axis == 3 ? i % ROW : i / ROW) * step[axis];
    }
    const tensor_t coordinates = {.data = at, .size = {P, 4}, .stride = {4, 1}};
    const table_t table = table_of(ctx, &coordinates);
    int64_t sum = 0;
    for (int32_t i = 0; i < P; i++) sum += probes(&table, table.point[i]);
    printf("%s %.3f\n", name, (double)sum / P);
}

int main(void)
{
    for (int draw = 0; draw < DRAWS; draw++) {
        ctx_t *ctx = calloc(1, sizeof *ctx);
        ctx->scratch = memory;
        count(ctx, "plane", (int32_t[4]){0, 0, 1, 1});
        count(ctx, "diagonal", (int32_t[4]){0, 1, 1, 1});
        count(ctx, "equal_low_bits", (int32_t[4]){0, 0, 1 << 20, 1 << 20});
        count(ctx, "table_apart", (int32_t[4]){0, 32768, 0, 32768});
        count(ctx, "samples", (int32_t[4]){1 << 16, 0, 0, 1 << 16});
    }
    return 0;
}
