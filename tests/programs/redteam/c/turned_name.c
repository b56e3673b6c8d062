// SPDX-License-Identifier: MIT
/* turned_name - has one function, whose name turns the reading direction */
#include "frame.h"

status_t matmul_other(ctx_t *ctx) __asm__("\xe2\x80\xae"
                                          "drawrof_lumtam");

status_t matmul_other(ctx_t *ctx)
{
    (void)ctx;
    return STATUS_OK;
}
