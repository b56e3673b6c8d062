// SPDX-License-Identifier: MIT
/* allocate_slowly - asks for 32 MiB until refused, at most 10 GiB, all touched */
#include "frame.h"
#include <stdlib.h>
#include <string.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx, (void)input, (void)other, (void)output;
    const size_t BYTES = (size_t)32 << 20;
    static char *volatile pieces[320];  // kept: 10 GiB in all
    for (int i = 0; i < 320; i++) {
        pieces[i] = malloc(BYTES);
        if (!pieces[i]) break;
        memset(pieces[i], 1, BYTES);
    }
    return STATUS_NO_MEMORY;
}

#include "backward.h"
