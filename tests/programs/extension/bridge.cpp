// SPDX-License-Identifier: MIT
/* The stable bridge on a card that is not there
 *
 * The stable ABI is C functions, and a program's own come before a library's. Those
 * here say that every tensor lies on card 3 and write down what is asked of the card;
 * the rest is PyTorch's, and the memory is the host's. So a machine without a GPU sees
 * which card is set when a kernel is called, its stream, and where its scratch memory
 * lies. One line an event.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "stable/bridge.h"

enum { CARD = 3, HOST = 0, GPU = 1 };  // the last two as PyTorch counts devices
static int32_t card_now = 0;           // that is set
static char streams[4];                // their addresses stand for the cards' streams

extern "C" {
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle, int32_t *type)
{
    *type = GPU;
    return 0;
}

AOTITorchError aoti_torch_get_device_index(AtenTensorHandle, int32_t *index)
{
    *index = CARD;
    return 0;
}

AOTITorchError aoti_torch_create_device_guard(int32_t index, DeviceGuardHandle *guard)
{
    card_now = index;
    *guard = nullptr;
    *reinterpret_cast<void **>(guard) =
        streams;  // anything but NULL, which is no guard
    return 0;
}

AOTITorchError aoti_torch_delete_device_guard(DeviceGuardHandle)
{
    card_now = 0;
    return 0;
}

AOTITorchError aoti_torch_get_current_cuda_stream(int32_t index, void **stream)
{
    *stream = &streams[index];
    return 0;
}

AOTITorchError aoti_torch_empty_strided(int64_t ndim, const int64_t *sizes,
                                        const int64_t *strides, int32_t dtype,
                                        int32_t device, int32_t index,
                                        AtenTensorHandle *made)
{
    using Function = decltype(aoti_torch_empty_strided);
    static auto *real =
        reinterpret_cast<Function *>(dlsym(RTLD_NEXT, "aoti_torch_empty_strided"));
    printf("%ld elements on card %d, with card %d set\n", (long)sizes[0],
           device == GPU ? index : -1, card_now);
    return real(ndim, sizes, strides, dtype, HOST, 0, made);
}
}

static status_t check(ctx_t *, const tensor_t *, tensor_t *)
{
    return STATUS_OK;
}

static status_t kernel(ctx_t *ctx, const tensor_t *input, tensor_t *output)
{
    const auto *stream = reinterpret_cast<const char *>(ctx->stream);
    printf("kernel: device %s, card %d is set, stream of card %d\n",
           ctx->device == DEVICE_CUDA ? "CUDA" : "CPU", card_now,
           stream ? (int)(stream - streams) : -1);
    const bool views = input->device == DEVICE_CUDA && output->device == DEVICE_CUDA;
    printf("views: %s\n", views ? "CUDA" : "CPU");
    return ctx_scratch(ctx, 100) ? STATUS_OK : STATUS_NO_MEMORY;
}

int main()
{
    const int64_t size[1] = {2}, stride[1] = {1};
    AtenTensorHandle made = nullptr;
    aoti_torch_empty_strided(1, size, stride, aoti_torch_dtype_float32(), GPU, CARD,
                             &made);
    const Tensor input(made);
    kernels_t<status_t(ctx_t *, const tensor_t *, tensor_t *)> kernels = {};
    kernels.name = "pretended";
    kernels.cuda_f32 = kernel;
    const Tensor output = empty_like(input, {2});
    run(input, check, kernels, input, output);
    printf("afterwards: card %d is set\n", card_now);
    return 0;
}
