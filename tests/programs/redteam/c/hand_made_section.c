// SPDX-License-Identifier: MIT
/* hand_made_section - has a section that the link step's compiler would read */
#include "frame.h"

__attribute__((section(".gnu.lto_.decls.0,\"e\",@progbits #"),
               used)) static const unsigned char decls[64] = {1, 2, 3};

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
