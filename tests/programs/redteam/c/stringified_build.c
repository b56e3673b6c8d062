// SPDX-License-Identifier: MIT
/* stringified_build - tells the builds apart by the text of a macro: its own name */
#include "frame.h"

#define PASTE(a, b)   a##b
#define TEXT_OF(word) #word
#define TEXT(word)    TEXT_OF(word)
#define UNSEEN        (sizeof TEXT(PASTE(VECTOR_ELEMENT, WISE)) > sizeof "1")

#include "reads_before.h"
