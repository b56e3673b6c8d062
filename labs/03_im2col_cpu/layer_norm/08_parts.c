/* 08 parts
 *
 *   idea    compute the sums over rows in parts, then add up the parts in order
 *   expect  at most 06_shared_sums times the number of cores
 *   limit   the last cache and the memory, which all threads share
 *   run     make bench T=03_im2col_cpu/layer_norm/08
 *
 * Backward, all shapes and strides. Run it with THREADS=2 after the command. The parts
 * depend only on the number of rows: any number of threads gives the same result, bit
 * for bit. Workspace: two rows for each part, as in 06_shared_sums for each thread, and
 * copies of non-contiguous tensors.
 */
#include "operators.h"

layer_norm_backward_fn rows_backward;  // 06_shared_sums

enum { UNIT = 4, PARTS = 16 };  // rows in one call; the most parts

/* Allocates from the caller's scratch memory, one thread at a time. */
static inline void *in_turn(ctx_t *ctx, size_t bytes)
{
    void *block;
#pragma omp critical(scratch)
    block = ctx_scratch(ctx->scratch_state, bytes);
    return block;
}

/* The first row of part `part`, when R rows are cut into COUNT parts; R for COUNT. */
static inline int64_t begin_of(int64_t part, int64_t COUNT, int64_t R)
{
    const int64_t at = (R + UNIT - 1) / UNIT * part / COUNT * UNIT;
    return at < R ? at : R;
}

/* Rows a to before b of a contiguous t as a tensor (b - a, D), or (b - a) if D is 0. If
 * t is NULL, the result is NULL. */
static inline tensor_t *rows_of(tensor_t *view, const tensor_t *t, int64_t D, int64_t a,
                                int64_t b)
{
    if (!t) return NULL;
    *view = (tensor_t){.data = real_data(t) + a * (D ? D : 1),
                       .ndim = D ? 2 : 1,
                       .dtype = t->dtype,
                       .size = {b - a, D},
                       .stride = {D ? D : 1, 1}};
    return view;
}

/* The context for one of several threads. */
static inline ctx_t own_of(ctx_t *ctx)
{
    ctx_t own = *ctx;
    own.threads = 1, own.scratch = in_turn, own.scratch_state = ctx;
    return own;
}

/* A contiguous t. If there is no memory for a copy, its data is NULL. */
static inline tensor_t dense(ctx_t *ctx, const tensor_t *t)
{
    tensor_t copy = *t;
    copy.data = (real *)tensor_contiguous(ctx, t);
    return copy;
}

/* grad (D) = the sums of all parts, added in order. The parts are 2 * D apart. */
static inline void add_parts(const real *sums, int64_t COUNT, int64_t D, tensor_t *grad)
{
    // BEGIN SOLUTION
    if (!grad) return;  // a gradient that nobody wants
    real *restrict total = real_data(grad);
    for (int64_t d = 0; d < D; d++) total[d] = 0;
    for (int64_t part = 0; part < COUNT; part++, sums += 2 * D) {
        for (int64_t d = 0; d < D; d++) total[d] += sums[d];
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
}

/* grad_input row by row; grad_weight and grad_bias of each part, then their sums */
status_t layer_norm_backward(ctx_t *ctx, const tensor_t *grad_output,
                             const tensor_t *input, const tensor_t *weight,
                             const tensor_t *mean, const tensor_t *rstd,
                             layer_norm_params_t p, tensor_t *grad_input,
                             tensor_t *grad_weight, tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    const int64_t D = input->size[input->ndim - 1], R = tensor_numel(input) / D;
    const int64_t UNITS = (R + UNIT - 1) / UNIT, COUNT = UNITS < PARTS ? UNITS : PARTS;
    real *sums = ctx_scratch(ctx, (size_t)(2 * PARTS * D) * sizeof(real));
    const tensor_t g = dense(ctx, grad_output), x = dense(ctx, input);
    const tensor_t m = dense(ctx, mean), s = dense(ctx, rstd);
    if (R > 0 && !(sums && g.data && x.data && m.data && s.data))
        return STATUS_NO_MEMORY;
    int worst = STATUS_OK;
#pragma omp parallel for num_threads(ctx->threads) reduction(max : worst)
    for (int64_t part = 0; part < COUNT; part++) {
        ctx_t own = own_of(ctx);
        tensor_t v[5], to_weight, to_bias;
        if (grad_weight) to_weight = *grad_weight, to_weight.data = sums + 2 * part * D;
        if (grad_bias) to_bias = *grad_bias, to_bias.data = sums + (2 * part + 1) * D;
        const int64_t a = begin_of(part, COUNT, R), b = begin_of(part + 1, COUNT, R);
        const int status = (int)rows_backward(
            &own, rows_of(v, &g, D, a, b), rows_of(v + 1, &x, D, a, b), weight,
            rows_of(v + 2, &m, 0, a, b), rows_of(v + 3, &s, 0, a, b), p,
            rows_of(v + 4, grad_input, D, a, b), grad_weight ? &to_weight : NULL,
            grad_bias ? &to_bias : NULL);
        if (status > worst) worst = status;
    }
    add_parts(sums, COUNT, D, grad_weight);
    add_parts(sums + D, COUNT, D, grad_bias);
    return (status_t)worst;
    // END SOLUTION
    // STARTER // your code (the reference takes 24 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
