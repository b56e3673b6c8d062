// SPDX-License-Identifier: MIT
/* stddef.h - what a parser of C needs of stddef.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_STDDEF_H
#define CONVLAB_PARSED_STDDEF_H

typedef unsigned long size_t;
typedef long ptrdiff_t;
#define NULL ((void *)0)

#endif
