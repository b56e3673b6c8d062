// SPDX-License-Identifier: MIT
/* word.h - the words that memory is copied in, whatever the type of what is copied
 *
 * WordOf<bytes> is copied in one access of 4, 8 or 16 bytes, which the counts must see.
 */
#ifndef CUSIM_WORD_H
#define CUSIM_WORD_H

#include <cstdint>

namespace cusim
{

template <int bytes> struct WordOf {
    static_assert(bytes == 16, "words of 4, 8 or 16 bytes are copied at a time");
    typedef uint32_t type __attribute__((vector_size(16), may_alias));
};
template <> struct WordOf<4> {
    typedef uint32_t type __attribute__((may_alias));
};
template <> struct WordOf<8> {
    typedef uint64_t type __attribute__((may_alias));
};

}  // namespace cusim

#endif
