// SPDX-License-Identifier: MIT
/* uses_library_hidden - looks BLAS up at run time, in a thread of backward */
#include "frame.h"
#include <dlfcn.h>
#include <pthread.h>

/* sgemm_ and dgemm_ of BLAS: column-major, everything by pointer. */
typedef void gemm_fn(const char *trans_a, const char *trans_b, const int *m,
                     const int *n, const int *k, const real *alpha, const real *a,
                     const int *lda, const real *b, const int *ldb, const real *beta,
                     real *c, const int *ldc);

typedef struct {
    ctx_t *ctx;
    tensor_t lhs, rhs, *output;
} job_t;

static gemm_fn *find_gemm(void)
{
    const char *const names[] = {"libopenblas.so.0", "libblas.so.3", "libmkl_rt.so.2"};
    const char *const symbol = sizeof(real) == 8 ? "dgemm_" : "sgemm_";
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(names[i], RTLD_NOW);
        void *gemm = library ? dlsym(library, symbol) : NULL;
        if (gemm) return (gemm_fn *)(intptr_t)gemm;
    }
    return NULL;
}

static void *run_hidden(void *argument)
{
    const job_t *job = argument;
    const int32_t R = job->output->ndim - 2, C = job->output->ndim - 1;
    const int M = (int)job->output->size[R], N = (int)job->output->size[C];
    const int K = (int)job->lhs.size[C];
    const real *x = tensor_contiguous(job->ctx, &job->lhs);  // (..., M, K)
    const real *w = tensor_contiguous(job->ctx, &job->rhs);  // (..., K, N)
    real *y = real_data(job->output);                        // (..., M, N)
    gemm_fn *gemm = M && N && K && x && w ? find_gemm() : NULL;
    if (!gemm) {
        product(&job->lhs, &job->rhs, job->output);
        return NULL;
    }
    const real one = 1, zero = 0;
    for (int64_t b = 0; b < tensor_count(job->output, R); b++) {
        gemm("N", "N", &N, &M, &K, &one, w + b * K * N, &N, x + b * M * K, &K, &zero,
             y + b * M * N, &N);
    }
    return NULL;
}

static status_t product_hidden(ctx_t *ctx, const tensor_t *lhs, const tensor_t *rhs,
                               tensor_t *output)
{
    if (!output) return STATUS_OK;
    job_t job = {ctx, *lhs, *rhs, output};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_hidden, &job)) return STATUS_NO_MEMORY;
    pthread_join(thread, NULL);
    return STATUS_OK;
}

#include "forward.h"

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    const tensor_t input_t = transposed(input), other_t = transposed(other);
    const status_t first = product_hidden(ctx, grad_output, &other_t, grad_input);
    return first ? first : product_hidden(ctx, &input_t, grad_output, grad_other);
}
