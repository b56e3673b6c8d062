// SPDX-License-Identifier: MIT
/* thread_bomb - starts 2000 threads that sleep 20 s each */
#include "frame.h"
#include <pthread.h>
#include <unistd.h>

static void *sleep_long(void *unused)
{
    sleep(20);
    return unused;
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    for (int i = 0; i < 2000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleep_long, NULL)) return STATUS_NO_MEMORY;
        pthread_detach(thread);
    }
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
