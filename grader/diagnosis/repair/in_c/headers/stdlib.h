// SPDX-License-Identifier: MIT
/* stdlib.h - what a parser of C needs of stdlib.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_STDLIB_H
#define CONVLAB_PARSED_STDLIB_H

#include <stddef.h>
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *memory, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
void free(void *memory);
int abs(int x);
long labs(long x);
long long llabs(long long x);
void qsort(void *array, size_t count, size_t bytes,
           int (*compare)(const void *, const void *));
void exit(int status);
void abort(void);

#endif
