// SPDX-License-Identifier: MIT
/* races.cpp - finds unordered accesses to one word, at least one of them a write
 *
 * Each 4-byte word remembers its last write and its last two reads. Threads run one
 * after another. So one counter, `tick`, gives every access a time. The question is
 * which earlier accesses are ordered before the access of this thread:
 *
 *   of its own warp    those before the last collective of both lanes (and what those
 *                      lanes knew: vector clocks)
 *   of its own block   those before the last barrier
 *   of other blocks    those before a __threadfence whose thread then did an atomic
 *                      operation on an address that this block has since done one on
 *
 * If an access is forgotten, a race can be missed; a reported race is always real.
 */
#ifdef CUSIM_TRACE

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "block.h"
#include "memory.h"
#include "trace.h"

namespace cusim
{

struct Past {
    uint32_t block;  // low half of the block's serial number; 0: never
    uint16_t thread;
    uint8_t bytes;  // which of the four
    uint8_t atomic;
    uint32_t tick, code;
};

struct Word {
    Past write, read[2];
    bool filled;  // by the host, before the kernel
};

enum : uintptr_t { PAGE_WORDS = 1024, PAGE_BYTES = 4 * PAGE_WORDS, LAST_PAGES = 64 };

struct Page {
    Word word[PAGE_WORDS];
};

/* Accesses of another block that this one may rely on. */
struct Known {
    uint32_t all;                                   // of any thread before this tick
    std::unordered_map<uint16_t, uint32_t> thread;  // of this thread before that tick
};

struct Release {
    uint32_t block, all, tick;
    uint16_t thread;
};

struct WarpClock {
    uint32_t seen[32][32];  // lane i may rely on accesses of lane j before seen[i][j]
    bool met;               // some of its lanes, in this block
};

/* A race inside a warp, kept until its block has ended: where threads of other warps
 * meet at the same two lines, __syncwarp() would not help, and theirs is told first. */
struct Narrow {
    std::string sentence;
    Place places[2];
};

/* A plain read of what others change atomically: harmless if the reader's next step on
 * that word is atomic too, as in the loop around atomicCAS; else a race. */
struct Suspect {
    Access access;
    Position by;
    Place place;
    Past past;
};

/* A word that two lanes of a warp write by the same instruction. The second value is
 * not there yet when it is told; if it equals the first, the order does not matter. */
struct Twice {
    Access access;
    Position by;
    Place place;
    Past past;
    const volatile uint8_t *word;
    uint8_t bytes;     // of the word, that both write
    uint8_t value[4];  // the first one
};

static struct {
    std::unordered_map<uintptr_t, Page *> pages;
    std::vector<Twice> twice;  // of the access before this one
    std::vector<Suspect> suspects;
    std::map<std::pair<uint32_t, uint32_t>, Narrow> narrow;  // by the codes of both
    struct {
        uintptr_t key;
        Page *page;
    } last[LAST_PAGES];
    std::vector<const void *> codes;
    std::unordered_map<const void *, uint32_t> code_number;
    WarpClock warps[32];
    std::unordered_map<const volatile void *, std::vector<Release>> releases;
    std::unordered_map<uint32_t, Known> known;  // by block
    std::unordered_map<int, uint32_t> fenced;   // threads of this block: when
    uint32_t tick, barrier, block, first_block;
} * state;

static void ready()
{
    if (!state) state = new std::remove_pointer_t<decltype(state)>();
    if (!state->tick) state->tick = 1;
}

/* ---- what orders accesses -------------------------------------------------------- */

static void settle_twice();
static void report_suspects();
static void report_all();

void race_launch()
{
    ready();
    state->tick++;
    state->first_block = (uint32_t)block_serial + 1;
    state->releases.clear();
}

void race_launch_end()
{
    report_all();
}

void race_block()
{
    report_all();
    state->block = (uint32_t)block_serial;
    state->barrier = ++state->tick;
    for (WarpClock &clock : state->warps) {
        if (clock.met) clock = {};
    }
    state->known.clear();
    state->fenced.clear();
}

void race_block_sync()
{
    settle_twice();
    report_suspects();
    state->barrier = ++state->tick;
}

void race_warp_sync(int warp, unsigned lanes)
{
    settle_twice();
    report_suspects();
    WarpClock &clock = state->warps[(size_t)warp];
    const uint32_t tick = ++state->tick;
    clock.met = true;
    uint32_t joined[32] = {};
    for (int lane = 0; lane < 32; lane++) {
        if (!(lanes >> lane & 1)) continue;
        for (int other = 0; other < 32; other++) {
            joined[other] = std::max(joined[other], clock.seen[lane][other]);
        }
    }
    for (int lane = 0; lane < 32; lane++) {
        if (lanes >> lane & 1) joined[lane] = tick;
    }
    for (int lane = 0; lane < 32; lane++) {
        if (lanes >> lane & 1) memcpy(clock.seen[lane], joined, sizeof joined);
    }
}

void race_fence()
{
    state->fenced[position().thread] = ++state->tick;
}

/* An atomic after a fence publishes; any atomic learns what was published there. */
void race_atomic(const volatile void *address)
{
    const auto fence = state->fenced.find(position().thread);
    const auto place = state->releases.find(address);
    if (place != state->releases.end()) {
        for (const Release &release : place->second) {
            Known &known = state->known[release.block];
            known.all = std::max(known.all, release.all);
            uint32_t &own = known.thread[release.thread];
            own = std::max(own, release.tick);
        }
    }
    if (fence == state->fenced.end()) return;
    const uint16_t thread = (uint16_t)position().thread;
    const uint32_t all = std::min(state->barrier, fence->second);
    std::vector<Release> &list = state->releases[address];
    list.push_back({state->block, all, fence->second, thread});
    for (const auto &[block, known] : state->known) {
        if (block == state->block) continue;  // and what it had learnt itself
        for (const auto &[other, tick] : known.thread) {
            list.push_back({block, known.all, tick, other});
        }
    }
}

static bool is_ordered(const Past &past)
{
    const Position &self = position();
    if (past.block < state->first_block) return true;  // an earlier launch
    if (past.block == state->block) {
        if (past.thread == self.thread || past.tick < state->barrier) return true;
        const WarpClock &clock = state->warps[(size_t)self.warp];
        if (past.thread / 32 == self.warp &&
            past.tick < clock.seen[self.lane][past.thread % 32]) {
            return true;
        }
    }
    const auto known = state->known.find(past.block);
    if (known == state->known.end()) return false;
    if (past.tick < known->second.all) return true;
    const auto own = known->second.thread.find(past.thread);
    return own != known->second.thread.end() && past.tick < own->second;
}

/* ---- one access ------------------------------------------------------------------ */

static Word &word_at(uintptr_t address)
{
    const uintptr_t key = address / PAGE_BYTES;
    auto &last = state->last[key % LAST_PAGES];
    if (key != last.key || !last.page) {
        Page *&page = state->pages[key];
        if (!page) page = new Page();
        last = {key, page};
    }
    return last.page->word[address / 4 % PAGE_WORDS];
}

static uint32_t number_of(const void *code)
{
    static struct {
        const void *code;
        uint32_t number;
    } last[256];
    auto &known = last[(uintptr_t)code / 4 % 256];
    if (known.code == code) return known.number;
    const auto [entry, added] =
        state->code_number.emplace(code, (uint32_t)state->codes.size());
    if (added) state->codes.push_back(code);
    known = {code, entry->second};
    return entry->second;
}

static const char *verb(const Access &access)
{
    return access.op == Op::load    ? "read"
           : access.op == Op::store ? "written"
                                    : "changed by an atomic operation";
}

static void report(const Access &access, const Place &place, const Past &past,
                   bool past_write)
{
    const bool global = access.space != Space::shared;
    const char *where = global ? "global memory" : "shared memory";
    const char *name = shared_name(access.address);
    if (name && strcmp(name, "dynamic shared memory") == 0) {
        where = name;
        name = nullptr;
    }
    const bool other_block = past.block != state->block;
    const bool same_warp = !other_block && past.thread / 32 == access.by->warp;
    const bool both_write = past_write && access.op == Op::store;
    const char *const advice =
        other_block
            ? "blocks run in any order. Give each element to one block (does the index "
              "contain blockIdx?), or use an atomic operation or a second kernel"
        : global ? "give each element to one thread (is the index right?), or put a "
                   "barrier between the two accesses"
        : both_write ? "give each word to one thread (is the index right?), or put a "
                       "barrier between the two writes"
        : same_warp  ? "put __syncwarp() or __syncthreads() between the two accesses"
                     : "put __syncthreads() between the two accesses";
    Place other = {past_write ? "written" : "read"};
    other.code = state->codes[past.code];
    other.in_kernel = !other_block;
    other.block = blockIdx;
    if (!other_block) other.thread = thread_index(past.thread);
    const std::string sentence =
        text("two threads of %s use the same word of %s%s%s, at least one writes, and "
             "nothing orders them; %s",
             other_block ? "different blocks"
             : same_warp ? "one warp"
                         : "one block",
             where, name ? " in " : "", name ? name : "", advice);
    if (same_warp) {
        const uint32_t code = number_of(access.code);
        state->narrow.insert({{code, past.code}, {sentence, {place, other}}});
    } else {
        found(Level::error, "race", sentence, {place, other});
    }
}

static Place place_of(const Access &access)
{
    return here(verb(access), access.code);
}

static void report_suspects()
{
    std::vector<Suspect> suspects;
    suspects.swap(state->suspects);
    for (Suspect &suspect : suspects) {
        suspect.access.by = &suspect.by;
        report(suspect.access, suspect.place, suspect.past, true);
    }
}

/* A block has ended: what was held back for its sake as well. */
static void report_all()
{
    settle_twice();
    report_suspects();
    for (const auto &[codes, race] : state->narrow) {
        found(Level::error, "race", race.sentence, {race.places[0], race.places[1]});
    }
    state->narrow.clear();
}

/* This thread's atomic operation on a word makes its plain reads of it harmless. */
static void clear_suspects(const Access &access, Word &word)
{
    const uint16_t thread = (uint16_t)access.by->thread;
    for (Past &read : word.read) {
        if (read.block == state->block && read.thread == thread) read.atomic = 1;
    }
    auto &list = state->suspects;
    list.erase(
        std::remove_if(list.begin(), list.end(),
                       [&](const Suspect &suspect) {
                           const auto gap = suspect.access.address - access.address;
                           return suspect.by.thread == thread && gap < 8 && gap > -8;
                       }),
        list.end());
}

/* Both values of each word that was written twice are there now. */
static void settle_twice()
{
    std::vector<Twice> list;
    list.swap(state->twice);
    for (Twice &twice : list) {
        bool same = true;
        for (int byte = 0; byte < 4; byte++) {
            const bool both = twice.bytes >> byte & 1;
            same &= !both || twice.word[byte] == twice.value[byte];
        }
        twice.access.by = &twice.by;
        if (same) {
            found(Level::note, "same_value",
                  "several lanes of a warp write the same value to one word. This is "
                  "right, but one lane is enough: if (threadIdx.x % 32 == 0)",
                  {twice.place});
        } else {
            report(twice.access, twice.place, twice.past, true);
        }
    }
}

/* Keep a word for settle_twice(), if that is what two lanes do. */
static bool is_twice(const Access &access, uint32_t code, uintptr_t address,
                     uint8_t bytes, const Past &past)
{
    if (access.op != Op::store || past.atomic || past.code != code ||
        past.block != state->block || past.thread / 32 != access.by->warp) {
        return false;
    }
    const auto *const word = (const volatile uint8_t *)address;
    state->twice.push_back({access,
                            *access.by,
                            place_of(access),
                            past,
                            word,
                            (uint8_t)(bytes & past.bytes),
                            {}});
    for (int byte = 0; byte < 4; byte++) {
        if (bytes & past.bytes & 1 << byte)
            state->twice.back().value[byte] = word[byte];
    }
    return true;
}

static bool conflicts(const Past &past, uint8_t bytes, bool atomic)
{
    return past.block && past.bytes & bytes && !(past.atomic && atomic) &&
           !is_ordered(past);
}

/* Whether bytes of a word are as they came. gcc does not tell of what a function stores
 * through its result: s[i] = take(x), 16 bytes. */
static bool is_new(uintptr_t address, uint8_t bytes)
{
    for (int byte = 0; byte < 4; byte++) {
        const uint8_t now = ((const volatile uint8_t *)address)[byte];
        if (bytes & 1 << byte && now != NEW_BYTE) return false;
    }
    return true;
}

static void unwritten(const Access &access)
{
    std::string sentence = text("'%s' is read, but no thread of the block has written "
                                "it; shared memory is undefined when a block begins",
                                shared_name(access.address));
    if (const int gone = now.barrier.gone) {
        sentence += text("; %d of the block's %zu threads had returned before the last "
                         "barrier: should they write it? Let every thread write it, "
                         "and put only the results into a condition",
                         gone, now.threads.size());
    }
    found(Level::warning, "uninitialized_shared", sentence,
          {here("read", access.code)});
}

static void unfilled(const Access &access)
{
    found(Level::warning, "uninitialized_global",
          "device memory is read that neither the host nor a kernel has written. New "
          "memory is undefined: use cudaMemset or cudaMemcpy first",
          {here(verb(access), access.code)});
}

void trace_fill(const void *address, size_t bytes)
{
    ready();
    const uintptr_t begin = (uintptr_t)address & ~(uintptr_t)3;
    for (uintptr_t at = begin; at < (uintptr_t)address + bytes; at += 4) {
        word_at(at).filled = true;
    }
}

static void note_read(Word &word, const Past &now)
{
    Past &slot = word.read[0].block == now.block && word.read[0].thread == now.thread
                     ? word.read[0]
                     : word.read[1];
    if (&slot == &word.read[1] && word.read[1].thread != now.thread) {
        word.read[0] = word.read[1];
    }
    slot = now;
}

/* Shared memory is new in every block. */
static void forget_other_blocks(Word &word)
{
    for (Past *past : {&word.write, &word.read[0], &word.read[1]}) {
        if (past->block != state->block) past->block = 0;
    }
}

static void access_word(const Access &access, uint32_t code, uintptr_t address,
                        uint8_t bytes)
{
    Word &word = word_at(address);
    const bool atomic = access.op == Op::atomic;
    const Past now = {
        state->block, (uint16_t)access.by->thread, bytes, atomic, state->tick, code};
    if (access.space == Space::shared) forget_other_blocks(word);
    if (atomic) clear_suspects(access, word);
    if (conflicts(word.write, bytes, atomic)) {
        if (access.op == Op::load && word.write.atomic) {
            state->suspects.push_back(
                {access, *access.by, place_of(access), word.write});
        } else if (!is_twice(access, code, address, bytes, word.write)) {
            report(access, place_of(access), word.write, true);
        }
    }
    const bool empty = !word.write.block && !word.filled;
    if (access.op != Op::store && access.space == Space::global && empty &&
        is_device(access.address) && is_new(address, bytes)) {
        unfilled(access);
    }
    if (access.op == Op::load) {
        if (access.space == Space::shared && empty && is_new(address, bytes)) {
            unwritten(access);
        }
        note_read(word, now);
        return;
    }
    for (const Past &read : word.read) {
        if (conflicts(read, bytes, atomic)) {
            report(access, place_of(access), read, false);
        }
    }
    word.write = now;
}

void race_access(const Access &access)
{
    if (!state->twice.empty()) settle_twice();
    const uintptr_t begin = (uintptr_t)access.address, end = begin + access.bytes;
    const uint32_t code = number_of(access.code);
    for (uintptr_t address = begin & ~(uintptr_t)3; address < end; address += 4) {
        uint8_t bytes = 0;
        for (uintptr_t byte = 0; byte < 4; byte++) {
            if (address + byte >= begin && address + byte < end) bytes |= 1 << byte;
        }
        access_word(access, code, address, bytes);
    }
}

}  // namespace cusim

#endif
