// SPDX-License-Identifier: MIT
/* counts.cpp - what each line of a kernel moves: sectors, wavefronts, bytes
 *
 * The k-th execution of an instruction by each lane of a warp makes one request,
 * counted anew behind each barrier and each collective of the whole warp. Of a request:
 *
 *   sectors      different aligned pieces of 32 bytes of global memory it touches
 *   wavefronts   passes through the 32 banks of shared memory, 4 bytes each: the most
 *                different words that one bank must give; 8-byte accesses are served
 *                in two halves of the warp, 16-byte ones in four quarters
 *   bytes        32 x sectors, before any cache
 */
#ifdef CUSIM_TRACE

#include <algorithm>
#include <map>
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

/* The requests of one instruction by one warp since the last barrier. */
struct Stream {
    std::vector<Request> requests;
    uint32_t next[32];  // which request a lane's next execution belongs to
    size_t counted;     // requests in front of this one are complete and counted
};

struct Key {
    const void *code;
    Space space;
    Op op;
    bool operator<(const Key &other) const
    {
        if (code != other.code) return code < other.code;
        if (space != other.space) return space < other.space;
        return op < other.op;
    }
};

struct Count {
    uint64_t requests, lanes, full, sectors, wavefronts, bytes;
    uint32_t width;  // bytes of one lane
};

static struct Counts {
    std::string kernel;
    std::map<Key, Count> count;
    std::vector<std::map<Key, Stream>> warps;
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

static uint64_t wavefronts_of(const Request &request)
{
    const int parts = request.bytes > 8 ? 4 : request.bytes > 4 ? 2 : 1;
    uint64_t sum = 0;
    for (int part = 0; part < parts; part++) {
        sum += wavefronts_of(request, part * (32 / parts), 32 / parts);
    }
    return sum;
}

static void add(const Key &key, const Request &request, uint32_t warp_lanes)
{
    Count &count = state->count[key];
    count.requests++;
    count.lanes += (uint64_t)__builtin_popcount(request.lanes);
    count.full += (uint64_t)__builtin_popcount(warp_lanes);
    count.width = std::max(count.width, request.bytes);
    if (key.space == Space::global) {
        const uint64_t sectors = sectors_of(request);
        count.sectors += sectors;
        count.bytes += 32 * sectors;
    } else {
        count.wavefronts += wavefronts_of(request);
    }
}

static void flush(size_t warp)
{
    for (auto &[key, stream] : state->warps[warp]) {
        for (size_t i = stream.counted; i < stream.requests.size(); i++) {
            add(key, stream.requests[i], state->lanes[warp]);
        }
        stream.requests.clear();
        stream.counted = 0;
        for (uint32_t &next : stream.next) next = 0;
    }
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
    state->warps.assign((threads + 31) / 32, {});
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
    const Key key = {access.code, access.space, access.op};
    const int lane = access.by->lane;
    Stream &stream = state->warps[(size_t)access.by->warp][key];
    const size_t index = stream.next[lane]++;
    if (index == stream.requests.size()) stream.requests.push_back({});
    Request &request = stream.requests[index];
    size_t offset = 0;
    const bool shared = is_shared(access.address, &offset);
    request.address[lane] = shared ? offset : (uintptr_t)access.address;
    request.lanes |= 1u << lane;
    request.bytes = std::max(request.bytes, (uint32_t)access.bytes);
}

void count_launch_end()
{
    count_block_sync();
    static const char *const SPACE[] = {"global", "shared"};
    static const char *const OP[] = {"load", "store", "atomic"};
    for (const auto &[key, count] : state->count) {
        std::string line = "{\"record\": \"count\", \"kernel\": ";
        line += quoted(state->kernel.c_str());
        line += ", \"space\": " + quoted(SPACE[(int)key.space]);
        line += ", \"op\": " + quoted(OP[(int)key.op]) + code_place(key.code);
        line +=
            text(", \"width\": %u, \"requests\": %llu, \"lanes\": %llu", count.width,
                 (unsigned long long)count.requests, (unsigned long long)count.lanes);
        line += text(", \"possible_lanes\": %llu, \"sectors\": %llu",
                     (unsigned long long)count.full, (unsigned long long)count.sectors);
        line +=
            text(", \"wavefronts\": %llu, \"bytes\": %llu}",
                 (unsigned long long)count.wavefronts, (unsigned long long)count.bytes);
        record(line);
    }
}

}  // namespace cusim

#endif
