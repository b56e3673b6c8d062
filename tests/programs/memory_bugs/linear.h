// SPDX-License-Identifier: MIT
/* linear - what is right in the bugs of linear: they look at a row when it is done */
status_t linear_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, tensor_t *output)
{
    const int64_t ROWS = tensor_count(input, input->ndim - 1);
    const int64_t O = weight->size[0], I = weight->size[1];
    if (ROWS * O == 0) return STATUS_OK;
    accum *row = (accum *)ctx_scratch(ctx, (size_t)O * sizeof(accum));
    if (!row) return STATUS_NO_MEMORY;
    for (int64_t r = 0; r < ROWS; r++) {
        const real *x = real_data(input) + tensor_offset(input, input->ndim - 1, r);
        const int64_t step = input->stride[input->ndim - 1];
        for (int64_t o = 0; o < O; o++) {
            row[o] = bias ? *at1(bias, o) : 0;
            for (int64_t i = 0; i < I; i++) row[o] += x[i * step] * *at2(weight, o, i);
        }
        look_at(row, O, bias);
        for (int64_t o = 0; o < O; o++) real_data(output)[r * O + o] = (real)row[o];
    }
    return STATUS_OK;
}
