/* 03 threads
 *
 *   idea    the threads divide the elements, because each element is independent
 *   expect  at most the number of cores times the speed of the lower rungs
 *   limit   all cores share the memory; for small tensors, starting threads takes time
 *   run     make bench T=03_im2col_cpu/gelu/03
 *
 * Covers all shapes and strides. THREADS=2 measures two threads. Any number of threads
 * gives the same result, bit for bit. Workspace: copies of non-contiguous inputs.
 */
#include "operators.h"

gelu_forward_fn rational_forward;
gelu_backward_fn exponential_backward;

enum {
    UNIT = 64,       // a part has a multiple of 64 elements, so whole vectors
    WORTH = 1 << 14  // with fewer elements, a thread costs more than it saves
};

/* Returns how many threads to use: one, or so many that each gets WORTH elements. */
static int32_t threads_for(const ctx_t *ctx, int64_t COUNT)
{
    // BEGIN SOLUTION
    const int64_t enough = COUNT / WORTH > 1 ? COUNT / WORTH : 1;
    return enough < ctx->threads ? (int32_t)enough : ctx->threads;
    // END SOLUTION
    // STARTER // your code (the reference takes 2 lines)
    // STARTER return 0;
}

/* Cuts a row of COUNT numbers into T parts, and returns part t as a view. */
static tensor_t piece(const real *row, int64_t COUNT, int64_t t, int64_t T)
{
    // BEGIN SOLUTION
    const int64_t units = (COUNT + UNIT - 1) / UNIT;
    const int64_t first = units * t / T * UNIT, end = units * (t + 1) / T * UNIT;
    tensor_t view = {(void *)(row + first), 1, REAL_DTYPE, DEVICE_CPU, {0}, {1}};
    view.size[0] = (end < COUNT ? end : COUNT) - first;
    return view;
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
    // STARTER return (tensor_t){0};
}

/* Allocates scratch memory for one thread. `critical` lets the other threads wait. */
static void *in_turn(ctx_t *ctx, size_t bytes)
{
    // BEGIN SOLUTION
    void *block;
#pragma omp critical(scratch)
    block = ctx_scratch(ctx->scratch_state, bytes);
    return block;
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
    // STARTER return NULL;
}

static ctx_t for_one_thread(ctx_t *ctx)
{
    // BEGIN SOLUTION
    ctx_t own = *ctx;
    own.threads = 1, own.scratch = in_turn, own.scratch_state = ctx;
    return own;
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
    // STARTER return (ctx_t){0};
}

/* output = gelu(input), element by element */
status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);
    if (!x) return STATUS_NO_MEMORY;
    const int32_t T = threads_for(ctx, COUNT);
    int worst = STATUS_OK;
#pragma omp parallel for num_threads(T) reduction(max : worst)  // a part each
    for (int32_t t = 0; t < T; t++) {
        ctx_t own = for_one_thread(ctx);
        const tensor_t in = piece(x, COUNT, t, T);
        tensor_t out = piece(real_data(output), COUNT, t, T);
        const int status = (int)rational_forward(&own, &in, p, &out);
        if (status > worst) worst = status;
    }
    return (status_t)worst;
    // END SOLUTION
    // STARTER // your code (the reference takes 14 lines)
    // STARTER (void)threads_for, (void)piece, (void)in_turn, (void)for_one_thread;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* grad_input = grad_output * d output / d input. Backward does not need output. */
status_t gelu_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                       gelu_params_t p, tensor_t *grad_input)
{
    // BEGIN SOLUTION
    const int64_t COUNT = grad_input ? tensor_numel(grad_input) : 0;
    if (COUNT == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);
    const real *dy = tensor_contiguous(ctx, grad_output);
    if (!x || !dy) return STATUS_NO_MEMORY;
    const int32_t T = threads_for(ctx, COUNT);
    int worst = STATUS_OK;
#pragma omp parallel for num_threads(T) reduction(max : worst)  // a part each
    for (int32_t t = 0; t < T; t++) {
        ctx_t own = for_one_thread(ctx);
        const tensor_t in = piece(x, COUNT, t, T), grad = piece(dy, COUNT, t, T);
        tensor_t out = piece(real_data(grad_input), COUNT, t, T);
        const int status = (int)exponential_backward(&own, &grad, &in, p, &out);
        if (status > worst) worst = status;
    }
    return (status_t)worst;
    // END SOLUTION
    // STARTER // your code (the reference takes 15 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
