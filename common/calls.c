// SPDX-License-Identifier: MIT
#include "calls.h"

/* CALL defines two functions that call an operator and its check through the types of
 * operators.h. So the compiler compares each argument list below with a prototype. */
#define CALL(op, direction, ...)                                                       \
    static status_t op##_##direction##_call(                                           \
        void *function, ctx_t *ctx, tensor_t *const in[], tensor_t *const out[],       \
        const void *options)                                                           \
    {                                                                                  \
        (void)options;                                                                 \
        return ((op##_##direction##_fn *)function)(ctx, __VA_ARGS__);                  \
    }                                                                                  \
    static status_t op##_##direction##_check_call(                                     \
        void *function, ctx_t *ctx, tensor_t *const in[], tensor_t *const out[],       \
        const void *options)                                                           \
    {                                                                                  \
        (void)function, (void)options;                                                 \
        return op##_##direction##_check(ctx, __VA_ARGS__);                             \
    }
#define OPTIONS(op) *(const op##_params_t *)options

// input, other | grad_output -> output | grad_input, grad_other
CALL(add, forward, in[0], in[1], OPTIONS(add), out[0])
CALL(add, backward, in[2], OPTIONS(add), out[1], out[2])

// input, other | grad_output -> output | grad_input, grad_other
CALL(matmul, forward, in[0], in[1], out[0])
CALL(matmul, backward, in[2], in[0], in[1], out[1], out[2])

// input, weight, bias | grad_output -> output | grad_input, grad_weight, grad_bias
CALL(linear, forward, in[0], in[1], in[2], out[0])
CALL(linear, backward, in[3], in[0], in[1], out[1], out[2], out[3])

// input | grad_output -> output | grad_input
CALL(unfold, forward, in[0], OPTIONS(unfold), out[0])
CALL(unfold, backward, in[1], OPTIONS(unfold), out[1])

// input, weight, bias | grad_output -> output | grad_input, grad_weight, grad_bias
CALL(conv2d, forward, in[0], in[1], in[2], OPTIONS(conv2d), out[0])
CALL(conv2d, backward, in[3], in[0], in[1], OPTIONS(conv2d), out[1], out[2], out[3])

// input, weight, bias | grad_output -> output | grad_input, grad_weight, grad_bias
CALL(depthwise_conv2d, forward, in[0], in[1], in[2], OPTIONS(depthwise_conv2d), out[0])
CALL(depthwise_conv2d, backward, in[3], in[0], in[1], OPTIONS(depthwise_conv2d), out[1],
     out[2], out[3])

// input | grad_output -> output | grad_input
CALL(gelu, forward, in[0], OPTIONS(gelu), out[0])
CALL(gelu, backward, in[1], in[0], OPTIONS(gelu), out[1])

// input, weight, bias | grad_output
// -> output, mean, rstd | grad_input, grad_weight, grad_bias
CALL(layer_norm, forward, in[0], in[1], in[2], OPTIONS(layer_norm), out[0], out[1],
     out[2])
CALL(layer_norm, backward, in[3], in[0], in[1], out[1], out[2], OPTIONS(layer_norm),
     out[3], out[4], out[5])

// input, weight, bias, h, c | grad_new_h, grad_new_c
// -> new_h, new_c, gates | grad_input, grad_weight, grad_bias, grad_h, grad_c
CALL(lltm, forward, in[0], in[1], in[2], in[3], in[4], out[0], out[1], out[2])
CALL(lltm, backward, in[5], in[6], in[0], in[1], in[3], out[1], out[2], out[3], out[4],
     out[5], out[6], out[7])

// features, coordinates, weight, bias | grad_output
// -> output, rulebook, count | grad_features, grad_weight, grad_bias
CALL(subm_conv3d, forward, in[0], in[1], in[2], in[3], OPTIONS(subm_conv3d), out[0],
     out[1], out[2])
CALL(subm_conv3d, backward, in[4], in[0], in[2], out[1], out[2], OPTIONS(subm_conv3d),
     out[3], out[4], out[5])

#define ROW(op)                                                                        \
    {                                                                                  \
#op, op##_forward_call, op##_backward_call, op##_forward_check_call,           \
            op##_backward_check_call                                                   \
    }

const operator_calls_t OPERATOR_CALLS[OPERATORS] = {
    ROW(add),    ROW(matmul),           ROW(linear), ROW(unfold),
    ROW(conv2d), ROW(depthwise_conv2d), ROW(gelu),   ROW(layer_norm),
    ROW(lltm),   ROW(subm_conv3d),
};
