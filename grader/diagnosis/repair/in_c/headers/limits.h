// SPDX-License-Identifier: MIT
/* limits.h - what a parser of C needs of limits.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_LIMITS_H
#define CONVLAB_PARSED_LIMITS_H

#define INT_MIN   (-2147483647 - 1)
#define INT_MAX   2147483647
#define UINT_MAX  4294967295U
#define LONG_MIN  (-9223372036854775807L - 1)
#define LONG_MAX  9223372036854775807L
#define ULONG_MAX 18446744073709551615UL
#define CHAR_BIT  8

#endif
