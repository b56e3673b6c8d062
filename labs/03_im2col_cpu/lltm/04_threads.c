/* 04 threads
 *
 *   idea    the threads divide the samples, both for the product and for the gates
 *   expect  with many samples, the speed of 02_vector_gates times the number of cores
 *   limit   with few samples, packing the weight and starting threads takes the time
 *   run     make bench T=03_im2col_cpu/lltm/04
 *
 * Forward. Any number of threads gives equal results, bit for bit. Workspace: as in 02.
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
    // STARTER // your code (the reference takes 12 lines)
    // STARTER return (vec){0};
}

/* Joins h and input to one matrix (N, H+IC). If there is no memory, data is NULL. */
static tensor_t joined(ctx_t *ctx, const tensor_t *h, const tensor_t *input)
{
    // BEGIN SOLUTION
    const int64_t N = h->size[0], H = h->size[1], IC = input->size[1], D = H + IC;
    real *to = ctx_scratch(ctx, (size_t)(N * D) * sizeof(real));
    const tensor_t rows = {to, 2, REAL_DTYPE, DEVICE_CPU, {N, D}, {D, 1}};
    if (!to) return rows;
    for (int64_t n = 0; n < N; n++) {
        for (int64_t j = 0; j < H; j++) *to++ = *at2(h, n, j);
        for (int64_t ic = 0; ic < IC; ic++) *to++ = *at2(input, n, ic);
    }
    return rows;
    // END SOLUTION
    // STARTER // your code (the reference takes 9 lines)
    // STARTER return (tensor_t){0};
}

/* Computes new_h and new_c of one sample. The gates replace the sums (3*H). */
static void new_state(int64_t H, real *restrict sums, const real *bias, const real *c,
                      real *restrict new_h, real *restrict new_c)
{
    // BEGIN SOLUTION
    for (int64_t j = 0; j < H; j += LANES) {
        const int64_t count = H - j < LANES ? H - j : LANES;
        vec x[3];  // arguments of the gates i, o, g
        for (int64_t gate = 0; gate < 3; gate++) {
            x[gate] = vec_load_first(sums + gate * H + j, count) +
                      vec_load_first(bias + gate * H + j, count);
        }
        const vec i = 1 / (2 + exp_minus_1(-x[0]));  // sigmoid
        const vec o = 1 / (2 + exp_minus_1(-x[1]));
        const vec g = choose(x[2] > 0, x[2], exp_minus_1(x[2]));  // elu
        const vec state = vec_load_first(c + j, count) + g * i;
        const vec e = exp_minus_1(2 * state);
        vec_store_first(new_c + j, state, count);
        vec_store_first(new_h + j, e / (e + 2) * o, count);  // tanh(state) * o
        vec_store_first(sums + j, i, count);
        vec_store_first(sums + H + j, o, count);
        vec_store_first(sums + 2 * H + j, g, count);
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 18 lines)
}

/* new_c = c + g * i, new_h = tanh(new_c) * o, where i, o, g are the gates of
 * preact = [h, input] @ weight^T + bias */
status_t lltm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                      const tensor_t *bias, const tensor_t *h, const tensor_t *c,
                      tensor_t *new_h, tensor_t *new_c, tensor_t *gates)
{
    // BEGIN SOLUTION
    const int64_t N = h->size[0], H = h->size[1];
    if (N * H == 0) return STATUS_OK;
    const tensor_t rows = joined(ctx, h, input);
    const real *start = tensor_contiguous(ctx, c),
               *shift = tensor_contiguous(ctx, bias);
    real *sums = gates ? real_data(gates)  // the product is stored in gates
                       : ctx_scratch(ctx, (size_t)(N * 3 * H) * sizeof(real));
    if (!rows.data || !start || !shift || !sums) return STATUS_NO_MEMORY;
    tensor_t right = *weight;  // becomes weight^T
    right.size[0] = weight->size[1], right.size[1] = weight->size[0];
    right.stride[0] = weight->stride[1], right.stride[1] = weight->stride[0];
    tensor_t preact = {sums, 2, REAL_DTYPE, DEVICE_CPU, {N, 3 * H}, {3 * H, 1}};
    const status_t status = gemm_forward(ctx, &rows, &right, &preact);
    const int32_t threads = N * H < 1 << 12 ? 1 : ctx->threads;  // few sums: one thread
#pragma omp parallel for num_threads(threads)  // the threads divide the samples
    for (int64_t n = 0; n < N; n++)
        new_state(H, sums + n * 3 * H, shift, start + n * H, real_data(new_h) + n * H,
                  real_data(new_c) + n * H);
    return status;
    // END SOLUTION
    // STARTER // your code (the reference takes 18 lines)
    // STARTER (void)exp_minus_1, (void)joined, (void)new_state;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
