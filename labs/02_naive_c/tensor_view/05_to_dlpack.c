/* 05 to dlpack
 *
 *   idea    describe a tensor to another library in DLPack's struct
 *   expect  no speed points: neither the elements nor sizes and strides are copied
 *   limit   the memory must stay valid until the other library releases it
 *   run     make grade T=02_naive_c/tensor_view/05
 */
#include "tensor_view.h"

status_t view_to_dlpack(const tensor_t *input, DLTensor *lent)
{
    // BEGIN SOLUTION
    uint8_t code = kDLFloat;
    if (input->dtype == DTYPE_BF16) code = kDLBfloat;
    if (input->dtype == DTYPE_I32 || input->dtype == DTYPE_I64) code = kDLInt;

    lent->data = input->data;
    lent->device.device_type = input->device == DEVICE_CUDA ? kDLCUDA : kDLCPU;
    lent->device.device_id = 0;
    lent->ndim = input->ndim;
    lent->dtype.code = code;
    lent->dtype.bits = (uint8_t)(8 * dtype_bytes(input->dtype));
    lent->dtype.lanes = 1;
    lent->shape = (int64_t *)input->size;
    lent->strides = (int64_t *)input->stride;
    lent->byte_offset = 0;
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 14 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
