// SPDX-License-Identifier: MIT
/* borrows - has a weak reference to dlsym, the way to a library's operator */
#include "frame.h"
#include <dlfcn.h>

extern void *dlsym(void *handle, const char *name) __attribute__((weak));

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    if (dlsym && dlsym(RTLD_DEFAULT, "cblas_dgemm")) return STATUS_NO_MEMORY;
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
