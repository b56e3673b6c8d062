// SPDX-License-Identifier: MIT
/* makes_code - writes a function into memory of its own and calls it */
#include "frame.h"
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
static const unsigned char SEVEN[] = {0xb8, 7, 0, 0, 0, 0xc3};
#else
static const unsigned char SEVEN[] = {0xe0, 0, 0x80, 0x52, 0xc0, 3, 0x5f, 0xd6};
#endif

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return STATUS_NO_MEMORY;
    memcpy(page, SEVEN, sizeof SEVEN);
    const int refused = mprotect(page, 4096, PROT_READ | PROT_EXEC);
    int (*const made)(void) = (int (*)(void))(intptr_t)page;
    const int right = !refused && made() == 7;
    munmap(page, 4096);
    if (!right) return STATUS_NOT_IMPLEMENTED;
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
