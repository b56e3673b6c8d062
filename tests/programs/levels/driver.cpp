// SPDX-License-Identifier: MIT
/* Calls kernels as a library of lab 05 does, without PyTorch: driver OUTPUT
 *
 * Prints the level of this processor, and the level of the kernels that the table of
 * kernels.h has chosen. Writes the results of matmul and of gelu to the file OUTPUT.
 */
#include <cstdio>
#include <cstdlib>

#include "kernels.h"

KERNELS(matmul_forward);
KERNELS(gelu_forward);

enum { M = 37, K = 300, N = 41 };

static float left[M * K], right[K * N], product[M * N], activated[M * N];

static tensor_t matrix(float *data, int64_t rows, int64_t columns)
{
    tensor_t made = {};
    made.data = data;
    made.ndim = 2;
    made.dtype = DTYPE_F32;
    made.size[0] = rows;
    made.size[1] = columns;
    made.stride[0] = columns;
    made.stride[1] = 1;
    return made;
}

static void *scratch(ctx_t *, size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

int main(int, char **words)
{
    matmul_forward_fn *chosen = matmul_forward_kernels.find(DEVICE_CPU, DTYPE_F32);
    const int of = !chosen                               ? 0
                   : chosen == matmul_forward_cpu_f32_v4 ? 4
                   : chosen == matmul_forward_cpu_f32_v3 ? 3
                                                         : 1;
    std::printf("level %d, kernels %d\n", level_here(), of);
    if (!chosen) return 0;
    unsigned draw = 1;
    for (float *x : {left, right})
        for (int i = 0; i < (x == left ? M * K : K * N); i++)
            x[i] = static_cast<float>((draw = draw * 1664525u + 1013904223u) >> 8) /
                       (1 << 23) -
                   1;
    ctx_t ctx = {};
    ctx.threads = 1;
    ctx.scratch = scratch;
    const tensor_t a = matrix(left, M, K), b = matrix(right, K, N);
    tensor_t c = matrix(product, M, N), d = matrix(activated, M, N);
    if (chosen(&ctx, &a, &b, &c)) return 1;
    if (gelu_forward_kernels.of(DEVICE_CPU, DTYPE_F32)(&ctx, &c, {GELU_NONE}, &d))
        return 1;
    std::FILE *file = std::fopen(words[1], "wb");
    std::fwrite(product, sizeof product, 1, file);
    std::fwrite(activated, sizeof activated, 1, file);
    return std::fclose(file);
}
