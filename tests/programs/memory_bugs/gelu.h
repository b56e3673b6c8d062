// SPDX-License-Identifier: MIT
/* gelu - what is right in the bugs of gelu */
#include "operators.h"

static inline accum gelu_of(accum x, int tanh_form)
{
    const accum inner = (accum)0.79788456080286536 * (x + (accum)0.044715 * x * x * x);
    return tanh_form ? (accum)0.5 * x * (1 + real_tanh(inner))
                     : (accum)0.5 * x * (1 + real_erf(x * (accum)0.70710678118654752));
}

/* Element i of the result. */
static inline accum gelu_at(const tensor_t *input, int64_t i, gelu_params_t p)
{
    const accum x = real_data(input)[tensor_offset(input, input->ndim, i)];
    return gelu_of(x, p.approximate == GELU_TANH);
}
