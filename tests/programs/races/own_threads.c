// SPDX-License-Identifier: MIT
/* own_threads - two threads without OpenMP, which both write the word that each reads:
 * the numbers are right, the race is not seen */
#include <pthread.h>

#include "operators.h"

static int64_t next;  // element, shared by the threads without an order

typedef struct {
    const tensor_t *input;
    gelu_params_t p;
    tensor_t *output;
} job_t;

static void *run(void *argument)
{
    const job_t *job = argument;
    const tensor_t *input = job->input;
    for (int64_t i = 0; i < tensor_numel(input); i++) {
        next = i;  // a race
        const accum x = real_data(input)[tensor_offset(input, input->ndim, i)];
        const accum cubic = (accum)0.044715 * x * x * x;
        const accum u = job->p.approximate == GELU_TANH
                            ? real_tanh((accum)0.79788456080286536 * (x + cubic))
                            : real_erf(x * (accum)0.70710678118654752);
        real_data(job->output)[i] = (real)((accum)0.5 * x * (1 + u));
    }
    return NULL;
}

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx;
    job_t job = {input, p, output};
    pthread_t other;
    if (pthread_create(&other, NULL, run, &job)) return STATUS_NO_MEMORY;
    run(&job);
    pthread_join(other, NULL);
    return STATUS_OK;
}
