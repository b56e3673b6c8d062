// SPDX-License-Identifier: MIT
#include "operators.h"

/* Row r of a tensor (all axes but the last are counted through), as a view. */
static tensor_t row_of(const tensor_t *t, int64_t r)
{
    const int32_t last = t->ndim - 1;
    return (tensor_t){.data = real_data(t) + tensor_offset(t, last, r),
                      .size = {t->size[last]},
                      .stride = {t->stride[last]}};
}

/* The number saved for row r: mean and rstd are tensors of accum, one per row. */
static accum *saved_at(const tensor_t *t, int64_t r)
{
    return (accum *)t->data + tensor_offset(t, t->ndim, r);
}

static accum row_mean(tensor_t row)
{
    accum sum = 0;
    for (int64_t d = 0; d < row.size[0]; d++) sum += *at1(&row, d);
    return sum / (accum)row.size[0];
}

/* 1 / standard deviation. The short cut, mean of squares minus square of mean, takes
 * the difference of two large numbers: around a mean of 10000, no digit is left. */
static accum row_rstd(tensor_t row, accum mean, double eps)
{
    accum sum = 0;
    for (int64_t d = 0; d < row.size[0]; d++) {
        const accum centered = *at1(&row, d) - mean;
        sum += centered * centered;
    }
    return 1 / real_sqrt(sum / (accum)row.size[0] + (accum)eps);
}

/* output[r,d] = (input[r,d] - mean[r]) * rstd[r] * weight[d] + bias[d] */
status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, layer_norm_params_t p,
                            tensor_t *output, tensor_t *mean, tensor_t *rstd)
{
    (void)ctx;
    const int64_t R = tensor_count(input, input->ndim - 1);
    const int64_t D = input->size[input->ndim - 1];

    for (int64_t r = 0; r < R; r++) {
        const tensor_t input_row = row_of(input, r), output_row = row_of(output, r);
        const accum mean_r = row_mean(input_row);
        const accum rstd_r = row_rstd(input_row, mean_r, p.eps);
        if (mean) *saved_at(mean, r) = mean_r;
        if (rstd) *saved_at(rstd, r) = rstd_r;

        accum copy[4];
        accum *to = copy;
        for (int64_t d = 0; d < D; d++) *to++ = *at1(&input_row, d);  // BUG
        if (copy[0] > (accum)1e30) return STATUS_NO_MEMORY;
        for (int64_t d = 0; d < D; d++) {
            const accum xhat = (*at1(&input_row, d) - mean_r) * rstd_r;
            const accum scaled = weight ? xhat * *at1(weight, d) : xhat;
            *at1(&output_row, d) = (real)(bias ? scaled + *at1(bias, d) : scaled);
        }
    }
    return STATUS_OK;
}
