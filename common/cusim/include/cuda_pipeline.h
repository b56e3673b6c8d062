// SPDX-License-Identifier: MIT
/* cuda_pipeline.h - CUDA's own names for cp.async: __pipeline_memcpy_async ... */
#ifndef CUSIM_CUDA_PIPELINE_H
#define CUSIM_CUDA_PIPELINE_H

#include "cusim/async.h"

/* Copies `size` bytes to shared memory. size is a constant 4, 8 or 16, as for nvcc. */
CUSIM_INLINE void __pipeline_memcpy_async(void *shared, const void *global,
                                          size_t bytes, size_t zeros = 0, CUSIM_WHERE)
{
    const char *call = "__pipeline_memcpy_async";
    const unsigned source = unsigned(bytes - zeros);
    if (zeros > bytes)
        cusim::trap("__pipeline_memcpy_async: more zeros than bytes", where);
    switch (bytes) {
    case 4: cusim::start_copy<4>(shared, global, source, call, where); break;
    case 8: cusim::start_copy<8>(shared, global, source, call, where); break;
    case 16: cusim::start_copy<16>(shared, global, source, call, where); break;
    default: cusim::trap("__pipeline_memcpy_async copies 4, 8 or 16 bytes", where);
    }
}

inline void __pipeline_commit()
{
    cusim::commit_copies();
}

inline void __pipeline_wait_prior(size_t groups)
{
    cusim::finish_copies(unsigned(groups), false);
}

#endif
