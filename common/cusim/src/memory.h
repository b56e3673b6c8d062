// SPDX-License-Identifier: MIT
/* memory.h - the memory of the device: cudaMalloc's memory, and shared memory
 *
 * Device memory is one reserved range, so one comparison separates it from host
 * memory. Freed memory is not used again while there is room, so a use after free is
 * found. In the builds that check, the host can use the range only through the API.
 * There each allocation has separate pages, so that one can be read-only. A quarter of
 * the range lies in front of the first allocation and is never opened. So an index
 * below 0 is not an address of the host's.
 */
#ifndef CUSIM_MEMORY_H
#define CUSIM_MEMORY_H

#include <string>

#include "cusim/core.h"

namespace cusim
{

enum { NEW_BYTE = 0xff };  // of new memory: NaN in every floating type, or -1

struct Allocation {
    char *base;
    size_t bytes;
    bool alive, managed;
    Where made, freed;
    bool read_only;
};

/* NULL if there is no room. The contents are NaN bytes. */
void *device_allocate(size_t bytes, bool managed, Where where);

/* At most so many bytes alive: they are filled, so that they take real memory. */
void device_limit(size_t bytes);

/* A copy to the device that nobody counts (copies.cpp). */
void put(void *to, const void *from, size_t bytes);

/* False if nothing alive begins there. */
bool device_free(void *base, Where where);

/* Nobody may write to the allocation that begins there, until it is freed. */
void device_read_only(void *base);

/* Whether an address lies in such an allocation. */
bool is_read_only(const void *address);

/* The allocation, dead or alive, that an address in device memory belongs to or comes
 * right behind; NULL if there is none. */
const Allocation *allocation_at(const void *address);

bool is_device(const volatile void *address);

/* Whether an address of the device lies where allocations have been. */
bool is_given(const volatile void *address);

/* Whether `bytes` bytes at an address lie within one live allocation. */
bool within_allocation(const void *address, size_t bytes);

/* "8 bytes past the end of the 400 bytes allocated in FILE.cu:12", for a sentence. */
std::string describe(const volatile void *address);

/* All that is alive is reported as a leak: at the end of the program. */
void report_leaks();

void device_memory_total(size_t *free, size_t *total);

/* May the host touch device memory now? Only in builds that check. */
void device_open();
void device_close();

/* ---- shared memory --------------------------------------------------------------- */

enum : size_t { STATIC_SHARED_LIMIT = 48 << 10, SHARED_LIMIT = 227 << 10 };

/* A block begins: all shared memory is new. */
void shared_begin(size_t dynamic_bytes);

/* Static shared memory that the last blocks asked for, in bytes. */
size_t shared_static_bytes();

/* Whether an address is in shared memory; sets the byte offset a bank is taken from. */
bool is_shared(const volatile void *address, size_t *offset);

/* The variable at an address in shared memory, for a sentence: "tile", or NULL. */
const char *shared_name(const volatile void *address);

}  // namespace cusim

#endif
