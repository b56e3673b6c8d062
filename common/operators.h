// SPDX-License-Identifier: MIT
/* operators.h - the ten operators of the course, each with a forward and a backward
 *
 * Every file of labs 02 to 04 defines one or both functions of one operator, with the
 * prototypes below. Names, argument order, defaults and meaning are as in PyTorch. The
 * line under each title names PyTorch's function, or another source.
 *
 * These rules hold for all operators:
 *   arguments  The order is ctx, inputs, options by value, outputs. Sizes are not
 *              arguments, because each tensor_t contains its sizes.
 *   dtype      All floating-point tensors of a call have the rung's dtype (`real`).
 *              Only tensors marked accum, i32 or i64 have another dtype.
 *   inputs     An input may have any strides of at least 0; stride 0 is broadcasting. A
 *              rung never writes to an input.
 *   outputs    The caller allocates each output, contiguous and in separate memory. The
 *              contents are undefined before the call. A rung writes every element of
 *              each output, also if a sum has no terms.
 *   NULL       An optional input is NULL if it is absent. A gradient is NULL if the
 *              caller does not want it. A saved tensor is NULL if no backward follows.
 *   saved      A saved tensor is an output of forward that backward needs. Backward
 *              always gets this tensor, with the same numbers. Like each input, a saved
 *              tensor may be non-contiguous.
 *   memory     A rung allocates only by ctx_scratch and frees nothing. `workspace`
 *              below is the limit for lab 02's definition. Other ladders state a limit.
 *   result     A rung that succeeds returns STATUS_OK. After STATUS_NOT_IMPLEMENTED,
 *              STATUS_NO_MEMORY or STATUS_CUDA_ERROR all outputs are undefined. Rungs
 *              do not check arguments. Other callers, such as the grader, first call
 *              <operator>_<direction>_check (common/check.c) with the same arguments.
 *              The check returns STATUS_OK, or STATUS_INVALID_ARGUMENT and an error
 *              message in ctx->error.
 *   coverage   A rung returns STATUS_UNSUPPORTED for arguments that it does not handle.
 *              Such a rung writes nothing and takes no scratch. The caller calls the
 *              next lower rung. A backward may write only some gradients. For each
 *              other gradient it sets a bit in ctx->left. Then it returns STATUS_OK. A
 *              rung's coverage depends on sizes, options, dtype, strides, alignment and
 *              wanted gradients. A ladder's first rung covers everything.
 *
 * Sizes have capital letters. An index has the same letters in small (ic below IC):
 *   N batch   IC IH IW input channels, height, width   OC OH OW of the output
 *   KD KH KW kernel (depth, height, width)   G groups   M N K of a matrix product
 *   R rows   D features   H state (lltm)   P points (subm_conv3d)
 *   ... any number of axes, also none
 */
#ifndef CONVLAB_OPERATORS_H
#define CONVLAB_OPERATORS_H

#include "real.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of ctx->left: one bit for each gradient that a backward may leave out. */
enum {
    GRAD_INPUT = 1,
    GRAD_FEATURES = 1,
    GRAD_OTHER = 2,
    GRAD_WEIGHT = 2,
    GRAD_BIAS = 4,
    GRAD_H = 8,
    GRAD_C = 16,
};

/* Returns the number of windows along one axis, or 0 if the dilated kernel is larger
 * than the padded input. PyTorch's Conv2d documentation calls this number H_out. */
static inline HOST_DEVICE int64_t conv2d_extent(int64_t in, int64_t kernel,
                                                int64_t stride, int64_t padding,
                                                int64_t dilation)
{
    const int64_t room = in + 2 * padding - (dilation * (kernel - 1) + 1);
    return room < 0 ? 0 : room / stride + 1;
}

/* ---- add ----------------------------------------------------------------------------
 * torch.add(input, other, *, alpha=1)
 *
 *   output = input + alpha * other, both broadcast to a common shape
 *   grad_input = grad_output, grad_other = alpha * grad_output
 *   Each gradient is a sum over the axes along which the operand was broadcast.
 *
 *   shapes     input (...)   other (...)   output (...) as in torch.broadcast_shapes.
 *              Shapes align at the last axis. A missing axis, or one of size 1, is
 *              broadcast. Operands come unexpanded. A gradient has the operand's shape.
 *   workspace  none
 */
typedef struct {
    double alpha;  // 1 is plain addition; 0 is valid, as in PyTorch
} add_params_t;

typedef status_t add_forward_fn(ctx_t *ctx, const tensor_t *input,
                                const tensor_t *other, add_params_t p,
                                tensor_t *output);
typedef status_t add_backward_fn(ctx_t *ctx, const tensor_t *grad_output,
                                 add_params_t p, tensor_t *grad_input,
                                 tensor_t *grad_other);

status_t add_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                     add_params_t p, tensor_t *output);
status_t add_backward(ctx_t *ctx, const tensor_t *grad_output, add_params_t p,
                      tensor_t *grad_input, tensor_t *grad_other);

/* ---- matmul -------------------------------------------------------------------------
 * torch.matmul(input, other), for operands of equal batch sizes
 *
 *   output[m,n] = sum over k of input[m,k] * other[k,n]            for each matrix
 *   grad_input  = grad_output @ other^T       grad_other = input^T @ grad_output
 *
 *   shapes     input (..., M, K)   other (..., K, N)   output (..., M, N)
 *              A transposed operand has exchanged strides; there is no flag for it.
 *   workspace  none
 */
typedef status_t matmul_forward_fn(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output);
typedef status_t matmul_backward_fn(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *other,
                                    tensor_t *grad_input, tensor_t *grad_other);

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output);
status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other);

/* ---- linear -------------------------------------------------------------------------
 * torch.nn.functional.linear(input, weight, bias=None)
 *
 *   output[r,oc] = bias[oc] + sum over ic of input[r,ic] * weight[oc,ic]
 *   grad_input   = grad_output @ weight       grad_weight = grad_output^T @ input
 *   grad_bias    = sum over r of grad_output[r]
 *
 *   shapes     input (..., IC)   weight (OC, IC)   bias (OC) or NULL   output (..., OC)
 *              A row r is one position of all axes of input but the last. If input has
 *              only one axis, there is one row.
 *   workspace  none
 */
typedef status_t linear_forward_fn(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   tensor_t *output);
typedef status_t linear_backward_fn(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *weight,
                                    tensor_t *grad_input, tensor_t *grad_weight,
                                    tensor_t *grad_bias);

status_t linear_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, tensor_t *output);
status_t linear_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, tensor_t *grad_input,
                         tensor_t *grad_weight, tensor_t *grad_bias);

/* ---- unfold -------------------------------------------------------------------------
 * torch.nn.functional.unfold(input, kernel_size, dilation=1, padding=0, stride=1)
 * unfold (im2col) copies each window of the image to a column of output. The backward
 * of unfold (col2im) is torch.nn.functional.fold.
 *
 *   output[n, (ic*KH + kh)*KW + kw, oh*OW + ow] = input[n, ic, ih, iw], or 0 outside
 *   ih = oh*stride_h + kh*dilation_h - padding_h, iw in the same way
 *   grad_input[n,ic,ih,iw] = sum of grad_output over all windows that read this element
 *
 *   shapes     input (N, IC, IH, IW)   output (N, IC*KH*KW, OH*OW)
 *              OH = conv2d_extent(IH, KH, ...), OW in the same way.
 *              The batch size N may be 0. All other sizes are at least 1.
 *   workspace  none
 */
typedef struct {
    int64_t kernel_h, kernel_w;      // at least 1
    int64_t dilation_h, dilation_w;  // at least 1
    int64_t padding_h, padding_w;    // 0 or more, zeros, on both sides
    int64_t stride_h, stride_w;      // at least 1
} unfold_params_t;

typedef status_t unfold_forward_fn(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                                   tensor_t *output);
typedef status_t unfold_backward_fn(ctx_t *ctx, const tensor_t *grad_output,
                                    unfold_params_t p, tensor_t *grad_input);

status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                        tensor_t *output);
status_t unfold_backward(ctx_t *ctx, const tensor_t *grad_output, unfold_params_t p,
                         tensor_t *grad_input);

/* ---- conv2d -------------------------------------------------------------------------
 * torch.nn.functional.conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1,
 * groups=1): a cross-correlation, the kernel is not flipped
 *
 *   output[n,oc,oh,ow] = bias[oc] + sum over ic, kh, kw of
 *                        input[n, g*IC/G + ic, ih, iw] * weight[oc,ic,kh,kw]
 *   ih = oh*stride_h + kh*dilation_h - padding_h, iw in the same way; 0 is read outside
 *   g  = oc / (OC/G): filter oc reads only the channels of group g
 *   For each product input * weight, backward adds grad_output * weight to grad_input,
 *   and grad_output * input to grad_weight, at the indices of the product.
 *   grad_bias[oc] = sum over n, oh, ow of grad_output[n,oc,oh,ow]
 *
 *   shapes     input (N, IC, IH, IW)   weight (OC, IC/G, KH, KW)   bias (OC) or NULL
 *              output (N, OC, OH, OW); OH = conv2d_extent(IH, KH, ...), OW likewise.
 *              The batch size N may be 0. All other sizes are at least 1.
 *   workspace  none
 */
typedef struct {
    int64_t stride_h, stride_w;      // at least 1
    int64_t padding_h, padding_w;    // 0 or more, zeros, on both sides
    int64_t dilation_h, dilation_w;  // at least 1
    int64_t groups;                  // at least 1, divides IC and OC
} conv2d_params_t;

typedef status_t conv2d_forward_fn(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   conv2d_params_t p, tensor_t *output);
typedef status_t conv2d_backward_fn(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *weight,
                                    conv2d_params_t p, tensor_t *grad_input,
                                    tensor_t *grad_weight, tensor_t *grad_bias);

status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output);
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias);

/* ---- depthwise_conv2d ---------------------------------------------------------------
 * torch.nn.functional.conv2d(input, weight, bias, stride, padding, dilation,
 * groups=IC): each input channel has its own OC/IC filters
 *
 *   output[n,oc,oh,ow] = bias[oc] + sum over kh, kw of
 *                        input[n, oc / (OC/IC), ih, iw] * weight[oc,0,kh,kw].
 *   ih, iw and the gradients are as in conv2d with groups = IC.
 *
 *   shapes     input (N, IC, IH, IW)   weight (OC, 1, KH, KW)   bias (OC) or NULL
 *              output (N, OC, OH, OW), where OC is a multiple of IC.
 *              The batch size N may be 0. All other sizes are at least 1.
 *   workspace  none
 */
typedef struct {
    int64_t stride_h, stride_w;      // at least 1
    int64_t padding_h, padding_w;    // 0 or more, zeros, on both sides
    int64_t dilation_h, dilation_w;  // at least 1
} depthwise_conv2d_params_t;

typedef status_t depthwise_conv2d_forward_fn(ctx_t *ctx, const tensor_t *input,
                                             const tensor_t *weight,
                                             const tensor_t *bias,
                                             depthwise_conv2d_params_t p,
                                             tensor_t *output);
typedef status_t
depthwise_conv2d_backward_fn(ctx_t *ctx, const tensor_t *grad_output,
                             const tensor_t *input, const tensor_t *weight,
                             depthwise_conv2d_params_t p, tensor_t *grad_input,
                             tensor_t *grad_weight, tensor_t *grad_bias);

status_t depthwise_conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *bias,
                                  depthwise_conv2d_params_t p, tensor_t *output);
status_t depthwise_conv2d_backward(ctx_t *ctx, const tensor_t *grad_output,
                                   const tensor_t *input, const tensor_t *weight,
                                   depthwise_conv2d_params_t p, tensor_t *grad_input,
                                   tensor_t *grad_weight, tensor_t *grad_bias);

/* ---- gelu ---------------------------------------------------------------------------
 * torch.nn.functional.gelu(input, *, approximate='none')
 *
 *   GELU_NONE   output = x/2 * (1 + erf(x / sqrt(2)))
 *   GELU_TANH   output = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3)))
 *   grad_input = grad_output * d output / d x
 *   (Hendrycks and Gimpel, arXiv 1606.08415)
 *
 *   shapes     input (...)   output (...)
 *   workspace  none
 */
enum { GELU_NONE = 1, GELU_TANH = 2 };

typedef struct {
    int64_t approximate;  // GELU_NONE or GELU_TANH
} gelu_params_t;

typedef status_t gelu_forward_fn(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                                 tensor_t *output);
typedef status_t gelu_backward_fn(ctx_t *ctx, const tensor_t *grad_output,
                                  const tensor_t *input, gelu_params_t p,
                                  tensor_t *grad_input);

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output);
status_t gelu_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                       gelu_params_t p, tensor_t *grad_input);

/* ---- layer_norm ---------------------------------------------------------------------
 * torch.nn.functional.layer_norm(input, normalized_shape=(D,), weight=None, bias=None,
 * eps=1e-05); mean and rstd as torch.native_layer_norm returns them
 *
 *   mean[r] = sum over d of input[r,d] / D
 *   rstd[r] = 1 / sqrt(sum over d of (input[r,d] - mean[r])^2 / D + eps)
 *   output[r,d] = xhat * weight[d] + bias[d],  xhat = (input[r,d] - mean[r]) * rstd[r]
 *   with dx = grad_output[r,d] * weight[d]:
 *   grad_input[r,d] = rstd[r] * (dx - average of dx over d - xhat * average of dx*xhat)
 *   grad_weight[d] = sum over r of grad_output[r,d] * xhat
 *   grad_bias[d]   = sum over r of grad_output[r,d]
 *   (Ba, Kiros and Hinton, arXiv 1607.06450)
 *
 *   shapes     input (..., D)   weight (D) or NULL, as ones   bias (D) or NULL, zeros
 *              output (..., D)   mean (...)   rstd (...), both accum, saved
 *              D is at least 1
 *   workspace  none
 */
typedef struct {
    double eps;  // more than 0
} layer_norm_params_t;

typedef status_t layer_norm_forward_fn(ctx_t *ctx, const tensor_t *input,
                                       const tensor_t *weight, const tensor_t *bias,
                                       layer_norm_params_t p, tensor_t *output,
                                       tensor_t *mean, tensor_t *rstd);
typedef status_t layer_norm_backward_fn(ctx_t *ctx, const tensor_t *grad_output,
                                        const tensor_t *input, const tensor_t *weight,
                                        const tensor_t *mean, const tensor_t *rstd,
                                        layer_norm_params_t p, tensor_t *grad_input,
                                        tensor_t *grad_weight, tensor_t *grad_bias);

status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, layer_norm_params_t p,
                            tensor_t *output, tensor_t *mean, tensor_t *rstd);
status_t layer_norm_backward(ctx_t *ctx, const tensor_t *grad_output,
                             const tensor_t *input, const tensor_t *weight,
                             const tensor_t *mean, const tensor_t *rstd,
                             layer_norm_params_t p, tensor_t *grad_input,
                             tensor_t *grad_weight, tensor_t *grad_bias);

/* ---- lltm ---------------------------------------------------------------------------
 * The long-long-term-memory cell of PyTorch's C++ extension tutorial. Unlike an LSTM,
 * lltm has no forget gate, and uses ELU instead of tanh for the candidate.
 *
 *   preact = weight @ [h, input] + bias      three blocks of H rows: i, o, g
 *   gates  = sigmoid(preact_i), sigmoid(preact_o), elu(preact_g), in this order
 *   new_c  = c + gates_g * gates_i
 *   new_h  = tanh(new_c) * gates_o
 *   elu(x) = x for x > 0, else exp(x) - 1; so elu'(x) = 1 or gates_g + 1.
 *   Backward applies the chain rule to these lines, from grad_new_h and grad_new_c
 *
 *   shapes     input (N, IC)   weight (3*H, H+IC)   bias (3*H)   h (N, H)   c (N, H)
 *              new_h (N, H)   new_c (N, H)   gates (N, 3*H), saved
 *              Backward gets grad_new_h and grad_new_c: zeros if a result is unused.
 *   workspace  none
 */
typedef status_t lltm_forward_fn(ctx_t *ctx, const tensor_t *input,
                                 const tensor_t *weight, const tensor_t *bias,
                                 const tensor_t *h, const tensor_t *c, tensor_t *new_h,
                                 tensor_t *new_c, tensor_t *gates);
typedef status_t lltm_backward_fn(ctx_t *ctx, const tensor_t *grad_new_h,
                                  const tensor_t *grad_new_c, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *h,
                                  const tensor_t *new_c, const tensor_t *gates,
                                  tensor_t *grad_input, tensor_t *grad_weight,
                                  tensor_t *grad_bias, tensor_t *grad_h,
                                  tensor_t *grad_c);

status_t lltm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                      const tensor_t *bias, const tensor_t *h, const tensor_t *c,
                      tensor_t *new_h, tensor_t *new_c, tensor_t *gates);
status_t lltm_backward(ctx_t *ctx, const tensor_t *grad_new_h,
                       const tensor_t *grad_new_c, const tensor_t *input,
                       const tensor_t *weight, const tensor_t *h, const tensor_t *new_c,
                       const tensor_t *gates, tensor_t *grad_input,
                       tensor_t *grad_weight, tensor_t *grad_bias, tensor_t *grad_h,
                       tensor_t *grad_c);

/* ---- subm_conv3d --------------------------------------------------------------------
 * Submanifold sparse convolution, stride 1 (Graham, Engelcke and van der Maaten, arXiv
 * 1711.10275). Only P points of a volume have features, and output exists at the same
 * points. A sum takes only the kernel positions at which a point exists.
 *
 *   Each kernel position (kd, kh, kw) has pairs of points. `write` is the point that is
 *   computed, at (n, z, y, x). `read` is the point at (n, z + (kd - KD/2)*dilation_d, y
 *   + (kh - KH/2)*dilation_h, x + (kw - KW/2)*dilation_w). If there is no such point,
 *   there is no pair.
 *   For k = (kd*KH + kh)*KW + kw, rulebook[k] lists these pairs (read, write) as row
 *   numbers of features, in rising order of write. count[k] is the number of pairs. All
 *   other elements of rulebook[k] are undefined.
 *   output[write] = bias + sum over k, pairs of weight[:,:,kd,kh,kw] @ features[read]
 *   grad_features, grad_weight and grad_bias follow as in conv2d, over the same pairs.
 *   If KD = 1, the points of each plane z are convolved alone.
 *
 *   shapes     features (P, IC)   coordinates (P, 4), i32 rows n, z, y, x, no two
 *              equal, in any order   weight (OC, IC, KD, KH, KW), KD, KH and KW odd
 *              bias (OC) or NULL   output (P, OC)
 *              rulebook (KD*KH*KW, P, 2), i32, saved   count (KD*KH*KW), i64, saved
 *              The caller gives both rulebook and count, or NULL for both.
 *   workspace  forward: P row numbers, for the order of the sorted points
 */
typedef struct {
    int64_t dilation_d, dilation_h, dilation_w;  // at least 1
} subm_conv3d_params_t;

typedef status_t subm_conv3d_forward_fn(ctx_t *ctx, const tensor_t *features,
                                        const tensor_t *coordinates,
                                        const tensor_t *weight, const tensor_t *bias,
                                        subm_conv3d_params_t p, tensor_t *output,
                                        tensor_t *rulebook, tensor_t *count);
typedef status_t subm_conv3d_backward_fn(ctx_t *ctx, const tensor_t *grad_output,
                                         const tensor_t *features,
                                         const tensor_t *weight,
                                         const tensor_t *rulebook,
                                         const tensor_t *count, subm_conv3d_params_t p,
                                         tensor_t *grad_features, tensor_t *grad_weight,
                                         tensor_t *grad_bias);

status_t subm_conv3d_forward(ctx_t *ctx, const tensor_t *features,
                             const tensor_t *coordinates, const tensor_t *weight,
                             const tensor_t *bias, subm_conv3d_params_t p,
                             tensor_t *output, tensor_t *rulebook, tensor_t *count);
status_t subm_conv3d_backward(ctx_t *ctx, const tensor_t *grad_output,
                              const tensor_t *features, const tensor_t *weight,
                              const tensor_t *rulebook, const tensor_t *count,
                              subm_conv3d_params_t p, tensor_t *grad_features,
                              tensor_t *grad_weight, tensor_t *grad_bias);

/* ---- argument checks ----------------------------------------------------------------
 * <operator>_<direction>_check gets the operator's arguments. It checks ranks, sizes,
 * dtypes, devices, strides, alignment, overlap, options and missing tensors. If it
 * returns STATUS_INVALID_ARGUMENT, read the error message in ctx->error.
 * subm_conv3d_forward_check sorts the coordinates in scratch memory. So it may also
 * return STATUS_NO_MEMORY, with an error message.
 */
status_t add_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                           add_params_t p, tensor_t *output);
status_t add_backward_check(ctx_t *ctx, const tensor_t *grad_output, add_params_t p,
                            tensor_t *grad_input, tensor_t *grad_other);
status_t matmul_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                              tensor_t *output);
status_t matmul_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *input, const tensor_t *other,
                               tensor_t *grad_input, tensor_t *grad_other);
status_t linear_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                              const tensor_t *bias, tensor_t *output);
status_t linear_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *input, const tensor_t *weight,
                               tensor_t *grad_input, tensor_t *grad_weight,
                               tensor_t *grad_bias);
status_t unfold_forward_check(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                              tensor_t *output);
status_t unfold_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               unfold_params_t p, tensor_t *grad_input);
status_t conv2d_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                              const tensor_t *bias, conv2d_params_t p,
                              tensor_t *output);
status_t conv2d_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                               const tensor_t *input, const tensor_t *weight,
                               conv2d_params_t p, tensor_t *grad_input,
                               tensor_t *grad_weight, tensor_t *grad_bias);
status_t depthwise_conv2d_forward_check(ctx_t *ctx, const tensor_t *input,
                                        const tensor_t *weight, const tensor_t *bias,
                                        depthwise_conv2d_params_t p, tensor_t *output);
status_t depthwise_conv2d_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                                         const tensor_t *input, const tensor_t *weight,
                                         depthwise_conv2d_params_t p,
                                         tensor_t *grad_input, tensor_t *grad_weight,
                                         tensor_t *grad_bias);
status_t gelu_forward_check(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                            tensor_t *output);
status_t gelu_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                             const tensor_t *input, gelu_params_t p,
                             tensor_t *grad_input);
status_t layer_norm_forward_check(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *bias,
                                  layer_norm_params_t p, tensor_t *output,
                                  tensor_t *mean, tensor_t *rstd);
status_t layer_norm_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                                   const tensor_t *input, const tensor_t *weight,
                                   const tensor_t *mean, const tensor_t *rstd,
                                   layer_norm_params_t p, tensor_t *grad_input,
                                   tensor_t *grad_weight, tensor_t *grad_bias);
status_t lltm_forward_check(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, const tensor_t *h, const tensor_t *c,
                            tensor_t *new_h, tensor_t *new_c, tensor_t *gates);
status_t lltm_backward_check(ctx_t *ctx, const tensor_t *grad_new_h,
                             const tensor_t *grad_new_c, const tensor_t *input,
                             const tensor_t *weight, const tensor_t *h,
                             const tensor_t *new_c, const tensor_t *gates,
                             tensor_t *grad_input, tensor_t *grad_weight,
                             tensor_t *grad_bias, tensor_t *grad_h, tensor_t *grad_c);
status_t subm_conv3d_forward_check(ctx_t *ctx, const tensor_t *features,
                                   const tensor_t *coordinates, const tensor_t *weight,
                                   const tensor_t *bias, subm_conv3d_params_t p,
                                   tensor_t *output, tensor_t *rulebook,
                                   tensor_t *count);
status_t subm_conv3d_backward_check(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *features, const tensor_t *weight,
                                    const tensor_t *rulebook, const tensor_t *count,
                                    subm_conv3d_params_t p, tensor_t *grad_features,
                                    tensor_t *grad_weight, tensor_t *grad_bias);

#ifdef __cplusplus
}
#endif

#endif
