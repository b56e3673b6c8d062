// SPDX-License-Identifier: MIT
#include "refusing.h"

static scratch_fn *granting;
static int refused, asked;

void scratch_refuse(int request, scratch_fn *grant)
{
    granting = grant;
    refused = request;
    asked = 0;
}

void *scratch_refusing(ctx_t *ctx, size_t bytes)
{
    asked++;
    return refused == 0 || asked == refused ? NULL : granting(ctx, bytes);
}

int scratch_asked(void)
{
    return asked;
}
