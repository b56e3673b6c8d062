// SPDX-License-Identifier: MIT
/* scratch.h - scratch memory for kernels on the CPU, kept from call to call
 *
 * A convolution needs a few megabytes of scratch memory in each call. The operating
 * system maps new memory page by page, at the first access, and takes it back at free.
 * This costs 0.1 ms or more in a call of 2 ms. So each thread keeps the scratch memory
 * of its last calls, up to KEPT_MOST bytes for each operator.
 */
#pragma once

#include <stdlib.h>

#include <memory>
#include <vector>

/* Gives scratch memory to one call of an operator. A thread has one call at a time. */
class __attribute__((visibility("hidden"))) Scratch
{
  public:
    ~Scratch()
    {
        if (asked_ <= kept().bytes || asked_ > KEPT_MOST) return;
        kept().block.reset();  // first: two blocks may be too much
        kept().block = block_of(asked_);
        kept().bytes = kept().block ? asked_ : 0;
    }

    /* Returns memory aligned to 64 bytes, contents undefined; NULL if there is none. */
    void *take(size_t bytes)
    {
        if (bytes > SIZE_MAX - ALIGNMENT - asked_) return nullptr;
        const size_t begin = asked_;
        asked_ += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (asked_ <= kept().bytes)
            return static_cast<char *>(kept().block.get()) + begin;
        more_.push_back(block_of(asked_ - begin));
        return more_.back().get();
    }

  private:
    static constexpr size_t ALIGNMENT = 64, KEPT_MOST = 32 << 20;
    struct free_t {
        void operator()(void *block) const
        {
            free(block);
        }
    };
    using block_t = std::unique_ptr<void, free_t>;
    struct kept_t {
        block_t block;
        size_t bytes = 0;
    };

    static block_t block_of(size_t bytes)  // bytes: a multiple of ALIGNMENT
    {
        return block_t(aligned_alloc(ALIGNMENT, bytes));
    }

    static kept_t &kept()
    {
        static thread_local kept_t mine;
        return mine;
    }

    size_t asked_ = 0;           // bytes that this call has taken
    std::vector<block_t> more_;  // blocks of this call only
};
