// SPDX-License-Identifier: MIT
/* tsan.c - the functions that a rung calls because of -fsanitize=thread
 *
 * `worker-races` has a function for each size of an access. Atomic operations are done
 * here in the strictest order, but they order only what the program asked for. The
 * compiler does not see accesses of the C library. So the linker's --wrap
 * (common/rung.mk) replaces its functions that move memory.
 *
 * The functions differ only in a size, so macros make them.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "races.h"

#define HERE __builtin_return_address(0)

/* ---- plain accesses -------------------------------------------------------------- */

#define ACCESS(name, bytes)                                                            \
    void __tsan_##name##read##bytes(void *address)                                     \
    {                                                                                  \
        races_access(address, bytes, READ, HERE);                                      \
    }                                                                                  \
    void __tsan_##name##write##bytes(void *address)                                    \
    {                                                                                  \
        races_access(address, bytes, WRITE, HERE);                                     \
    }

ACCESS(, 1)
ACCESS(, 2)
ACCESS(, 4)
ACCESS(, 8)
ACCESS(, 16)
ACCESS(unaligned_, 2)
ACCESS(unaligned_, 4)
ACCESS(unaligned_, 8)
ACCESS(unaligned_, 16)

void __tsan_read_range(void *address, size_t bytes)
{
    races_access(address, bytes, READ, HERE);
}

void __tsan_write_range(void *address, size_t bytes)
{
    races_access(address, bytes, WRITE, HERE);
}

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void)
{
}

/* ---- atomic operations ----------------------------------------------------------- */

static int releases(int order)
{
    return order == __ATOMIC_RELEASE || order >= __ATOMIC_ACQ_REL;
}

static int acquires(int order)
{
    return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

/* Before the operation: what it hands on; after it: what it learns. */
static void before(const volatile void *address, size_t bytes, int kind, int order,
                   const void *pc)
{
    races_access((const void *)address, bytes, kind | ATOMIC, pc);
    if (kind == WRITE && releases(order)) races_release((const void *)address);
}

static void after(const volatile void *address, int order)
{
    if (acquires(order)) races_acquire((const void *)address);
}

#define CHANGE(bits, type, name)                                                       \
    type __tsan_atomic##bits##_##name(volatile type *address, type value, int order)   \
    {                                                                                  \
        before(address, sizeof value, WRITE, order, HERE);                             \
        const type old = __atomic_##name(address, value, __ATOMIC_SEQ_CST);            \
        after(address, order);                                                         \
        return old;                                                                    \
    }

#define EXCHANGE(bits, type, kind)                                                     \
    int __tsan_atomic##bits##_compare_exchange_##kind(                                 \
        volatile type *address, type *expected, type value, int order, int otherwise)  \
    {                                                                                  \
        (void)otherwise;                                                               \
        before(address, sizeof value, WRITE, order, HERE);                             \
        const int done = __atomic_compare_exchange_n(                                  \
            address, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
        after(address, order);                                                         \
        return done;                                                                   \
    }

#define ATOMICS(bits, type)                                                            \
    type __tsan_atomic##bits##_load(const volatile type *address, int order)           \
    {                                                                                  \
        before(address, sizeof(type), READ, order, HERE);                              \
        const type value = __atomic_load_n(address, __ATOMIC_SEQ_CST);                 \
        after(address, order);                                                         \
        return value;                                                                  \
    }                                                                                  \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order)    \
    {                                                                                  \
        before(address, sizeof value, WRITE, order, HERE);                             \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                            \
    }                                                                                  \
    type __tsan_atomic##bits##_exchange(volatile type *address, type value, int order) \
    {                                                                                  \
        before(address, sizeof value, WRITE, order, HERE);                             \
        const type old = __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);        \
        after(address, order);                                                         \
        return old;                                                                    \
    }                                                                                  \
    CHANGE(bits, type, fetch_add)                                                      \
    CHANGE(bits, type, fetch_sub)                                                      \
    CHANGE(bits, type, fetch_and)                                                      \
    CHANGE(bits, type, fetch_or)                                                       \
    CHANGE(bits, type, fetch_xor)                                                      \
    CHANGE(bits, type, fetch_nand)                                                     \
    EXCHANGE(bits, type, strong)                                                       \
    EXCHANGE(bits, type, weak)

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

/* Fences know of each other as if all were of one object. */
void __tsan_atomic_thread_fence(int order)
{
    static const char fence;
    if (order == __ATOMIC_RELAXED) return;
    races_acquire(&fence);
    races_release(&fence);
}

void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}

/* ---- the C library --------------------------------------------------------------- */

void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
    races_access(from, bytes, READ, HERE);
    races_access(to, bytes, WRITE, HERE);
    return memcpy(to, from, bytes);
}

void *__wrap_memmove(void *to, const void *from, size_t bytes)
{
    races_access(from, bytes, READ, HERE);
    races_access(to, bytes, WRITE, HERE);
    return memmove(to, from, bytes);
}

void *__wrap_memset(void *to, int value, size_t bytes)
{
    races_access(to, bytes, WRITE, HERE);
    return memset(to, value, bytes);
}

void __wrap_free(void *block)
{
    if (block) races_forget(block, malloc_usable_size(block));
    free(block);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    if (block) races_forget(block, malloc_usable_size(block));
    return realloc(block, bytes);
}
