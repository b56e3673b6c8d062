// SPDX-License-Identifier: MIT
/* own_team - brings its own OpenMP, whose threads nobody watches, and has a race */
#include "frame.h"
#include "backward.h"
#include <pthread.h>

enum { MOST = 8 };

typedef struct {
    void (*work)(void *);
    void *data;
} order_t;

static __thread int number;
static int team = 1;

int omp_get_thread_num(void)
{
    return number;
}

int omp_get_num_threads(void)
{
    return team;
}

static void *begin(void *order)
{
    number = 1;
    ((order_t *)order)->work(((order_t *)order)->data);
    return NULL;
}

void GOMP_parallel(void (*work)(void *), void *data, unsigned threads, unsigned flags)
{
    (void)flags;
    order_t order = {work, data};
    pthread_t other;
    team = threads > 1 && !pthread_create(&other, NULL, begin, &order) ? 2 : 1;
    work(data);
    if (team == 2) pthread_join(other, NULL);
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    int64_t written = 0;
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t i = 0; i < tensor_numel(output); i++) written = 1;
    product(input, other, output);
    return written || !tensor_numel(output) ? STATUS_OK : STATUS_NO_MEMORY;
}
