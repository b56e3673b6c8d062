// SPDX-License-Identifier: MIT
/* holds_bytes - has machine code as bytes: somebody else's object could stand there */
#include "frame.h"

int seven(void);

#if defined(__x86_64__)
__asm__(".globl seven\n.hidden seven\nseven: .byte 0xb8, 7, 0, 0, 0, 0xc3\n");
#else
__asm__(".globl seven\n.hidden seven\nseven: .word 0x528000e0, 0xd65f03c0\n");
#endif

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    if (seven() != 7) return STATUS_NOT_IMPLEMENTED;
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
