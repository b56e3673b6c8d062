// SPDX-License-Identifier: MIT
/* races.c - keeps the time of every access, to find accesses that nothing orders
 *
 * Members run one after the other. One counter, `tick`, gives every access a time. It
 * is the time of the last event where its thread passed on its knowledge, or got some.
 * A member knows, for each other member, up to which time its accesses are safe.
 */
#define _GNU_SOURCE
#include "races.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD = 4,  // bytes that are remembered together
    PAGE_WORDS = 1024,
    LAST_PAGES = 64,
    BUCKETS = 4096,  // a power of 2
    MOST_FINDINGS = 16,
    PATIENCE = 1 << 22,  // accesses until another member has its turn: one may wait
    LINE = 160,
};

/* An access to a word; no bytes: there was none. */
typedef struct {
    uint32_t tick, code;  // code: where in the rung
    uint8_t member, bytes, kind, unused;
} past_t;

/* Its last write, and the last reads of two members. */
typedef struct {
    past_t write, read[2];
} word_t;

typedef struct page {
    struct page *next;
    uintptr_t number;
    word_t word[PAGE_WORDS];
} page_t;

/* What was handed on by whoever released it. */
typedef struct object {
    struct object *next;
    const void *address;
    uint32_t region;
    uint32_t known[MOST_MEMBERS];
} object_t;

typedef struct {
    uint32_t known[MOST_MEMBERS];  // accesses of the others up to this time
    uint32_t now;
    uintptr_t stack;  // below here is its own
    int patience;
} member_t;

static page_t *pages[BUCKETS], *last[LAST_PAGES];
static object_t *objects[BUCKETS];
static member_t member[MOST_MEMBERS];
static uint32_t tick, region;
static int members;
static _Thread_local int self = -1;  // no member

/* ---- the report ------------------------------------------------------------------ */

static reply_t *page_of_reply;
static uint64_t base;
static uint32_t told[MOST_FINDINGS][2];
static int findings, calls[2];

void races_watch(reply_t *reply, int threads)
{
    page_of_reply = reply;
    base = reply->module_base;
    reply->report[0] = 0;
    reply->report_cut = 0;
    findings = 0;
    team_begin(threads, calls[reply->direction == 1]++ % 2);
}

static void tell(const char *line)
{
    char *report = page_of_reply->report;
    const size_t used = strnlen(report, REPORT_BYTES - 1);
    if (used + strlen(line) + 2 > REPORT_BYTES) return;
    snprintf(report + used, REPORT_BYTES - used, "%s\n", line);
}

/* Whether a race of these two places is new. */
static int is_new(uint32_t code, uint32_t other)
{
    for (int i = 0; i < findings; i++) {
        if (told[i][0] == code && told[i][1] == other) return 0;
    }
    return findings < MOST_FINDINGS;
}

static void report(uintptr_t word, const past_t *now, const past_t *past)
{
    if (!is_new(now->code, past->code)) return;
    told[findings][0] = now->code;
    told[findings++][1] = past->code;
    const int both = now->bytes & past->bytes;
    char line[LINE];
    snprintf(line, sizeof line, "race %llx %d %d %x %d %d %x",
             (unsigned long long)word + (unsigned)__builtin_ctz((unsigned)both),
             now->kind, now->member, now->code, past->kind, past->member, past->code);
    tell(line);
}

/* ---- what orders accesses -------------------------------------------------------- */

/* Of all that was done up to now, also by members of larger regions before. */
static void know_everything(void)
{
    for (int i = 0; i < members; i++) {
        for (int k = 0; k < MOST_MEMBERS; k++) member[i].known[k] = tick;
    }
    for (int i = 0; i < members; i++) member[i].now = ++tick;
}

void races_fork(int count)
{
    members = count;
    region++;
    know_everything();
}

void races_enter(int number)
{
    member[number].stack = (uintptr_t)__builtin_frame_address(0);
    member[number].patience = PATIENCE;
    self = number;
}

void races_leave(void)
{
    self = -1;
}

void races_barrier(void)
{
    know_everything();
}

static unsigned bucket_of(uintptr_t number)
{
    return (unsigned)((number * 0x9e3779b97f4a7c15u) >> 52) % BUCKETS;
}

static object_t *object_at(const void *address)
{
    object_t **place = &objects[bucket_of((uintptr_t)address)];
    object_t *found = *place;
    while (found && found->address != address) found = found->next;
    if (!found) {
        found = (object_t *)calloc(1, sizeof *found);
        if (!found) abort();
        found->address = address;
        found->next = *place;
        *place = found;
    }
    if (found->region != region) memset(found->known, 0, sizeof found->known);
    found->region = region;
    return found;
}

static void take_later(uint32_t *mine, const uint32_t *theirs)
{
    for (int i = 0; i < members; i++) {
        if (theirs[i] > mine[i]) mine[i] = theirs[i];
    }
}

void races_release(const void *address)
{
    if (self < 0) return;
    object_t *object = object_at(address);
    take_later(object->known, member[self].known);
    object->known[self] = member[self].now;
    member[self].now = ++tick;
}

void races_acquire(const void *address)
{
    if (self >= 0) take_later(member[self].known, object_at(address)->known);
}

/* ---- what was done to a word ----------------------------------------------------- */

static page_t *page_at(uintptr_t number)
{
    page_t **recent = &last[number % LAST_PAGES];
    if (*recent && (*recent)->number == number) return *recent;
    page_t **place = &pages[bucket_of(number)];
    page_t *found = *place;
    while (found && found->number != number) found = found->next;
    if (!found) {
        found = (page_t *)calloc(1, sizeof *found);
        if (!found) abort();
        found->number = number;
        found->next = *place;
        *place = found;
    }
    return *recent = found;
}

static word_t *word_at(uintptr_t address)
{
    const uintptr_t number = address / WORD;
    return &page_at(number / PAGE_WORDS)->word[number % PAGE_WORDS];
}

static void compare(uintptr_t word, const past_t *now, const past_t *past)
{
    if (!(now->bytes & past->bytes) || now->member == past->member) return;
    if (past->tick <= member[now->member].known[past->member]) return;
    if (now->kind & past->kind & ATOMIC) return;
    report(word, now, past);
}

/* Whether an access tells nothing that the one before has not told. */
static int repeats(const past_t *now, const past_t *past)
{
    return now->tick == past->tick && now->member == past->member &&
           !(now->bytes & ~past->bytes) && past->kind <= now->kind;
}

/* Remember an access in the place of one before; of the same time both. */
static void put(past_t *past, const past_t *now)
{
    const int both = past->member == now->member && past->tick == now->tick &&
                     past->kind == now->kind;
    const uint8_t bytes = both ? past->bytes | now->bytes : now->bytes;
    *past = *now;
    past->bytes = bytes;
}

static void write_to(uintptr_t address, word_t *word, const past_t *now)
{
    if (repeats(now, &word->write)) return;
    compare(address, now, &word->write);
    compare(address, now, &word->read[0]);
    compare(address, now, &word->read[1]);
    put(&word->write, now);
    word->read[0].bytes = word->read[1].bytes = 0;  // who meets them meets the write
}

static void read_from(uintptr_t address, word_t *word, const past_t *now)
{
    past_t *read = word->read;
    if (repeats(now, &read[0]) || repeats(now, &read[1])) return;
    compare(address, now, &word->write);
    const int first = !read[0].bytes || read[0].member == now->member;
    const int second = !read[1].bytes || read[1].member == now->member;
    put(&read[first || !second ? 0 : 1], now);
}

void races_access(const void *address, size_t bytes, int kind, const void *pc)
{
    if (self < 0) return;
    member_t *me = &member[self];
    if (--me->patience <= 0) {
        me->patience = PATIENCE;
        team_yield();
    }
    const uintptr_t begin = (uintptr_t)address, end = begin + bytes;
    if (begin >= (uintptr_t)__builtin_frame_address(0) && begin < me->stack) return;
    past_t now = {.tick = me->now,
                  .code = (uint32_t)((uintptr_t)pc - base),
                  .member = (uint8_t)self,
                  .kind = (uint8_t)kind};
    for (uintptr_t at = begin / WORD * WORD; at < end; at += WORD) {
        const unsigned from = at < begin ? (unsigned)(begin - at) : 0;
        const unsigned to = at + WORD > end ? (unsigned)(end - at) : WORD;
        now.bytes = (uint8_t)((1u << to) - (1u << from));
        if (kind & WRITE) {
            write_to(at, word_at(at), &now);
        } else {
            read_from(at, word_at(at), &now);
        }
    }
}

void races_forget(const void *address, size_t bytes)
{
    if (self < 0) return;
    const uintptr_t begin = (uintptr_t)address;
    for (uintptr_t at = begin / WORD * WORD; at < begin + bytes; at += WORD) {
        memset(word_at(at), 0, sizeof(word_t));
    }
}
