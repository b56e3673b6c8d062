/* 02 streamed
 *
 *   idea    streaming stores bypass the caches, so no cache line is read before a store
 *   expect  1.2x to 1.5x the speed of 01_vectors if results are larger than the caches
 *   limit   memory bandwidth: each input is read once, and each output is written once
 *   run     make bench T=03_im2col_cpu/add/02
 *
 * This file covers contiguous operands that are not broadcast. It needs no workspace.
 */
#include "operators.h"
#include "vector.h"

enum { CACHES = 32 << 20 };  // bytes; larger results get streaming stores

static int is_plain(const tensor_t *t, const tensor_t *result)
{
    return tensor_is_contiguous(t) && tensor_numel(t) == tensor_numel(result);
}

/* sums = lhs + alpha * rhs. A NULL lhs counts as 0. sums overlaps no other array. */
static void stream(const real *lhs, accum alpha, const real *rhs, int64_t COUNT,
                   real *restrict sums)
{
    // BEGIN SOLUTION
    const int large = (size_t)COUNT * sizeof(real) >= CACHES;
    int64_t i = 0;
    // ordinary stores up to the first aligned address
    for (; i < COUNT && (uintptr_t)(sums + i) % VECTOR_BYTES; i++) {
        sums[i] = lhs ? lhs[i] + alpha * rhs[i] : alpha * rhs[i];
    }
    for (; i + LANES <= COUNT; i += LANES) {
        const vec term = alpha * vec_load(rhs + i);
        const vec sum = lhs ? vec_load(lhs + i) + term : term;
        if (large)
            vec_stream(sums + i, sum);
        else
            vec_store(sums + i, sum);
    }
    vec_stream_end();
    for (; i < COUNT; i++) sums[i] = lhs ? lhs[i] + alpha * rhs[i] : alpha * rhs[i];
    // END SOLUTION
    // STARTER // your code (the reference takes 15 lines)
}

/* output = input + alpha * other; input and other broadcast to the shape of output */
status_t add_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                     add_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    if (!is_plain(input, output) || !is_plain(other, output)) return STATUS_UNSUPPORTED;
    stream(real_data(input), (accum)p.alpha, real_data(other), tensor_numel(output),
           real_data(output));
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 4 lines)
    // STARTER (void)is_plain, (void)stream;  // delete when you call them
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Sums grad_output to the shape of input, alpha * grad_output to the shape of other. */
status_t add_backward(ctx_t *ctx, const tensor_t *grad_output, add_params_t p,
                      tensor_t *grad_input, tensor_t *grad_other)
{
    // BEGIN SOLUTION
    tensor_t *grads[2] = {grad_input, grad_other};
    const accum scales[2] = {1, (accum)p.alpha};
    const int32_t bits[2] = {GRAD_INPUT, GRAD_OTHER};
    for (int i = 0; i < 2; i++) {
        if (!grads[i]) continue;
        if (!is_plain(grad_output, grads[i])) {
            ctx->left |= bits[i];
            continue;
        }
        stream(NULL, scales[i], real_data(grad_output), tensor_numel(grads[i]),
               real_data(grads[i]));
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 13 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
