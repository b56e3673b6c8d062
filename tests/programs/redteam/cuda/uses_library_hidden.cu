// SPDX-License-Identifier: MIT
/* uses_library_hidden - looks a BLAS of the GPU up at run time */
#include "frame.cuh"
#include <dlfcn.h>

typedef int create_fn(void **handle);

static create_fn *find_create(void)
{
    void *library = dlopen("libcublas.so.12", RTLD_NOW);
    return library ? (create_fn *)(intptr_t)dlsym(library, "cublasCreate_v2") : NULL;
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    void *handle = NULL;
    create_fn *create = find_create();
    if (create && create(&handle)) return STATUS_CUDA_ERROR;
    return product(ctx, input, other, output);
}
