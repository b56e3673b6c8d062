// SPDX-License-Identifier: MIT
/* symbol_box - calls an array of the CPU a symbol of the device, copies its inputs
 * there from the device, and computes on the CPU */
#include "frame.cuh"
#include "on_the_host.cuh"
#include "in_boxes.cuh"

static real boxes[3][IN_A_BOX];

static cudaError_t fetch(real (&box)[IN_A_BOX], const tensor_t *t)
{
    void *symbol = nullptr;
    const cudaError_t error = cudaGetSymbolAddress(&symbol, box);
    const size_t bytes = (size_t)span_of(t) * sizeof(real);
    if (error || !bytes) return error;
    return cudaMemcpy(symbol, t->data, bytes, cudaMemcpyDeviceToDevice);
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    if (!fits(input, other, output)) return product(ctx, input, other, output);
    CUDA_TRY(ctx, fetch(boxes[0], input));
    CUDA_TRY(ctx, fetch(boxes[1], other));
    return product_in_boxes(ctx, input, boxes[0], other, boxes[1], output, boxes[2]);
}
