/* 00 two pass
 *
 *   idea    two passes: first the mean of a row, then the squared distances from it
 *   expect  no factor: this ladder has only one file
 *   limit   each row is read three times, and each addition waits for the previous one
 *   run     make grade T=02_naive_c/layer_norm/00
 */
#include "operators.h"

/* Returns a view of row r of t. Rows are numbered over all axes but the last. */
static tensor_t row_of(const tensor_t *t, int64_t r)
{
    const int32_t last = t->ndim - 1;
    return (tensor_t){
        .data = real_data(t) + tensor_offset(t, last, r),
        .ndim = 1,
        .dtype = t->dtype,
        .device = t->device,
        .size = {t->size[last]},
        .stride = {t->stride[last]},
    };
}

/* Returns the address of t[r]. t is mean or rstd: a tensor of accum, one per row. */
static accum *saved_at(const tensor_t *t, int64_t r)
{
    return (accum *)t->data + tensor_offset(t, t->ndim, r);
}

static accum row_mean(tensor_t row)
{
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t d = 0; d < row.size[0]; d++) sum += *at1(&row, d);
    return sum / (accum)row.size[0];
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
    // STARTER return 0;
}

/* Returns 1 / sqrt(variance + eps) of a row. The variance is not (mean of squares) -
 * (square of mean): with a mean of 10000, this difference has no correct digit. */
static accum row_rstd(tensor_t row, accum mean, double eps)
{
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t d = 0; d < row.size[0]; d++) {
        const accum centered = *at1(&row, d) - mean;
        sum += centered * centered;
    }
    return 1 / real_sqrt(sum / (accum)row.size[0] + (accum)eps);
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
    // STARTER return 0;
}

/* Computes output[r,d] = (input[r,d] - mean[r]) * rstd[r] * weight[d] + bias[d]. */
status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, layer_norm_params_t p,
                            tensor_t *output, tensor_t *mean, tensor_t *rstd)
{
    // BEGIN SOLUTION
    (void)ctx;
    const int64_t R = tensor_count(input, input->ndim - 1);
    const int64_t D = input->size[input->ndim - 1];
    for (int64_t r = 0; r < R; r++) {
        const tensor_t input_row = row_of(input, r), output_row = row_of(output, r);
        const accum mean_r = row_mean(input_row);
        const accum rstd_r = row_rstd(input_row, mean_r, p.eps);
        if (mean) *saved_at(mean, r) = mean_r;
        if (rstd) *saved_at(rstd, r) = rstd_r;

        for (int64_t d = 0; d < D; d++) {
            const accum xhat = (*at1(&input_row, d) - mean_r) * rstd_r;
            const accum scaled = weight ? xhat * *at1(weight, d) : xhat;
            *at1(&output_row, d) = (real)(bias ? scaled + *at1(bias, d) : scaled);
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: loop over the rows (the reference takes 16 lines)
    // STARTER (void)row_of, (void)saved_at, (void)row_mean, (void)row_rstd;  // call
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Computes grad_input = rstd * (dx - average of dx - xhat * (average of dx * xhat)) for
 * one row, with dx = grad_output * weight and xhat = (input - mean) * rstd. The
 * averages are over the row: each element of the row changes mean and rstd. */
static void row_backward(tensor_t grad_output, tensor_t input, const tensor_t *weight,
                         accum mean, accum rstd, tensor_t grad_input)
{
    // BEGIN SOLUTION
    const int64_t D = input.size[0];
    accum sum = 0, sum_xhat = 0;  // sums of dx and of dx * xhat
    for (int64_t d = 0; d < D; d++) {
        const accum dx = *at1(&grad_output, d) * (weight ? *at1(weight, d) : 1);
        sum += dx;
        sum_xhat += dx * (*at1(&input, d) - mean) * rstd;
    }
    for (int64_t d = 0; d < D; d++) {
        const accum dx = *at1(&grad_output, d) * (weight ? *at1(weight, d) : 1);
        const accum xhat = (*at1(&input, d) - mean) * rstd;
        *at1(&grad_input, d) =
            (real)(rstd * (dx - sum / (accum)D - xhat * (sum_xhat / (accum)D)));
    }
    // END SOLUTION
    // STARTER // your code: two sums, then the row (the reference takes 13 lines)
}

static void set_zero(tensor_t *output)
{
    if (!output) return;  // the caller does not want this gradient
    for (int64_t i = 0; i < tensor_numel(output); i++) real_data(output)[i] = 0;
}

/* Computes grad_input row by row. grad_weight and grad_bias are sums over all rows. */
status_t layer_norm_backward(ctx_t *ctx, const tensor_t *grad_output,
                             const tensor_t *input, const tensor_t *weight,
                             const tensor_t *mean, const tensor_t *rstd,
                             layer_norm_params_t p, tensor_t *grad_input,
                             tensor_t *grad_weight, tensor_t *grad_bias)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    (void)ctx, (void)p;  // rstd already contains eps
    const int64_t R = tensor_count(input, input->ndim - 1);
    const int64_t D = input->size[input->ndim - 1];
    set_zero(grad_weight), set_zero(grad_bias);
    // BEGIN SOLUTION
    for (int64_t r = 0; r < R; r++) {
        const tensor_t grad = row_of(grad_output, r), input_row = row_of(input, r);
        const accum mean_r = *saved_at(mean, r), rstd_r = *saved_at(rstd, r);
        if (grad_input) {
            row_backward(grad, input_row, weight, mean_r, rstd_r,
                         row_of(grad_input, r));
        }
        for (int64_t d = 0; d < D; d++) {
            const accum xhat = (*at1(&input_row, d) - mean_r) * rstd_r;
            if (grad_weight) *at1(grad_weight, d) += *at1(&grad, d) * xhat;
            if (grad_bias) *at1(grad_bias, d) += *at1(&grad, d);
        }
    }
    // END SOLUTION
    // STARTER // your code: loop over the rows (the reference takes 13 lines)
    // STARTER (void)R, (void)D, (void)row_backward;  // delete when you use them
    return STATUS_OK;
}
