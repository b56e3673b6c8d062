// SPDX-License-Identifier: MIT
/* stdarg.h - what a parser of C needs of stdarg.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_STDARG_H
#define CONVLAB_PARSED_STDARG_H

typedef void *va_list;

#endif
