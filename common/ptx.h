// SPDX-License-Identifier: MIT
/* ptx.h - the instructions of tensor cores and of asynchronous copies, by name
 *
 * CUDA C++ has no functions for these instructions, so a rung includes this file. The
 * instructions need sm_80 or later. cusim, the simulator, runs C++ of the same meaning.
 *
 *   ptx::mma_f16(d, a, b, c)    d = a b + c by one warp, m16n8k16: a 16 x 16, b 16 x 8,
 *   ptx::mma_bf16(d, a, b, c)   c and d 16 x 8 in float. In lane l, g = l/4, p = l%4:
 *                               a[0] row g, columns 2p 2p+1      a[1] the same, row g+8
 *                               a[2] row g, columns 2p+8 2p+9    a[3] the same, row g+8
 *                               b[0] rows 2p 2p+1, column g      b[1] rows 2p+8 2p+9
 *                               c[0] c[1] row g, columns 2p 2p+1    c[2] c[3] row g+8
 *   ptx::mma_tf32(d, a, b, c)   as mma_f16: m16n8k8, a 16 x 8, b 8 x 8, a number each:
 *                               a[0] row g, column p  a[1] row g+8  a[2] a[3] col. p+4
 *                               b[0] row p, column g   b[1] row p+4
 *   ptx::to_tf32(x)             x rounded to TF32: one number of a or b of mma_tf32
 *   ptx::ldmatrix(r, row)       load 1, 2 or 4 matrices from shared memory: r has as
 *                               many numbers. A matrix is 8 x 8 numbers of 16 bits.
 *                               Lane l gives the address of row l%8 of matrix l/8, a
 *                               multiple of 16. It gets columns 2p 2p+1 of row g.
 *   ptx::ldmatrix_trans(r, row) as ldmatrix, but lane l gets rows 2p 2p+1 of column g
 *   ptx::cp_async<bytes>(shared, global)           copy 4, 8 or 16 bytes; do not wait
 *   ptx::cp_async_zfill<bytes>(shared, global, n)  read only n bytes, the rest is 0
 *   ptx::cp_async_commit()      make one group of the copies since the last commit
 *   ptx::cp_async_wait<n>()     wait until this thread has at most n unfinished groups
 *   ptx::cp_async_wait_all()    wait until all copies of this thread are done.
 *                               After a barrier, other threads may read the numbers.
 */
#ifndef CONVLAB_PTX_H
#define CONVLAB_PTX_H

#include <cuda_runtime.h>

#ifdef __CUSIM__

#include "cusim/async.h"
#include "cusim/tensor.h"

#define PTX_MMA(name, finish)                                                          \
    inline void name(float(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2],       \
                     const float(&c)[4], CUSIM_WHERE)                                  \
    {                                                                                  \
        cusim::mma_together({d, a, b, c}, finish, "ptx::" #name, where);               \
    }
#define PTX_LDMATRIX(name, count, transposed)                                          \
    CUSIM_INLINE void name(unsigned(&r)[count], const void *row, CUSIM_WHERE)          \
    {                                                                                  \
        cusim::ldmatrix<count, transposed>(r, row, "ptx::" #name " x" #count, where);  \
    }

namespace ptx
{

PTX_MMA(mma_f16, cusim::finish_m16n8k16<cusim::HalfFormat>)
PTX_MMA(mma_bf16, cusim::finish_m16n8k16<cusim::BfloatFormat>)
PTX_MMA(mma_tf32, cusim::finish_m16n8k8)
PTX_LDMATRIX(ldmatrix, 1, false)
PTX_LDMATRIX(ldmatrix, 2, false)
PTX_LDMATRIX(ldmatrix, 4, false)
PTX_LDMATRIX(ldmatrix_trans, 1, true)
PTX_LDMATRIX(ldmatrix_trans, 2, true)
PTX_LDMATRIX(ldmatrix_trans, 4, true)

inline unsigned to_tf32(float x)
{
    return cusim::bits_of(cusim::to_tf32(x));
}

template <int bytes>
CUSIM_INLINE void cp_async(void *shared, const void *global, CUSIM_WHERE)
{
    cusim::start_copy<bytes>(shared, global, bytes, "ptx::cp_async", where);
}

template <int bytes>
CUSIM_INLINE void cp_async_zfill(void *shared, const void *global, unsigned n,
                                 CUSIM_WHERE)
{
    cusim::start_copy<bytes>(shared, global, n, "ptx::cp_async_zfill", where);
}

inline void cp_async_commit()
{
    cusim::commit_copies();
}

template <int n> inline void cp_async_wait()
{
    cusim::finish_copies(n, false);
}

inline void cp_async_wait_all()
{
    cusim::finish_copies(0, true);
}

}  // namespace ptx

#else  // nvcc

#define PTX_MMA(name, instruction)                                                     \
    __device__ __forceinline__ void name(float(&d)[4], const unsigned(&a)[4],          \
                                         const unsigned(&b)[2], const float(&c)[4])    \
    {                                                                                  \
        asm volatile("mma.sync.aligned." instruction                                   \
                     " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"      \
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),          \
                       "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));         \
    }
#define PTX_LDMATRIX(name, trans)                                                      \
    __device__ __forceinline__ void name(unsigned(&r)[1], const void *row)             \
    {                                                                                  \
        asm volatile("ldmatrix.sync.aligned.m8n8.x1" trans ".shared.b16 {%0}, [%1];"   \
                     : "=r"(r[0])                                                      \
                     : "r"(shared_address(row))                                        \
                     : "memory");                                                      \
    }                                                                                  \
    __device__ __forceinline__ void name(unsigned(&r)[2], const void *row)             \
    {                                                                                  \
        asm volatile("ldmatrix.sync.aligned.m8n8.x2" trans                             \
                     ".shared.b16 {%0,%1}, [%2];"                                      \
                     : "=r"(r[0]), "=r"(r[1])                                          \
                     : "r"(shared_address(row))                                        \
                     : "memory");                                                      \
    }                                                                                  \
    __device__ __forceinline__ void name(unsigned(&r)[4], const void *row)             \
    {                                                                                  \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" trans                             \
                     ".shared.b16 {%0,%1,%2,%3}, [%4];"                                \
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                  \
                     : "r"(shared_address(row))                                        \
                     : "memory");                                                      \
    }

namespace ptx
{

__device__ __forceinline__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

PTX_MMA(mma_f16, "m16n8k16.row.col.f32.f16.f16.f32")
PTX_MMA(mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
PTX_MMA(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
PTX_LDMATRIX(ldmatrix, "")
PTX_LDMATRIX(ldmatrix_trans, ".trans")

__device__ __forceinline__ unsigned to_tf32(float x)
{
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

template <int bytes>
__device__ __forceinline__ void cp_async_zfill(void *shared, const void *global,
                                               unsigned n)
{
    static_assert(bytes == 4 || bytes == 8 || bytes == 16,
                  "cp.async copies 4, 8 or 16 bytes at a time");
    if (bytes == 16)  // past the L1 cache
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"(shared_address(shared)), "l"(global), "r"(n)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     :
                     : "r"(shared_address(shared)), "l"(global), "n"(bytes), "r"(n)
                     : "memory");
}

template <int bytes>
__device__ __forceinline__ void cp_async(void *shared, const void *global)
{
    cp_async_zfill<bytes>(shared, global, bytes);
}

__device__ __forceinline__ void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int n> __device__ __forceinline__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}

__device__ __forceinline__ void cp_async_wait_all()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

}  // namespace ptx

#endif
#undef PTX_MMA
#undef PTX_LDMATRIX

#endif
