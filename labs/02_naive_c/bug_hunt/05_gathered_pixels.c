/* 05 gathered pixels
 *
 *   does     conv_transpose2d forward: each output pixel gathers its products
 *   seen     in versions of col2im that gather, as the loops of Caffe and ATen do
 *   passes   the layers of most networks, with any stride and padding
 *   run      make grade T=02_naive_c/bug_hunt/05
 */
#include "exhibits.h"

/* Returns the sum over all input pixels of channel ic that reach the output pixel
 * (n, oc, oh, ow), with the four indices in `at`. */
static accum gathered(const tensor_t *input, const tensor_t *weight,
                      conv_transpose2d_params_t p, const int64_t at[4], int64_t ic)
{
    const int64_t KH = weight->size[2], KW = weight->size[3];
    accum sum = 0;
    for (int64_t ih = 0; ih < input->size[2]; ih++) {
        int64_t kh = at[2] + p.padding_h - ih * p.stride_h;
        if (kh < 0 || kh % p.dilation_h != 0) continue;
        // BEGIN SOLUTION
        kh /= p.dilation_h;
        // END SOLUTION
        // STARTER // kh counts pixels, and is divided below
        for (int64_t iw = 0; iw < input->size[3]; iw++) {
            int64_t kw = at[3] + p.padding_w - iw * p.stride_w;
            if (kw < 0 || kw % p.dilation_w != 0) continue;
            // BEGIN SOLUTION
            kw /= p.dilation_w;
            // END SOLUTION
            // STARTER kh /= p.dilation_h, kw /= p.dilation_w;
            if (kh >= KH || kw >= KW) continue;
            sum += *at4(input, at[0], ic, ih, iw) * *at4(weight, ic, at[1], kh, kw);
        }
    }
    return sum;
}

/* output[n,oc,oh,ow] = bias[oc] + sum over ic, ih, iw of input * weight */
status_t conv_transpose2d_forward(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *bias,
                                  conv_transpose2d_params_t p, tensor_t *output)
{
    (void)ctx;
    const int64_t OC = output->size[1], OH = output->size[2], OW = output->size[3];
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const int64_t plane = i / (OH * OW);
        const int64_t at[4] = {plane / OC, plane % OC, i / OW % OH, i % OW};
        accum sum = bias ? *at1(bias, at[1]) : 0;
        for (int64_t ic = 0; ic < input->size[1]; ic++) {
            sum += gathered(input, weight, p, at, ic);
        }
        *at4(output, at[0], at[1], at[2], at[3]) = (real)sum;
    }
    return STATUS_OK;
}
