/* 03 gather backward
 *
 *   idea    at each kernel position, both gradients are products of gathered rows
 *   expect  4x the speed of a loop over all pairs, as in lab 02
 *   limit   rows are copied before and after each product; small products are slow
 *   run     make bench T=03_im2col_cpu/subm_conv3d/03
 *
 * Backward for all shapes and strides. Workspace: as for 2*KD*KH*KW calls of
 * matmul/05_packed, P rows of features and of output, weights of one kernel position.
 */
#include "operators.h"

matmul_forward_fn product_forward;  // matmul/05_packed

/* Returns a contiguous matrix (rows, columns) whose first element is data[0]. */
static tensor_t matrix_of(real *data, int64_t rows, int64_t columns)
{
    return (tensor_t){.data = data,
                      .ndim = 2,
                      .dtype = REAL_DTYPE,
                      .size = {rows, columns},
                      .stride = {columns, 1}};
}

/* Copies row side[i * step] of `from` to row i of `to`, for all pairs i. */
static void gather(const tensor_t *from, const int32_t *side, int64_t step, tensor_t to)
{
    // BEGIN SOLUTION
    for (int64_t i = 0; i < to.size[0]; i++) {
        for (int64_t d = 0; d < to.size[1]; d++)
            *at2(&to, i, d) = *at2(from, side[i * step], d);
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 4 lines)
}

static void set_zero(tensor_t *output)
{
    if (!output) return;  // the caller does not want this gradient
    for (int64_t i = 0; i < tensor_numel(output); i++) real_data(output)[i] = 0;
}

/* Adds all rows of grad (P, OC) to sums (OC). */
static void add_rows(const tensor_t *grad, tensor_t *sums)
{
    // BEGIN SOLUTION
    for (int64_t row = 0; row < grad->size[0]; row++) {
        for (int64_t oc = 0; oc < grad->size[1]; oc++)
            *at1(sums, oc) += *at2(grad, row, oc);
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 4 lines)
}

/* For the pairs (read, write) of kernel position k:
 *     grad_features[read] += grad_output[write] @ weight[:,:,k]
 *     grad_weight[:,:,k]   = grad_output[write]^T @ features[read] */
status_t subm_conv3d_backward(ctx_t *ctx, const tensor_t *grad_output,
                              const tensor_t *features, const tensor_t *weight,
                              const tensor_t *rulebook, const tensor_t *count,
                              subm_conv3d_params_t p, tensor_t *grad_features,
                              tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    (void)p;  // the rulebook contains the dilation
    const int64_t P = features->size[0], OC = weight->size[0], IC = weight->size[1];
    const int64_t KH = weight->size[3], KW = weight->size[4];
    const int64_t step = rulebook->stride[1];
    set_zero(grad_features), set_zero(grad_weight), set_zero(grad_bias);
    if (grad_bias) add_rows(grad_output, grad_bias);
    if (P * OC * IC == 0) return STATUS_OK;
    // memory for grad, rows, and a product (OC, IC)
    real *room = ctx_scratch(ctx, (size_t)(P * (OC + IC) + OC * IC) * sizeof(real));
    if (!room) return STATUS_NO_MEMORY;

    status_t status = STATUS_OK;
    for (int64_t k = 0; k < count->size[0] && status == STATUS_OK; k++) {
        const int64_t PAIRS = ((const int64_t *)count->data)[k * count->stride[0]];
        const int32_t *read = (const int32_t *)rulebook->data + k * rulebook->stride[0];
        const int64_t kd = k / KW / KH, kh = k / KW % KH, kw = k % KW;
        const tensor_t grad = matrix_of(room, PAIRS, OC);     // (PAIRS, OC)
        tensor_t rows = matrix_of(room + P * OC, PAIRS, IC);  // (PAIRS, IC)
        gather(grad_output, read + rulebook->stride[2], step, grad);
        if (grad_features) {
            // BEGIN SOLUTION
            tensor_t filters = *weight;  // (OC, IC): weight[:,:,k]
            filters.ndim = 2, filters.data = at5(weight, 0, 0, kd, kh, kw);
            status = product_forward(ctx, &grad, &filters, &rows);
            if (status != STATUS_OK) return status;
            for (int64_t i = 0; i < PAIRS; i++) {
                real *restrict row = real_data(grad_features) + read[i * step] * IC;
                for (int64_t ic = 0; ic < IC; ic++) row[ic] += *at2(&rows, i, ic);
            }
            // END SOLUTION
            // STARTER // the filters of the position, product, scatter
            // STARTER // (the reference takes 8 lines)
            // STARTER (void)kd, (void)kh, (void)kw, (void)rows;
        }
        if (grad_weight && status == STATUS_OK) {
            // BEGIN SOLUTION
            gather(features, read, step, rows);
            tensor_t columns = grad;  // (OC, PAIRS)
            columns.size[0] = OC, columns.size[1] = PAIRS;
            columns.stride[0] = 1, columns.stride[1] = OC;
            tensor_t sums = matrix_of(room + P * (OC + IC), OC, IC);  // (OC, IC)
            status = product_forward(ctx, &columns, &rows, &sums);
            if (status != STATUS_OK) return status;
            for (int64_t oc = 0; oc < OC; oc++) {
                for (int64_t ic = 0; ic < IC; ic++)
                    *at5(grad_weight, oc, ic, kd, kh, kw) = *at2(&sums, oc, ic);
            }
            // END SOLUTION
            // STARTER // gather; grad^T @ rows; add to grad_weight
            // STARTER // (the reference takes 11 lines)
        }
    }
    return status;
}
