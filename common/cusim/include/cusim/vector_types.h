// SPDX-License-Identifier: MIT
/* vector_types.h - uint3, dim3, float4 and their kin, of CUDA's sizes and alignments */
#ifndef CUSIM_VECTOR_TYPES_H
#define CUSIM_VECTOR_TYPES_H

/* A GPU copies such a struct of up to 16 bytes in one access, and gcc does so, too.
 * clang copies member by member, and leaves out unused members. So for clang, the copy
 * is a vector. `-disable-vector-combine` (cusim.mk) keeps the vector in one piece. */
#ifdef __clang__
#define CUSIM_COPIED(name, type, count, each)                                          \
    typedef type whole __attribute__((vector_size(count * sizeof(type)), may_alias));  \
    name() = default;                                                                  \
    name(const name &from)                                                             \
    {                                                                                  \
        *this = from;                                                                  \
    }                                                                                  \
    name &operator=(const name &from)                                                  \
    {                                                                                  \
        if (sizeof(name) <= 16)                                                        \
            *(whole *)this = *(const whole *)&from;                                    \
        else                                                                           \
            each;                                                                      \
        return *this;                                                                  \
    }
#define CUSIM_COPIED_2(name, type)                                                     \
    constexpr name(type x, type y = 0) : x(x), y(y)                                    \
    {                                                                                  \
    }                                                                                  \
    CUSIM_COPIED(name, type, 2, (x = from.x, y = from.y))
#define CUSIM_COPIED_4(name, type)                                                     \
    constexpr name(type x, type y = 0, type z = 0, type w = 0)                         \
        : x(x), y(y), z(z), w(w)                                                       \
    {                                                                                  \
    }                                                                                  \
    CUSIM_COPIED(name, type, 4, (x = from.x, y = from.y, z = from.z, w = from.w))
#else
#define CUSIM_COPIED_2(name, type)
#define CUSIM_COPIED_4(name, type)
#endif

/* Defines structs of 1 to 4 members x, y, z, w, aligned as nvcc aligns them. If the
 * size is a power of two up to 16 bytes, the alignment is the size. */
#define CUSIM_VECTORS(name, type)                                                      \
    struct name##1                                                                     \
    {                                                                                  \
        type x;                                                                        \
    };                                                                                 \
    struct alignas(2 * sizeof(type)) name##2                                           \
    {                                                                                  \
        type x, y;                                                                     \
        CUSIM_COPIED_2(name##2, type)                                                  \
    };                                                                                 \
    struct name##3                                                                     \
    {                                                                                  \
        type x, y, z;                                                                  \
    };                                                                                 \
    struct alignas(4 * sizeof(type) < 16 ? 4 * sizeof(type) : 16) name##4              \
    {                                                                                  \
        type x, y, z, w;                                                               \
        CUSIM_COPIED_4(name##4, type)                                                  \
    };                                                                                 \
    static inline constexpr name##1 make_##name##1(type x)                             \
    {                                                                                  \
        return {x};                                                                    \
    }                                                                                  \
    static inline constexpr name##2 make_##name##2(type x, type y)                     \
    {                                                                                  \
        return {x, y};                                                                 \
    }                                                                                  \
    static inline constexpr name##3 make_##name##3(type x, type y, type z)             \
    {                                                                                  \
        return {x, y, z};                                                              \
    }                                                                                  \
    static inline constexpr name##4 make_##name##4(type x, type y, type z, type w)     \
    {                                                                                  \
        return {x, y, z, w};                                                           \
    }

CUSIM_VECTORS(char, signed char)
CUSIM_VECTORS(uchar, unsigned char)
CUSIM_VECTORS(short, short)
CUSIM_VECTORS(ushort, unsigned short)
CUSIM_VECTORS(int, int)
CUSIM_VECTORS(uint, unsigned int)
CUSIM_VECTORS(long, long)
CUSIM_VECTORS(ulong, unsigned long)
CUSIM_VECTORS(longlong, long long)
CUSIM_VECTORS(ulonglong, unsigned long long)
CUSIM_VECTORS(float, float)
CUSIM_VECTORS(double, double)
#undef CUSIM_VECTORS
#undef CUSIM_COPIED_2
#undef CUSIM_COPIED_4
#undef CUSIM_COPIED

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
        : x(x), y(y), z(z)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
    {
    }
    constexpr operator uint3() const
    {
        return {x, y, z};
    }
};

#endif
