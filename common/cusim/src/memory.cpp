// SPDX-License-Identifier: MIT
#include "memory.h"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

#include "findings.h"
#include "schedule.h"

#ifdef CUSIM_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace cusim
{

/* Whether kernels may touch these bytes: AddressSanitizer watches, if it is there. */
static void forbid(const void *address, size_t bytes)
{
#ifdef CUSIM_ASAN
    __asan_poison_memory_region(address, bytes);
#endif
    (void)address, (void)bytes;
}

static void allow(const void *address, size_t bytes)
{
#ifdef CUSIM_ASAN
    __asan_unpoison_memory_region(address, bytes);
#endif
    (void)address, (void)bytes;
}

enum : size_t {
    PAGE = 4096,
    ALIGNMENT = 256,  // as cudaMalloc promises
    GAP = 256,        // at least, between two allocations
    MOST = (size_t)64 << 30,
    LEAST = (size_t)64 << 20,
};

#if defined(CUSIM_ASAN) || defined(CUSIM_TRACE)
enum : bool { CHECKS = true };
#else
enum : bool { CHECKS = false };
#endif

static uintptr_t page_above(const void *address)
{
    return ((uintptr_t)address + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
}

/* ---- the range ------------------------------------------------------------------- */

static struct {
    char *begin, *end;
    char *first, *next;  // allocations lie between them
    size_t used;         // bytes alive
    size_t most;         // of them
    bool open;
    std::map<char *, Allocation> *allocations;  // by base; never destroyed
} device = {.most = MOST};

static void reserve()
{
    size_t bytes = MOST;
    void *range = MAP_FAILED;
    while (range == MAP_FAILED && bytes >= LEAST) {
        range = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED) bytes /= 2;
    }
    if (range == MAP_FAILED) {
        fprintf(stderr, "cusim: no address space for device memory\n");
        abort();
    }
    device.begin = (char *)range;
    device.end = device.begin + bytes;
    device.first = device.next = device.begin + bytes / 4;
    mprotect(device.begin, bytes / 4, PROT_NONE);
    device.open = true;
    device.allocations = new std::map<char *, Allocation>;
}

static void ready()
{
    if (!device.begin) reserve();
}

/* May anybody write to an allocation? It has pages of its own. */
static void protect(const Allocation &allocation, int rights)
{
    const uintptr_t end = page_above(allocation.base + allocation.bytes);
    mprotect(allocation.base, end - (uintptr_t)allocation.base, rights);
}

static void keep_out(bool closed)
{
    if (!CHECKS || !device.begin || device.open == !closed) return;
    char *begin = device.first;
    for (const auto &[base, allocation] : *device.allocations) {
        if (!allocation.managed || !allocation.alive) continue;
        char *const page = (char *)((uintptr_t)base & ~(uintptr_t)(PAGE - 1));
        if (page > begin) {
            mprotect(begin, (size_t)(page - begin),
                     closed ? PROT_NONE : PROT_READ | PROT_WRITE);
        }
        begin = (char *)page_above(base + allocation.bytes);
    }
    char *const end = (char *)page_above(device.next);
    if (end > begin) {
        mprotect(begin, (size_t)(end - begin),
                 closed ? PROT_NONE : PROT_READ | PROT_WRITE);
    }
    for (const auto &[base, allocation] : *device.allocations) {
        if (!closed && allocation.read_only) protect(allocation, PROT_READ);
    }
    device.open = !closed;
}

void device_open()
{
    keep_out(false);
}

void device_close()
{
    keep_out(true);
}

void device_limit(size_t bytes)
{
    device.most = bytes;
}

void *device_allocate(size_t bytes, bool managed, Where where)
{
    ready();
    if (device.used > device.most || bytes > device.most - device.used) return nullptr;
    const size_t align = CHECKS || managed ? PAGE : ALIGNMENT;
    char *const base = (char *)(((uintptr_t)device.next + align - 1) & ~(align - 1));
    const size_t room = (bytes + GAP + align - 1) / align * align;
    if (room < bytes || base > device.end || room > (size_t)(device.end - base)) {
        return nullptr;
    }
    device_open();
    allow(base, bytes);
    memset(base, NEW_BYTE, bytes);
    forbid(base + bytes, room - bytes);
    (*device.allocations)[base] = {base,  bytes,        true, managed,
                                   where, {nullptr, 0}, false};
    device.next = base + room;
    device.used += bytes;
    return base;
}

void device_read_only(void *base)
{
    if (!CHECKS || !allocation_at(base)) return;
    device_open();
    device.allocations->at((char *)base).read_only = true;
    device_close();
}

/* When the range is used up: start again from the front if nothing is alive there. */
static void reuse()
{
    if (device.used || device.next < device.first + (device.end - device.first) / 2) {
        return;
    }
    for (const auto &[base, allocation] : *device.allocations) {
        if (allocation.alive) return;
    }
    madvise(device.first, (size_t)(device.next - device.first), MADV_DONTNEED);
    device.allocations->clear();
    device.next = device.first;
}

bool device_free(void *base, Where where)
{
    ready();
    const auto found = device.allocations->find((char *)base);
    if (found == device.allocations->end() || !found->second.alive) return false;
    device_open();
    Allocation &allocation = found->second;
    if (allocation.read_only) protect(allocation, PROT_READ | PROT_WRITE);
    allocation.read_only = false;
    memset(allocation.base, NEW_BYTE, allocation.bytes);
    // pages that hold nothing else go back to the system
    const uintptr_t first = page_above(base);
    const uintptr_t last =
        ((uintptr_t)base + allocation.bytes) & ~(uintptr_t)(PAGE - 1);
    if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
    forbid(allocation.base, allocation.bytes);
    allocation.alive = false;
    allocation.freed = where;
    device.used -= allocation.bytes;
    reuse();
    return true;
}

/* ---- questions ------------------------------------------------------------------- */

bool is_device(const volatile void *address)
{
    return (const volatile char *)address >= device.begin &&
           (const volatile char *)address < device.end;
}

bool is_given(const volatile void *address)
{
    return (const volatile char *)address >= device.first &&
           (const volatile char *)address < device.next;
}

const Allocation *allocation_at(const void *address)
{
    if (!is_device(address)) return nullptr;
    auto after = device.allocations->upper_bound((char *)address);
    if (after == device.allocations->begin()) return nullptr;
    return &std::prev(after)->second;
}

bool is_read_only(const void *address)
{
    const Allocation *const allocation = allocation_at(address);
    return allocation && allocation->read_only && within_allocation(address, 1);
}

bool within_allocation(const void *address, size_t bytes)
{
    const Allocation *const allocation = allocation_at(address);
    if (!allocation || !allocation->alive) return false;
    const size_t offset = (size_t)((const char *)address - allocation->base);
    return offset <= allocation->bytes && bytes <= allocation->bytes - offset;
}

static std::string place(Where where)
{
    const char *const slash = where.file ? strrchr(where.file, '/') : nullptr;
    return text("%s:%d", slash ? slash + 1 : where.file ? where.file : "?", where.line);
}

static std::string describe_device(const char *address)
{
    const Allocation *allocation = allocation_at(address);
    const auto next = device.allocations->upper_bound((char *)address);
    const bool last = next == device.allocations->end();
    if (!allocation && last) return "in device memory that is not allocated";
    const char *const end = allocation ? allocation->base + allocation->bytes : nullptr;
    if (allocation && !allocation->alive) {
        return text("in memory allocated in %s and freed in %s",
                    place(allocation->made).c_str(), place(allocation->freed).c_str());
    }
    if (allocation && address < end) {
        return text("%zu bytes into the %zu bytes allocated in %s",
                    (size_t)(address - allocation->base), allocation->bytes,
                    place(allocation->made).c_str());
    }
    if (!allocation || (!last && next->first - address < address - end)) {
        return text("%zu bytes in front of the %zu bytes allocated in %s",
                    (size_t)(next->first - address), next->second.bytes,
                    place(next->second.made).c_str());
    }
    return text("%zu bytes past the end of the %zu bytes allocated in %s",
                (size_t)(address - end), allocation->bytes,
                place(allocation->made).c_str());
}

void report_leaks()
{
    if (!device.begin) return;
    for (const auto &[base, allocation] : *device.allocations) {
        if (!allocation.alive) continue;
        found(
            Level::warning, "leak",
            text("%zu bytes of device memory were never freed; free them with cudaFree",
                 allocation.bytes),
            {{"allocated", allocation.made}});
    }
}

void device_memory_total(size_t *free, size_t *total)
{
    ready();
    *total = (size_t)(device.end - device.begin);
    *free = *total - device.used;
}

/* ---- shared memory --------------------------------------------------------------- */

struct Variable {
    const Shared *site;
    size_t offset, bytes;
};

enum : size_t { ARENA = 1 << 20 };  // twice: static variables with gaps, then dynamic
enum : size_t { BANKS = 128 };      // bytes of one row of banks; also the smallest gap

static struct {
    char *begin;
    size_t next;            // static variables of this block end here
    size_t dynamic, bytes;  // of dynamic memory; of static variables without gaps
    std::vector<Variable> variables;
} arena;

static void arena_reserve()
{
    if (arena.begin) return;
    void *range = mmap(nullptr, 2 * ARENA, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) {
        fprintf(stderr, "cusim: no memory for shared memory\n");
        abort();
    }
    arena.begin = (char *)range;
    forbid(arena.begin, 2 * ARENA);
}

void *dynamic_shared()
{
    arena_reserve();
    return arena.begin + ARENA;
}

void shared_begin(size_t dynamic_bytes)
{
    arena_reserve();
    forbid(arena.begin, arena.next);
    arena.next = arena.bytes = 0;
    arena.variables.clear();
    char *const dynamic = arena.begin + ARENA;
    if (arena.dynamic > dynamic_bytes) {
        forbid(dynamic, arena.dynamic);
    }
    allow(dynamic, dynamic_bytes);
    arena.dynamic = dynamic_bytes;
    if (dynamic_bytes) memset(dynamic, NEW_BYTE, dynamic_bytes);
}

void *shared_memory(Shared &site, size_t bytes, size_t alignment)
{
    (void)alignment;  // every variable begins at bank 0, which satisfies all of them
    const size_t room = (bytes + 2 * BANKS - 1) / BANKS * BANKS;
    if (arena.next + room > ARENA || arena.bytes + bytes > STATIC_SHARED_LIMIT) {
        found(
            Level::error, "bad_launch",
            text("'%s' brings the static shared memory of the block to %zu bytes, the "
                 "limit is %zu. Use dynamic shared memory and cudaFuncSetAttribute",
                 site.name, arena.bytes + bytes, (size_t)STATIC_SHARED_LIMIT),
            {{"declared", {site.file, site.line}}});
        end_launch();
    }
    char *const memory = arena.begin + arena.next;
    allow(memory, bytes);
    memset(memory, NEW_BYTE, bytes);
    arena.variables.push_back({&site, arena.next, bytes});
    arena.next += room;
    arena.bytes += bytes;
    return memory;
}

size_t shared_static_bytes()
{
    return arena.bytes;
}

bool is_shared(const volatile void *address, size_t *offset)
{
    const volatile char *const byte = (const volatile char *)address;
    if (byte < arena.begin || byte >= arena.begin + 2 * ARENA) return false;
    *offset = (size_t)(byte - arena.begin);
    return true;
}

/* The variable at an offset, or the last one in front of it. */
static const Variable *variable_at(size_t offset)
{
    const Variable *best = nullptr;
    for (const Variable &variable : arena.variables) {
        if (variable.offset <= offset) best = &variable;
    }
    return best;
}

const char *shared_name(const volatile void *address)
{
    size_t offset;
    if (!is_shared(address, &offset)) return nullptr;
    if (offset >= ARENA) return "dynamic shared memory";
    const Variable *const variable = variable_at(offset);
    return variable ? variable->site->name : nullptr;
}

static std::string describe_shared(size_t offset)
{
    if (offset >= ARENA) {
        const size_t byte = offset - ARENA;
        if (byte >= arena.dynamic) {
            return text(
                "%zu bytes past the end of the %zu bytes of dynamic shared memory "
                "the launch asked for",
                byte - arena.dynamic, arena.dynamic);
        }
        return text("%zu bytes into dynamic shared memory", byte);
    }
    const Variable *const variable = variable_at(offset);
    if (!variable) return "in shared memory that belongs to no variable of the block";
    const size_t byte = offset - variable->offset;
    const char *const name = variable->site->name;
    if (byte < variable->bytes) {
        return text("%zu bytes into shared '%s'", byte, name);
    }
    const Variable *const next = variable + 1;
    const bool last = next == arena.variables.data() + arena.variables.size();
    if (!last && next->offset - offset < byte - variable->bytes) {
        return text("%zu bytes in front of shared '%s'", next->offset - offset,
                    next->site->name);
    }
    return text("%zu bytes past the end of shared '%s' (%zu bytes)",
                byte - variable->bytes, name, variable->bytes);
}

std::string describe(const volatile void *address)
{
    size_t offset;
    if (is_shared(address, &offset)) return describe_shared(offset);
    if (is_device(address)) return describe_device((const char *)address);
    return "in memory that does not belong to the device";
}

}  // namespace cusim
