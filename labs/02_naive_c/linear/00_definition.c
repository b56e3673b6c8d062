/* 00 definition
 *
 *   idea    each output is the dot product of a row of input and a row of weight
 *   expect  no factor: this ladder has only one file
 *   limit   one sum at a time: each addition waits for the previous addition
 *   run     make grade T=02_naive_c/linear/00
 */
#include "operators.h"

/* Returns a view of row r of t. Rows are numbered over all axes but the last. */
static tensor_t row_of(const tensor_t *t, int64_t r)
{
    const int32_t last = t->ndim - 1;
    return (tensor_t){
        .data = t->data ? real_data(t) + tensor_offset(t, last, r) : NULL,
        .ndim = 1,
        .dtype = t->dtype,
        .device = t->device,
        .size = {t->size[last]},
        .stride = {t->stride[last]},
    };
}

static void set_zero(tensor_t *output)
{
    for (int64_t i = 0; i < tensor_numel(output); i++) real_data(output)[i] = 0;
}

/* Computes output[r,oc] = bias[oc] + sum over ic of input[r,ic] * weight[oc,ic]. */
status_t linear_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, tensor_t *output)
{
    // BEGIN SOLUTION
    (void)ctx;
    const int64_t R = tensor_count(output, output->ndim - 1);
    const int64_t OC = weight->size[0], IC = weight->size[1];

    for (int64_t r = 0; r < R; r++) {
        const tensor_t input_row = row_of(input, r);    // (IC)
        const tensor_t output_row = row_of(output, r);  // (OC)
        for (int64_t oc = 0; oc < OC; oc++) {
            accum sum = bias ? *at1(bias, oc) : 0;
            for (int64_t ic = 0; ic < IC; ic++) {
                sum += *at1(&input_row, ic) * *at2(weight, oc, ic);
            }
            *at1(&output_row, oc) = (real)sum;
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: loops over r, oc and ic (the reference takes 15 lines)
    // STARTER (void)row_of;  // delete this line when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Computes grad_input[ic] = sum over oc of grad[oc] * weight[oc,ic], for one row. */
static void row_backward_input(tensor_t grad, const tensor_t *weight,
                               tensor_t grad_input)
{
    // BEGIN SOLUTION
    const int64_t OC = weight->size[0], IC = weight->size[1];
    for (int64_t ic = 0; ic < IC; ic++) {
        accum sum = 0;
        for (int64_t oc = 0; oc < OC; oc++) {
            sum += *at1(&grad, oc) * *at2(weight, oc, ic);
        }
        *at1(&grad_input, ic) = (real)sum;
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
}

/* Adds grad[oc] * input[ic] to grad_weight[oc,ic], for one row. All rows use the same
 * weight, so grad_weight is a sum over the rows. */
static void row_backward_weight(tensor_t grad, tensor_t input, tensor_t *grad_weight)
{
    // BEGIN SOLUTION
    const int64_t OC = grad_weight->size[0], IC = grad_weight->size[1];
    for (int64_t oc = 0; oc < OC; oc++) {
        for (int64_t ic = 0; ic < IC; ic++) {
            *at2(grad_weight, oc, ic) += *at1(&grad, oc) * *at1(&input, ic);
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
}

/* grad_input = grad_output @ weight, grad_weight = grad_output^T @ input,
 * grad_bias = sum of the rows of grad_output */
status_t linear_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, tensor_t *grad_input,
                         tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    (void)ctx;
    if (grad_weight) set_zero(grad_weight);
    if (grad_bias) set_zero(grad_bias);
    // BEGIN SOLUTION
    const int64_t R = tensor_count(grad_output, grad_output->ndim - 1);
    const int64_t OC = weight->size[0];
    for (int64_t r = 0; r < R; r++) {
        const tensor_t grad = row_of(grad_output, r);  // (OC)
        if (grad_input) row_backward_input(grad, weight, row_of(grad_input, r));
        if (grad_weight) row_backward_weight(grad, row_of(input, r), grad_weight);
        if (!grad_bias) continue;
        for (int64_t oc = 0; oc < OC; oc++) {
            *at1(grad_bias, oc) += *at1(&grad, oc);
        }
    }
    // END SOLUTION
    // STARTER // your code: loop over the rows (the reference takes 11 lines)
    // STARTER (void)row_backward_input, (void)row_backward_weight;  // use both instead
    return STATUS_OK;
}
