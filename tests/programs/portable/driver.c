// SPDX-License-Identifier: MIT
/* Runs rungs on another machine or under another tool: no grader, no Python, one file
 * of cases in, one file of results out.
 *
 *     driver RUNG CASES RESULTS      RUNG is a number of the table in table.h
 *
 * Every tensor and every piece of scratch memory is a block of just its size, so that
 * valgrind sees a step outside of it. Numbers in CASES are int64 unless said otherwise:
 * the count of cases, then for each
 *     operator, threads, bytes of options, the options
 *     8 inputs and 8 outputs, each: present, and if so dtype, ndim, sizes, strides,
 *     elements of its memory, and of an input these elements
 * RESULTS holds for each case a status and the memory of the outputs that are present.
 */
#define _POSIX_C_SOURCE 200809L  // posix_memalign
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"
#include "table.h"

enum { SIDES = 8, BLOCKS = 4096 };

static void *blocks[BLOCKS];
static int used;

static void give_up(const char *why)
{
    fprintf(stderr, "driver: %s\n", why);
    exit(3);
}

static void *block(size_t bytes)
{
    void *made = NULL;
    if (used == BLOCKS || posix_memalign(&made, 64, bytes)) give_up("no memory");
    return blocks[used++] = made;
}

static void *scratch(ctx_t *ctx, size_t bytes)
{
    (void)ctx;
    return block(bytes);
}

static void take(void *into, size_t bytes, FILE *from)
{
    if (bytes && fread(into, bytes, 1, from) != 1)
        give_up("the file of cases is short");
}

static int64_t number(FILE *from)
{
    int64_t value;
    take(&value, sizeof value, from);
    return value;
}

/* A tensor and the count of elements of its memory; NULL if it is absent. */
static tensor_t *tensor(FILE *from, tensor_t *t, int64_t *elements, int filled)
{
    *elements = 0;
    if (!number(from)) return NULL;
    *t = (tensor_t){.dtype = (dtype_t)number(from)};
    t->ndim = (int32_t)number(from);
    for (int32_t d = 0; d < t->ndim; d++) t->size[d] = number(from);
    for (int32_t d = 0; d < t->ndim; d++) t->stride[d] = number(from);
    *elements = number(from);
    const size_t bytes = (size_t)*elements * dtype_bytes(t->dtype);
    t->data = block(bytes);
    if (filled) take(t->data, bytes, from);
    return t;
}

/* 1 if small numbers have become 0 or numbers round another way than at the start. */
static int rounds_differently(void)
{
    volatile float tiny = 1e-40F, one = 1;
    return tiny * one == 0 || fegetround() != FE_TONEAREST;
}

static int one_case(const rung_t *rung, FILE *from, FILE *to)
{
    const operator_calls_t *op = &OPERATOR_CALLS[number(from)];
    ctx_t ctx = {.scratch = scratch};
    ctx.threads = (int32_t)number(from);
    char options[256];
    const int64_t bytes = number(from);
    if (bytes > (int64_t)sizeof options) give_up("too many options");
    take(options, (size_t)bytes, from);
    tensor_t all[2 * SIDES], *side[2 * SIDES];
    int64_t elements[2 * SIDES];
    for (int i = 0; i < 2 * SIDES; i++) {
        side[i] = tensor(from, &all[i], &elements[i], i < SIDES);
    }
    int64_t status = op->forward(rung->forward, &ctx, side, side + SIDES, options);
    if (status == STATUS_OK) {
        status = op->backward(rung->backward, &ctx, side, side + SIDES, options);
    }
    fwrite(&status, sizeof status, 1, to);
    for (int i = SIDES; i < 2 * SIDES; i++) {
        if (!side[i] || !elements[i]) continue;
        const size_t size = dtype_bytes(side[i]->dtype);
        fwrite(side[i]->data, size, (size_t)elements[i], to);
    }
    if (rounds_differently()) give_up("the rung changed how numbers are rounded");
    while (used) free(blocks[--used]);
    return status == STATUS_OK;
}

int main(int count, char **words)
{
    if (count != 4) give_up("expected RUNG CASES RESULTS");
    FILE *from = fopen(words[2], "rb"), *to = fopen(words[3], "wb");
    if (!from || !to) give_up("cannot open the files");
    int right = 1;
    for (int64_t cases = number(from); cases > 0; cases--) {
        right &= one_case(&RUNGS[atoi(words[1])], from, to);
    }
    fclose(from);
    return fclose(to) == 0 && right ? 0 : 4;
}
