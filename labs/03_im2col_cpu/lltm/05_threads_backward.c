/* 05 threads backward
 *
 *   idea    the threads divide the samples, but one thread alone computes grad_bias
 *   expect  with many samples, 03_vector_backward's speed times the number of cores
 *   limit   with few samples, packing the weight and starting threads takes the time
 *   run     make bench T=03_im2col_cpu/lltm/05
 *
 * Any number of threads gives the same result, bit for bit. Workspace: as in 03.
 */
#include "operators.h"
#include "vector.h"

matmul_forward_fn gemm_forward;  // matmul/06_threads

#if defined(REAL_F64)
typedef int64_t bits __attribute__((vector_size(VECTOR_BYTES)));
enum { TERMS = 13, MANTISSA = 52, LOWEST = -708, HIGHEST = 709 };
#else
typedef int32_t bits __attribute__((vector_size(VECTOR_BYTES)));
enum { TERMS = 7, MANTISSA = 23, LOWEST = -87, HIGHEST = 88 };  // limits of x for 2^k
#endif

static inline vec choose(bits where, vec yes, vec no)
{
    return (vec)((where & (bits)yes) | (~where & (bits)no));
}

/* exp(x) - 1, also accurate near 0. Let x = k ln 2 + r: k is an integer, |r| <= 0.35.
 * Then exp(x) - 1 = 2^k (exp(r) - 1) + (2^k - 1), and a series gives exp(r) - 1. The
 * lowest bits of x / ln 2 + magic are k. Shift k to the exponent and add the bits of 1:
 * this is 2^k. See Cody and Waite, Software Manual for the Elementary Functions, 6. */
static inline vec exp_minus_1(vec x)
{
    // BEGIN SOLUTION
    const real magic = (real)1.5 * (real)((int64_t)1 << MANTISSA);
    const real ln2 = (real)0.69314718055994531;  // rounded; the rest of ln 2 is:
    const real rest = (real)(sizeof(real) == 8 ? 2.3190468138462996e-17 : -1.904654e-9);
    x = choose(x < (real)LOWEST, vec_splat(LOWEST), x);
    x = choose(x > (real)HIGHEST, vec_splat(HIGHEST), x);
    const vec shifted = x * (real)1.4426950408889634 + magic, k = shifted - magic;
    const vec r = x - k * ln2 - k * rest;
    vec series = vec_splat(1);
    UNROLL
    for (int n = TERMS; n > 1; n--) series = 1 + r * (real)(1.0 / n) * series;
    const vec power = (vec)(((bits)shifted << MANTISSA) + (bits)vec_splat(1));
    return power * (r * series) + (power - 1);
    // END SOLUTION
    // STARTER // as in 02_vector_gates (the reference takes 12 lines)
    // STARTER return (vec){0};
}

/* For one sample, computes grad_c (H) and the gradient of the gates' sums (3*H). */
static void gradients(int64_t H, const real *grad_new_h, const real *grad_new_c,
                      const real *new_c, const real *gates, real *grad, real *grad_c)
{
    // BEGIN SOLUTION
    for (int64_t j = 0; j < H; j += LANES) {
        const int64_t count = H - j < LANES ? H - j : LANES;
        const vec i = vec_load_first(gates + j, count);
        const vec o = vec_load_first(gates + H + j, count);
        const vec g = vec_load_first(gates + 2 * H + j, count);
        const vec e = exp_minus_1(2 * vec_load_first(new_c + j, count));
        const vec squashed = e / (e + 2);  // tanh(new_c)
        const vec of_h = vec_load_first(grad_new_h + j, count);
        const vec of_c = vec_load_first(grad_new_c + j, count) +
                         of_h * o * (1 - squashed * squashed);
        const vec slope = choose(g > 0, vec_splat(1), g + 1);
        vec_store_first(grad + j, of_c * g * i * (1 - i), count);
        vec_store_first(grad + H + j, of_h * squashed * o * (1 - o), count);
        vec_store_first(grad + 2 * H + j, of_c * i * slope, count);
        if (grad_c) vec_store_first(grad_c + j, of_c, count);
    }
    // END SOLUTION
    // STARTER // as in 03_vector_backward (the reference takes 16 lines)
}

/* Computes `grad` (N, 3*H), the gradient of the gates' sums, then linear's backward. */
status_t lltm_backward(ctx_t *ctx, const tensor_t *grad_new_h,
                       const tensor_t *grad_new_c, const tensor_t *input,
                       const tensor_t *weight, const tensor_t *h, const tensor_t *new_c,
                       const tensor_t *gates, tensor_t *grad_input,
                       tensor_t *grad_weight, tensor_t *grad_bias, tensor_t *grad_h,
                       tensor_t *grad_c)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    const int64_t N = h->size[0], H = h->size[1], IC = input->size[1], D = H + IC;
    real *grad = ctx_scratch(ctx, (size_t)(N * 3 * H + 1) * sizeof(real));
    real *joined = ctx_scratch(ctx, (size_t)(N * D + 1) * sizeof(real));
    const tensor_t *given[4] = {grad_new_h, grad_new_c, new_c, gates};
    const real *rows[4] = {0};  // the inputs, contiguous
    if (N > 0) {
        for (int k = 0; k < 4; k++) rows[k] = tensor_contiguous(ctx, given[k]);
    }
    // BEGIN SOLUTION
    if (!grad || !joined || (N * H > 0 && !(rows[0] && rows[1] && rows[2] && rows[3])))
        return STATUS_NO_MEMORY;
#pragma omp parallel for num_threads(ctx->threads)  // the threads divide the samples
    for (int64_t n = 0; n < N; n++) {
        gradients(H, rows[0] + n * H, rows[1] + n * H, rows[2] + n * H,
                  rows[3] + n * 3 * H, grad + n * 3 * H,
                  grad_c ? at2(grad_c, n, 0) : NULL);
        for (int64_t d = 0; d < D; d++)
            joined[n * D + d] = d < H ? *at2(h, n, d) : *at2(input, n, d - H);
    }
    // END SOLUTION
    // STARTER // test for memory. Samples in parallel: gradients, and the row of joined
    // STARTER // (the reference takes 9 lines)
    // STARTER (void)exp_minus_1, (void)gradients, (void)rows;
    // STARTER (void)grad, (void)joined;
    // BEGIN SOLUTION
    if (grad_bias) {
        real *restrict sums = real_data(grad_bias);  // (3*H)
        for (int64_t row = 0; row < 3 * H; row++) sums[row] = 0;
        for (int64_t n = 0; n < N; n++)  // in one thread, so in a fixed order
            for (int64_t row = 0; row < 3 * H; row++)
                sums[row] += grad[n * 3 * H + row];
    }
    // END SOLUTION
    // STARTER // compute grad_bias in one thread (the reference takes 7 lines)
    // BEGIN SOLUTION
    const tensor_t left = {grad, 2, REAL_DTYPE, DEVICE_CPU, {N, 3 * H}, {3 * H, 1}};
    const tensor_t left_t = {grad, 2, REAL_DTYPE, DEVICE_CPU, {3 * H, N}, {1, 3 * H}};
    const tensor_t right = {joined, 2, REAL_DTYPE, DEVICE_CPU, {N, D}, {D, 1}};
    tensor_t of_h = *weight, of_input = *weight;  // columns for h, for input
    of_h.size[1] = H, of_input.size[1] = IC, of_input.data = at2(weight, 0, H);
    status_t status = STATUS_OK;
    if (grad_h) status = gemm_forward(ctx, &left, &of_h, grad_h);
    if (grad_input && !status) status = gemm_forward(ctx, &left, &of_input, grad_input);
    if (grad_weight && !status)
        status = gemm_forward(ctx, &left_t, &right, grad_weight);
    return status;
    // END SOLUTION
    // STARTER // as in 03_vector_backward (the reference takes 11 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
