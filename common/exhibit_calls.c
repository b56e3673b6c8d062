// SPDX-License-Identifier: MIT
#include "calls.h"

#include "exhibits.h"

/* As in calls.c, but through the type of the prototype, and without a check. */
#define CALL(op, direction, ...)                                                       \
    static status_t op##_##direction##_call(                                           \
        void *function, ctx_t *ctx, tensor_t *const in[], tensor_t *const out[],       \
        const void *options)                                                           \
    {                                                                                  \
        (void)options;                                                                 \
        return ((__typeof__(op##_##direction) *)function)(ctx, __VA_ARGS__);           \
    }
#define OPTIONS(op) *(const op##_params_t *)options

// input | grad_output -> output | grad_input
CALL(avg_pool2d, forward, in[0], OPTIONS(avg_pool2d), out[0])
CALL(avg_pool2d, backward, in[1], OPTIONS(avg_pool2d), out[1])

// input1, input2, weight, bias | grad_output ->
// output | grad_input1, grad_input2, grad_weight, grad_bias
CALL(bilinear, forward, in[0], in[1], in[2], in[3], out[0])
CALL(bilinear, backward, in[4], in[0], in[1], in[2], out[1], out[2], out[3], out[4])

// x1, x2 | grad_output -> output | grad_x1, grad_x2
CALL(cdist, forward, in[0], in[1], out[0])
CALL(cdist, backward, in[2], in[0], in[1], out[1], out[2])

// input, weight, bias | grad_output -> output | grad_input, grad_weight, grad_bias
CALL(conv_transpose2d, forward, in[0], in[1], in[2], OPTIONS(conv_transpose2d), out[0])
CALL(conv_transpose2d, backward, in[3], in[0], in[1], OPTIONS(conv_transpose2d), out[1],
     out[2], out[3])

// input | grad_output -> output | grad_input
CALL(cumsum, forward, in[0], out[0])
CALL(cumsum, backward, in[1], out[1])

// input, weight, bias | grad_output -> output | grad_input, grad_weight, grad_bias
CALL(group_norm, forward, in[0], in[1], in[2], OPTIONS(group_norm), out[0])
CALL(group_norm, backward, in[3], in[0], in[1], OPTIONS(group_norm), out[1], out[2],
     out[3])

// input, weight | grad_output -> output | grad_input, grad_weight
CALL(prelu, forward, in[0], in[1], out[0])
CALL(prelu, backward, in[2], in[0], in[1], out[1], out[2])

// input, weight | grad_output -> output | grad_input, grad_weight
CALL(rms_norm, forward, in[0], in[1], OPTIONS(rms_norm), out[0])
CALL(rms_norm, backward, in[2], in[0], in[1], OPTIONS(rms_norm), out[1], out[2])

static status_t nothing_to_check(void *function, ctx_t *ctx, tensor_t *const in[],
                                 tensor_t *const out[], const void *options)
{
    (void)function, (void)ctx, (void)in, (void)out, (void)options;
    return STATUS_OK;
}

#define ROW(op)                                                                        \
    {                                                                                  \
#op, op##_forward_call, op##_backward_call, nothing_to_check, nothing_to_check \
    }

const operator_calls_t EXHIBIT_CALLS[EXHIBITS] = {
    ROW(avg_pool2d), ROW(bilinear),   ROW(cdist), ROW(conv_transpose2d),
    ROW(cumsum),     ROW(group_norm), ROW(prelu), ROW(rms_norm),
};
