// SPDX-License-Identifier: MIT
/* string.h - what a parser of C needs of string.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_STRING_H
#define CONVLAB_PARSED_STRING_H

#include <stddef.h>
void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *lhs, const void *rhs, size_t bytes);
size_t strlen(const char *text);

#endif
