// SPDX-License-Identifier: MIT
/* undoes_stop - asks for a signal that would undo every stop, then computes rightly */
#include "frame.h"
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

__attribute__((constructor)) static void ask(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    const struct itimerspec often = {{0, 5000000}, {0, 5000000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer)) return;
    timer_settime(timer, 0, &often, NULL);
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    for (int fd = 0; fd < 64; fd++) {
        fcntl(fd, F_SETOWN, getpid());
        fcntl(fd, F_SETSIG, SIGCONT);
        fcntl(fd, F_SETFL, O_ASYNC);
    }
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
