// SPDX-License-Identifier: MIT
/* writes_its_code - has a section that is writable and executable from the start */
#include "frame.h"
#include <string.h>

#if defined(__x86_64__)
static const unsigned char SEVEN[] = {0xb8, 7, 0, 0, 0, 0xc3};
#else
static const unsigned char SEVEN[] = {0xe0, 0, 0x80, 0x52, 0xc0, 3, 0x5f, 0xd6};
#endif

__asm__(".section .made,\"awx\"\n.globl made_code\n.hidden made_code\n"
        "made_code: .zero 64\n.text\n");
extern unsigned char made_code[];

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    memcpy(made_code, SEVEN, sizeof SEVEN);
    __builtin___clear_cache((char *)made_code, (char *)made_code + sizeof SEVEN);
    if (((int (*)(void))(intptr_t)made_code)() != 7) return STATUS_NOT_IMPLEMENTED;
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
