// SPDX-License-Identifier: MIT
/* prints a report like the sanitizers', with a number no one can read and an escape
 * sequence in it, and aborts */
#include <stdio.h>
#include <stdlib.h>

#include "operators.h"

enum { DIGITS = 5000 };

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx, (void)input, (void)p, (void)output;
    fprintf(stderr, "==1==ERROR: AddressSanitizer: heap-buffer-overflow\033[2J\n");
    fprintf(stderr, "READ of size ");
    for (int i = 0; i < DIGITS; i++) fputc('9', stderr);
    fprintf(stderr, " at 0x1000\n");
    fflush(stderr);
    abort();
}
