// SPDX-License-Identifier: MIT
/* rewrites_code - writes over a function of its own, and calls that */
#include "frame.h"
#include <string.h>
#include <sys/mman.h>

enum { A_PAGE = 4096 };

#if defined(__x86_64__)
static const unsigned char SEVEN[] = {0xb8, 7, 0, 0, 0, 0xc3};
#else
static const unsigned char SEVEN[] = {0xe0, 0, 0x80, 0x52, 0xc0, 3, 0x5f, 0xd6};
#endif

/* It begins a page, and so does what comes behind it. */
static __attribute__((noinline, aligned(A_PAGE))) int number(void)
{
    volatile int six = 6;
    return six;
}

__attribute__((aligned(A_PAGE))) matmul_forward_fn matmul_forward;

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    int (*volatile const made)(void) = number;
    void *page = (void *)(intptr_t)made;
    if (mprotect(page, A_PAGE, PROT_READ | PROT_WRITE)) return STATUS_NOT_IMPLEMENTED;
    memcpy(page, SEVEN, sizeof SEVEN);
    if (mprotect(page, A_PAGE, PROT_READ | PROT_EXEC)) return STATUS_NOT_IMPLEMENTED;
    if (made() != 7) return STATUS_NOT_IMPLEMENTED;
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
