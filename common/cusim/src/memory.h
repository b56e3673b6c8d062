// SPDX-License-Identifier: MIT
/* memory.h - the memory of the device: cudaMalloc's memory, and shared memory
 *
 * Device memory is one reserved range, so one comparison separates it from host memory.
 * Freed memory is not used again while the range has space, so a use after free is
 * found. In the builds that check, the host can use the range only through the API. In
 * these builds each allocation has separate pages, so that one can be read-only. A
 * quarter of the range lies in front of the first allocation, and no code may access
 * it. So an index below 0 is not an address of host memory.
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

/* Returns device memory with NaN bytes, or NULL if there is not enough memory. */
void *device_allocate(size_t bytes, bool managed, Where where);

/* Limits live allocations to `bytes` bytes, filled so that they take real memory. */
void device_limit(size_t bytes);

/* Copies to the device; no limit counts this copy (copies.cpp). */
void put(void *to, const void *from, size_t bytes);

/* Frees an allocation. Returns false if no live allocation begins at `base`. */
bool device_free(void *base, Where where);

/* Makes the allocation that begins at `base` read-only until it is freed. */
void device_read_only(void *base);

/* Returns whether the address is in a read-only allocation. */
bool is_read_only(const void *address);

/* Returns the allocation, live or freed, that contains the address or ends just before
 * it. Returns NULL if there is none. */
const Allocation *allocation_at(const void *address);

bool is_device(const volatile void *address);

/* Returns whether the address is in memory that has been allocated before. */
bool is_given(const volatile void *address);

/* Returns whether `bytes` bytes at the address are within one live allocation. */
bool within_allocation(const void *address, size_t bytes);

/* "8 bytes past the end of the 400 bytes allocated in FILE.cu:12", for a sentence. */
std::string describe(const volatile void *address);

/* Reports all live allocations as leaks, at the end of the program. */
void report_leaks();

void device_memory_total(size_t *free, size_t *total);

/* Let the host access device memory, or not. Only in builds that check. */
void device_open();
void device_close();

/* ---- shared memory --------------------------------------------------------------- */

enum : size_t { STATIC_SHARED_LIMIT = 48 << 10, SHARED_LIMIT = 227 << 10 };

/* Called when a block begins: gives it new shared memory. */
void shared_begin(size_t dynamic_bytes);

/* Returns the bytes of static shared memory that the last blocks used. */
size_t shared_static_bytes();

/* Returns whether the address is in shared memory. *offset gives the bank, in bytes. */
bool is_shared(const volatile void *address, size_t *offset);

/* Returns the name of the variable at a shared address, such as "tile", or NULL. */
const char *shared_name(const volatile void *address);

}  // namespace cusim

#endif
