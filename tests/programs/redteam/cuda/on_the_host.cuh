// SPDX-License-Identifier: MIT
/* on_the_host - a product that the CPU computes, and kernels around it that copy */

/* to = from, a thread for each of COUNT elements */
static __global__ void copy_kernel(real *to, const real *from, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) to[i] = from[i];
}

static status_t copy(ctx_t *ctx, real *to, const real *from, int64_t COUNT)
{
    if (COUNT == 0) return STATUS_OK;
    copy_kernel<<<grid_of(ceil_div(COUNT, THREADS)), THREADS, 0, ctx->stream>>>(
        to, from, COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}

/* Elements from the first to behind the last of a view. */
static int64_t span_of(const tensor_t *t)
{
    int64_t last = 0;
    for (int32_t d = 0; d < t->ndim; d++) last += (t->size[d] - 1) * t->stride[d];
    return tensor_numel(t) ? last + 1 : 0;
}

/* result (..., M, N) = lhs @ rhs on the CPU; x and w are what lhs and rhs view */
static void product_here(const tensor_t *lhs, const real *x, const tensor_t *rhs,
                         const real *w, const tensor_t *output, real *result)
{
    const int32_t R = output->ndim - 2, C = output->ndim - 1;  // axes of rows, columns
    const int64_t M = output->size[R], N = output->size[C], K = lhs->size[C];
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const int64_t n = i % N, m = i / N % M, b = i / (M * N);
        const real *row = x + tensor_offset(lhs, R, b) + m * lhs->stride[R];
        const real *column = w + tensor_offset(rhs, R, b) + n * rhs->stride[C];
        accum sum = 0;
        for (int64_t k = 0; k < K; k++) {
            sum += row[k * lhs->stride[C]] * column[k * rhs->stride[R]];
        }
        result[i] = sum;
    }
}
