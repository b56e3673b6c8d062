/* 06 from dlpack
 *
 *   idea    take a tensor from another library: check each field of DLPack's struct
 *   expect  no speed points: nothing is copied
 *   limit   the file refuses a tensor that tensor_t cannot describe
 *   run     make grade T=02_naive_c/tensor_view/06
 */
#include "tensor_view.h"

// BEGIN SOLUTION
/* Sets *dtype to the dtype_t of DLPack's `type`. Returns 0 if no dtype_t fits. */
static int dtype_for(DLDataType type, dtype_t *dtype)
{
    static const struct {
        uint8_t code, bits;
    } known[] = {
        [DTYPE_F16] = {kDLFloat, 16}, [DTYPE_BF16] = {kDLBfloat, 16},
        [DTYPE_F32] = {kDLFloat, 32}, [DTYPE_F64] = {kDLFloat, 64},
        [DTYPE_I32] = {kDLInt, 32},   [DTYPE_I64] = {kDLInt, 64},
    };
    for (int i = DTYPE_F16; i <= DTYPE_I64; i++) {
        if (type.code == known[i].code && type.bits == known[i].bits) {
            *dtype = (dtype_t)i;
            return type.lanes == 1;
        }
    }
    return 0;
}
// END SOLUTION
// STARTER // write helper functions here, if needed (the reference takes 17 lines)

status_t view_from_dlpack(const DLTensor *lent, tensor_t *view)
{
    // BEGIN SOLUTION
    if (lent->ndim > TENSOR_MAX_DIMS) return STATUS_INVALID_ARGUMENT;
    if (!dtype_for(lent->dtype, &view->dtype)) return STATUS_INVALID_ARGUMENT;
    const int32_t kind = lent->device.device_type;
    if (kind != kDLCPU && kind != kDLCUDA) return STATUS_INVALID_ARGUMENT;
    view->device = kind == kDLCPU ? DEVICE_CPU : DEVICE_CUDA;
    view->data = (char *)lent->data + lent->byte_offset;
    view->ndim = lent->ndim;
    int64_t dense = 1;  // the stride of row-major order
    for (int32_t d = lent->ndim - 1; d >= 0; d--) {
        const int64_t stride = lent->strides ? lent->strides[d] : dense;
        if (lent->shape[d] < 0 || stride < 0) return STATUS_INVALID_ARGUMENT;
        view->size[d] = lent->shape[d];
        view->stride[d] = stride;
        dense *= lent->shape[d];
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 16 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
