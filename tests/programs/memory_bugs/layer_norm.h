// SPDX-License-Identifier: MIT
/* layer_norm - what is right in the bugs of layer_norm: they copy a row first, which
 * has no effect on the result */
status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, layer_norm_params_t p,
                            tensor_t *output, tensor_t *mean, tensor_t *rstd)
{
    (void)ctx;
    const int32_t last = input->ndim - 1;
    const int64_t D = input->size[last], step = input->stride[last];
    for (int64_t r = 0; r < tensor_count(input, last); r++) {
        const real *x = real_data(input) + tensor_offset(input, last, r);
        if (first_of_copy(x, D, step) > (accum)1e30) return STATUS_NO_MEMORY;
        accum sum = 0, squares = 0;
        for (int64_t d = 0; d < D; d++) sum += x[d * step];
        const accum mean_r = sum / (accum)D;
        for (int64_t d = 0; d < D; d++) {
            squares += (x[d * step] - mean_r) * (x[d * step] - mean_r);
        }
        const accum rstd_r = 1 / real_sqrt(squares / (accum)D + (accum)p.eps);
        if (mean) ((accum *)mean->data)[tensor_offset(mean, mean->ndim, r)] = mean_r;
        if (rstd) ((accum *)rstd->data)[tensor_offset(rstd, rstd->ndim, r)] = rstd_r;
        for (int64_t d = 0; d < D; d++) {
            accum y = (x[d * step] - mean_r) * rstd_r;
            if (weight) y *= *at1(weight, d);
            real_data(output)[r * D + d] = (real)(bias ? y + *at1(bias, d) : y);
        }
    }
    return STATUS_OK;
}
