// SPDX-License-Identifier: MIT
/* stdio.h - what a parser of C needs of stdio.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_STDIO_H
#define CONVLAB_PARSED_STDIO_H

#include <stddef.h>
typedef struct file FILE;
extern FILE *stdin, *stdout, *stderr;
int printf(const char *format, ...);
int fprintf(FILE *file, const char *format, ...);
int snprintf(char *text, size_t bytes, const char *format, ...);
int puts(const char *text);
int fflush(FILE *file);

#endif
