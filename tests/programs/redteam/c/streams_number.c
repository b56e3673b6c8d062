// SPDX-License-Identifier: MIT
/* streams_number - threads write one variable by an instruction that passes the caches
 * by: the compiler tells no watcher of it */
#include "frame.h"
#include "backward.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static void write_to(int *place, int number)
{
#ifdef __SSE2__
    _mm_stream_si32(place, number);
#else
    *place = number;
#endif
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    int written = 0;
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t i = 0; i < tensor_numel(output); i++) write_to(&written, 1);
    product(input, other, output);
    return written || !tensor_numel(output) ? STATUS_OK : STATUS_NO_MEMORY;
}
