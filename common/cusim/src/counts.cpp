// SPDX-License-Identifier: MIT
/* counts.cpp - counts what each line of a kernel moves: sectors, wavefronts, bytes
 *
 * Lanes of a warp that execute an instruction in the same turn of its loops make one
 * request. Loop (core.h) counts the turns. A function that is called
 * twice repeats an instruction in one turn. Then the k-th times of all lanes make one
 * request. New requests begin after each barrier and each collective of the whole
 * warp. For a request:
 *
 *   sectors      different aligned pieces of 32 bytes of global memory it touches
 *   wavefronts   passes through the 32 banks of shared memory, 4 bytes each. It is the
 *                largest number of different words in one bank. 8-byte accesses are
 *                served in two halves of the warp, 16-byte ones in four quarters.
 *                If all lanes i and i^1 read the same address, loads need half as many
 *                parts. The same holds for all lanes i and i^2 (measured on an H100
 *                and an H200).
 *   bytes        32 x sectors, before any cache
 */
#ifdef CUSIM_TRACE

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory.h"
#include "trace.h"

namespace cusim
{

struct Request {
    uintptr_t address[32];
    uint32_t lanes;
    uint32_t bytes;  // of one lane
};

/* The requests of one instruction in one turn of the loops around it, by one warp. */
struct Stream {
    uint32_t line;      // number of its Key
    uint32_t next[32];  // which request a lane's next execution belongs to
    std::vector<Request> requests;
};

/* All streams of a warp since the last barrier; the vectors are used again. */
struct Warp {
    std::vector<Stream> streams;
    size_t used;
    std::unordered_map<uint64_t, uint32_t> number;  // of a line and a turn
};

struct Key {
    const void *code;
    Space space;
    Op op;
    bool operator==(const Key &other) const
    {
        return code == other.code && space == other.space && op == other.op;
    }
    bool operator<(const Key &other) const
    {
        if (code != other.code) return code < other.code;
        if (space != other.space) return space < other.space;
        return op < other.op;
    }
};

struct Count {
    Key key;
    uint64_t requests, lanes, full, sectors, wavefronts, bytes;
    uint32_t width;  // bytes of one lane
    Where memory;    // what was allocated there gave all of it
    uintptr_t begin, size;
    bool several;  // allocations
};

enum { LAST_LINES = 256 };

static struct Counts {
    std::string kernel;
    std::vector<Count> count;   // by number of a line
    uint32_t last[LAST_LINES];  // where to look for a Key first
    std::vector<Warp> warps;
    std::vector<uint32_t> lanes;
    size_t threads;
} * state;

/* ---- one request ----------------------------------------------------------------- */

static uint64_t sectors_of(const Request &request)
{
    uintptr_t sector[64 + 32];
    size_t count = 0;
    for (int lane = 0; lane < 32; lane++) {
        if (!(request.lanes >> lane & 1)) continue;
        const uintptr_t first = request.address[lane] / 32;
        const uintptr_t last = (request.address[lane] + request.bytes - 1) / 32;
        for (uintptr_t s = first; s <= last; s++) sector[count++] = s;
    }
    std::sort(sector, sector + count);
    return (uint64_t)(std::unique(sector, sector + count) - sector);
}

/* Lanes first to first + size - 1 in one go. */
static uint64_t wavefronts_of(const Request &request, int first, int size)
{
    uintptr_t word[32 * 4];
    size_t count = 0;
    for (int lane = first; lane < first + size; lane++) {
        if (!(request.lanes >> lane & 1)) continue;
        const uintptr_t begin = request.address[lane] / 4;
        const uintptr_t end = (request.address[lane] + request.bytes + 3) / 4;
        for (uintptr_t w = begin; w < end; w++) word[count++] = w;
    }
    std::sort(word, word + count);
    const size_t different = (size_t)(std::unique(word, word + count) - word);
    unsigned bank[32] = {};
    unsigned most = 0;
    for (size_t i = 0; i < different; i++) most = std::max(most, ++bank[word[i] % 32]);
    return most;
}

/* Whether each two lanes i and i ^ apart read the same address, or neither reads. */
static bool all_share(const Request &request, int apart)
{
    for (int lane = 0; lane < 32; lane++) {
        const int other = lane ^ apart;
        const uint32_t reads = request.lanes >> lane & 1;
        if (reads != (request.lanes >> other & 1)) return false;
        if (reads && request.address[lane] != request.address[other]) return false;
    }
    return true;
}

static uint64_t wavefronts_of(const Request &request, Op op)
{
    int parts = request.bytes > 8 ? 4 : request.bytes > 4 ? 2 : 1;
    const bool shared = all_share(request, 1) || all_share(request, 2);
    if (parts > 1 && op == Op::load && shared) parts /= 2;
    uint64_t sum = 0;
    for (int part = 0; part < parts; part++) {
        sum += wavefronts_of(request, part * (32 / parts), 32 / parts);
    }
    return sum;
}

static void note_memory(Count &count, uintptr_t address)
{
    if (address - count.begin < count.size) return;  // as the last time
    const Allocation *const found = allocation_at((const void *)address);
    if (!found) return;
    const Where &made = found->made;
    count.several |= count.size &&
                     (made.file != count.memory.file || made.line != count.memory.line);
    count.memory = made;
    count.begin = (uintptr_t)found->base;
    count.size = found->bytes;
}

static void add(Count &count, const Request &request, uint32_t warp_lanes)
{
    count.requests++;
    count.lanes += (uint64_t)__builtin_popcount(request.lanes);
    count.full += (uint64_t)__builtin_popcount(warp_lanes);
    count.width = std::max(count.width, request.bytes);
    if (count.key.space == Space::global) {
        const uint64_t sectors = sectors_of(request);
        count.sectors += sectors;
        count.bytes += 32 * sectors;
        note_memory(count, request.address[__builtin_ctz(request.lanes)]);
    } else {
        count.wavefronts += wavefronts_of(request, count.key.op);
    }
}

static void forget(Warp &warp)
{
    for (size_t i = 0; i < warp.used; i++) warp.streams[i].requests.clear();
    warp.used = 0;
    warp.number.clear();
}

static void flush(size_t number)
{
    Warp &warp = state->warps[number];
    for (size_t i = 0; i < warp.used; i++) {
        const Stream &stream = warp.streams[i];
        for (const Request &request : stream.requests) {
            add(state->count[stream.line], request, state->lanes[number]);
        }
    }
    forget(warp);
}

/* ---- which request --------------------------------------------------------------- */

static uint32_t line_of(const Key &key)
{
    uint32_t &last =
        state->last[((uintptr_t)key.code / 4 + (size_t)key.op) % LAST_LINES];
    if (last < state->count.size() && state->count[last].key == key) return last;
    for (last = 0; last < state->count.size(); last++) {
        if (state->count[last].key == key) return last;
    }
    state->count.push_back({});
    state->count.back().key = key;
    return last;
}

static Stream &stream_of(Warp &warp, uint32_t line, uint64_t turn)
{
    const uint64_t name = turn ^ (uint64_t)(line + 1) * 0xd6e8feb86659fd93;
    const auto [found, added] = warp.number.emplace(name, (uint32_t)warp.used);
    if (added) {
        if (warp.used == warp.streams.size()) warp.streams.emplace_back();
        Stream &stream = warp.streams[warp.used++];
        stream.line = line;
        memset(stream.next, 0, sizeof stream.next);
    }
    return warp.streams[found->second];
}

/* ---- what trace.cpp tells -------------------------------------------------------- */

void count_launch(const char *name)
{
    if (!state) state = new Counts();
    state->kernel = name;
    state->count.clear();
}

void count_block(size_t threads)
{
    state->threads = threads;
    state->warps.resize((threads + 31) / 32);
    for (Warp &warp : state->warps) forget(warp);  // a launch may have been ended
    state->lanes.assign((threads + 31) / 32, ~0u);
    if (threads % 32) state->lanes.back() = (1u << threads % 32) - 1;
}

void count_block_sync()
{
    for (size_t warp = 0; warp < state->warps.size(); warp++) flush(warp);
}

void count_warp_sync(int warp, unsigned lanes)
{
    if (lanes == state->lanes[(size_t)warp]) flush((size_t)warp);
}

void count_access(const Access &access)
{
    const int lane = access.by->lane;
    const uint32_t line = line_of({access.code, access.space, access.op});
    size_t offset = 0;
    const bool shared = is_shared(access.address, &offset);
    const uintptr_t address = shared ? offset : (uintptr_t)access.address;
    const uint32_t all = state->lanes[(size_t)access.by->warp];
    if (all == 1) {  // nobody will join; kept requests would fill the memory
        Request alone = {};
        alone.address[0] = address;
        alone.lanes = 1;
        alone.bytes = (uint32_t)access.bytes;
        add(state->count[line], alone, all);
        return;
    }
    Stream &stream =
        stream_of(state->warps[(size_t)access.by->warp], line, access.turn);
    const size_t index = stream.next[lane]++;
    if (index == stream.requests.size()) stream.requests.push_back({});
    Request &request = stream.requests[index];
    request.address[lane] = address;
    request.lanes |= 1u << lane;
    request.bytes = std::max(request.bytes, (uint32_t)access.bytes);
}

void count_launch_end()
{
    count_block_sync();
    static const char *const SPACE[] = {"global", "shared"};
    static const char *const OP[] = {"load", "store", "atomic"};
    std::sort(state->count.begin(), state->count.end(),
              [](const Count &a, const Count &b) { return a.key < b.key; });
    for (const Count &count : state->count) {
        const Key &key = count.key;
        std::string line = "{\"record\": \"count\", \"kernel\": ";
        line += quoted(state->kernel.c_str());
        line += ", \"space\": " + quoted(SPACE[(int)key.space]);
        line += ", \"op\": " + quoted(OP[(int)key.op]) + code_place(key.code);
        line +=
            text(", \"width\": %u, \"requests\": %llu, \"lanes\": %llu", count.width,
                 (unsigned long long)count.requests, (unsigned long long)count.lanes);
        line += text(", \"possible_lanes\": %llu, \"sectors\": %llu",
                     (unsigned long long)count.full, (unsigned long long)count.sectors);
        if (count.size && !count.several && count.memory.file) {
            const std::string place =
                text("%s:%d", count.memory.file, count.memory.line);
            line += ", \"memory\": " + quoted(place.c_str());
        }
        line +=
            text(", \"wavefronts\": %llu, \"bytes\": %llu}",
                 (unsigned long long)count.wavefronts, (unsigned long long)count.bytes);
        record(line);
    }
}

}  // namespace cusim

#endif
