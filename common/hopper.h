// SPDX-License-Identifier: MIT
/* hopper.h - the tensor memory accelerator and the tensor cores of sm_90a, by name
 *
 * cusim cannot run these functions. If a rung includes this file, lab.toml therefore
 * says needs = "gpu". matrix_map is for the CPU. All other functions are for kernels.
 *
 *   hopper::matrix_map(map, data, ROWS, COLUMNS, HEIGHT)
 *                             On the CPU, make a map of a dense matrix of floats for
 *                             tile(). A tile is HEIGHT rows of 32 numbers. tile()
 *                             rounds the numbers to TF32.
 *   hopper::barrier_begin(b)  One thread initialises barrier b. Each phase of b waits
 *                             for one arrival.
 *   hopper::barrier_ready()   Call it in the same thread, after the last barrier_begin.
 *                             Then the copy engine sees the barriers.
 *   hopper::barrier_expect(b, n)   Arrive at b. The phase ends when n bytes are copied.
 *   hopper::barrier_wait(b, p)     Wait until the phase of parity p ends.
 *                             The phases of b have the parities 0, 1, 0, ...
 *   hopper::tile(to, map, row, column, b)   One thread starts to copy a tile to `to`.
 *                             `to` is in shared memory, at a multiple of 1024 bytes.
 *                             Outside of the matrix the tile gets zeros. Chunk c (16
 *                             bytes) of row r of the tile arrives at chunk c ^ r % 8.
 *   hopper::wgmma_fence()     Make earlier writes to the registers of d
 *                             visible to wgmma. Call it before the first wgmma_tf32.
 *   hopper::wgmma_tf32(d, a, b)    Four warps start d += a b^T and do not wait.
 *                             a points to 8 columns of a tile of 64 rows. b points to 8
 *                             columns of a tile of 128 rows. For i below 64, d[i] in
 *                             lane l of warp w is in row 16 w + l/4 + i/2%2*8, column
 *                             i/4*8 + l%4*2 + i%2.
 *   hopper::wgmma_commit()    Make one group of the products since the last commit.
 *   hopper::wgmma_wait()      Wait until all groups of products are done.
 *                             Then other copies may overwrite the tiles.
 */
#ifndef CONVLAB_HOPPER_H
#define CONVLAB_HOPPER_H

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

namespace hopper
{

typedef CUresult (*encode_t)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                             const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                             const cuuint32_t *, CUtensorMapInterleave,
                             CUtensorMapSwizzle, CUtensorMapL2promotion,
                             CUtensorMapFloatOOBfill);

/* Fills `map`. Finds the driver's function by name: no program must link libcuda. */
static inline cudaError_t matrix_map(CUtensorMap *map, const void *data, int64_t ROWS,
                                     int64_t COLUMNS, unsigned HEIGHT)
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion(
        "cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
    const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found,
                                                      cudaEnableDefault, &result);
#endif
    if (error != cudaSuccess) return error;
    if (result != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
    const cuuint64_t size[2] = {(cuuint64_t)COLUMNS, (cuuint64_t)ROWS};  // inner first
    const cuuint64_t stride[1] = {(cuuint64_t)COLUMNS * 4};              // in bytes
    const cuuint32_t box[2] = {32, HEIGHT}, step[2] = {1, 1};
    const CUresult made = ((encode_t)found)(
        map, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 2, (void *)data, size, stride, box, step,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return made == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

__device__ __forceinline__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

/* ---- barriers that count bytes --------------------------------------------------- */

__device__ __forceinline__ void barrier_begin(uint64_t *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier))
                 : "memory");
}

__device__ __forceinline__ void barrier_ready()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void barrier_expect(uint64_t *barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_wait(uint64_t *barrier, unsigned parity)
{
    unsigned done = 0;
    while (!done) {  // try_wait itself sleeps for a while
        asm volatile("{\n"
                     ".reg .pred over;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, over;\n"
                     "}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    }
}

__device__ __forceinline__ void tile(float *to, const CUtensorMap *map, int row,
                                     int column, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     shared_address(to)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
                 : "memory");
}

/* ---- tensor cores that read shared memory ---------------------------------------- */

__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/* Returns 64 bits that describe a tile in shared memory to wgmma. An address or a
 * distance counts units of 16 bytes:
 *   bits  0-13   address of the tile; the next 8 columns begin 32 bytes later
 *   bits 16-29   ignored with a swizzle of 128 bytes
 *   bits 32-45   distance of rows r and r + 8: 1024 bytes
 *   bits 62-63   1: rows of 128 bytes, swizzled */
__device__ __forceinline__ uint64_t descriptor(const float *tile)
{
    const uint64_t address = (shared_address(tile) & 0x3ffff) >> 4;
    return address | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

#define HOPPER_8(d, i)                                                                 \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]),        \
        "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

__device__ __forceinline__ void wgmma_tf32(float (&d)[64], const float *a,
                                           const float *b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
                 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
                 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
                 "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
                 "}, %64, %65, 1, 1, 1;"
                 : HOPPER_8(d, 0), HOPPER_8(d, 8), HOPPER_8(d, 16), HOPPER_8(d, 24),
                   HOPPER_8(d, 32), HOPPER_8(d, 40), HOPPER_8(d, 48), HOPPER_8(d, 56)
                 : "l"(descriptor(a)), "l"(descriptor(b))
                 : "memory");
}

#undef HOPPER_8

}  // namespace hopper

#endif
