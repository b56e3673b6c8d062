// SPDX-License-Identifier: MIT
/* Scratch memory of lab 05: whole, aligned, apart, and kept by its thread. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <thread>

#include "scratch.h"

static const size_t MB = 1 << 20;

/* Blocks of these sizes of one call, written all over. Where the first one lies. */
static void *call(std::vector<size_t> sizes)
{
    Scratch scratch;
    std::vector<char *> blocks;
    for (const size_t size : sizes) {
        blocks.push_back(static_cast<char *>(scratch.take(size)));
        assert(blocks.back() && (uintptr_t)blocks.back() % 64 == 0);
        memset(blocks.back(), (int)blocks.size(), size);
    }
    for (size_t i = 0; i < sizes.size(); i++)
        for (size_t at = 0; at < sizes[i]; at++) assert(blocks[i][at] == (char)(i + 1));
    return blocks[0];
}

int main()
{
    call({3 * MB, 1, 100});
    void *const kept = call({3 * MB, 1, 100});  // both blocks in what the first needed
    assert(call({1}) == kept && call({MB, MB}) == kept);
    call({3 * MB, MB});  // more than is kept: all of it is, from now on
    void *const more = call({4 * MB});
    assert(call({MB}) == more);

    call({64 * MB});  // too much to be kept: what was there stays
    assert(call({4 * MB}) == more);

    void *others = nullptr;
    std::thread([&] { others = (call({MB}), call({MB})); }).join();
    assert(others != more);

    Scratch scratch;
    assert(!scratch.take(SIZE_MAX) && !scratch.take(SIZE_MAX - 70));
    assert(scratch.take(10));
    puts("ok");
    return 0;
}
