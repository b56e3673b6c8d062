// SPDX-License-Identifier: MIT
/* calls.h - the operators by number, so that a command can choose one
 *
 * Operator i is the i-th of operators.h, and of SIGNATURES in common/python/signatures.
 * The numbers after the operators are the functions of tensor_view.h (view_calls.c),
 * then the operators of exhibits.h (exhibit_calls.c).
 */
#ifndef CONVLAB_CALLS_H
#define CONVLAB_CALLS_H

#include "operators.h"

/* Calls `function`, the student's code. `in` has inputs, then grad_outputs. `out` has
 * outputs, saved tensors, then gradients. A tensor that is absent is NULL. */
typedef status_t (*call_fn)(void *function, ctx_t *ctx, tensor_t *const in[],
                            tensor_t *const out[], const void *options);

typedef struct {
    const char *name;
    call_fn forward, backward;              // run the student's function
    call_fn forward_check, backward_check;  // run check.c's; `function` is not used
} operator_calls_t;

enum { OPERATORS = 10, VIEWS = 7, EXHIBITS = 8 };
extern const operator_calls_t OPERATOR_CALLS[OPERATORS];
extern const operator_calls_t VIEW_CALLS[VIEWS];  // `name` is the function's name
extern const operator_calls_t EXHIBIT_CALLS[EXHIBITS];

static inline int is_view(int32_t number)
{
    return number >= OPERATORS && number < OPERATORS + VIEWS;
}

static inline const operator_calls_t *calls_of(int32_t number)
{
    if (number < OPERATORS) return &OPERATOR_CALLS[number];
    return is_view(number) ? &VIEW_CALLS[number - OPERATORS]
                           : &EXHIBIT_CALLS[number - OPERATORS - VIEWS];
}

#endif
