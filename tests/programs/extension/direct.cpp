// SPDX-License-Identifier: MIT
/* keep_direct of kernels.h: without a second set of kernels it refuses and changes
 * nothing; with one it chooses. The kernels here answer with a status of their own.
 */
#include <assert.h>
#include <stdio.h>

#include <stdexcept>

#include "kernels.h"

static status_t conv2d_usual(ctx_t *, const tensor_t *, const tensor_t *,
                             const tensor_t *, conv2d_params_t, tensor_t *)
{
    return STATUS_OK;
}

static status_t conv2d_direct(ctx_t *, const tensor_t *, const tensor_t *,
                              const tensor_t *, conv2d_params_t, tensor_t *)
{
    return STATUS_NO_MEMORY;
}

/* Whether the second set serves both dtypes of the processor, or none. */
static bool direct(const kernels_t<conv2d_forward_fn> &kernels)
{
    conv2d_forward_fn *one = kernels.of(DEVICE_CPU, DTYPE_F32);
    assert(one == kernels.of(DEVICE_CPU, DTYPE_F64));
    return one == conv2d_direct;
}

int main()
{
    kernels_t<conv2d_forward_fn> kernels = {};
    kernels.name = "conv2d_forward";
    kernels.cpu_f32 = kernels.cpu_f64 = conv2d_usual;
    try {
        keep_direct(true, kernels, kernels);
    } catch (const std::runtime_error &error) {
        puts(error.what());
    }
    assert(!keep_direct(false, kernels, kernels) && !direct(kernels));

    kernels.direct_f32 = kernels.direct_f64 = conv2d_direct;
    assert(!direct(kernels));
    assert(!keep_direct(true, kernels, kernels) && direct(kernels));
    assert(keep_direct(std::nullopt, kernels, kernels) && direct(kernels));
    assert(keep_direct(false, kernels, kernels) && !direct(kernels));
    puts("ok");
}
