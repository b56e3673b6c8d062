// SPDX-License-Identifier: MIT
/* loads.h - __ldg and its kin: loads and stores with a hint for the caches
 *
 * cusim has no caches: each function is a plain access, on the line of the caller.
 */
#ifndef CUSIM_LOADS_H
#define CUSIM_LOADS_H

#include "marks.h"

#define CUSIM_LOAD(name)                                                               \
    template <class T> CUSIM_INLINE T name(const T *from)                              \
    {                                                                                  \
        return *from;                                                                  \
    }
#define CUSIM_STORE(name)                                                              \
    template <class T> struct cusim_store_##name {                                     \
        typedef T type;                                                                \
    };                                                                                 \
    template <class T>                                                                 \
    CUSIM_INLINE void name(T *to, typename cusim_store_##name<T>::type value)          \
    {                                                                                  \
        *to = value;                                                                   \
    }

CUSIM_LOAD(__ldg)
CUSIM_LOAD(__ldca)
CUSIM_LOAD(__ldcg)
CUSIM_LOAD(__ldcs)
CUSIM_LOAD(__ldlu)
CUSIM_LOAD(__ldcv)
CUSIM_STORE(__stwb)
CUSIM_STORE(__stcg)
CUSIM_STORE(__stcs)
CUSIM_STORE(__stwt)
#undef CUSIM_LOAD
#undef CUSIM_STORE

#endif
