// SPDX-License-Identifier: MIT
/* vector.h - what a parser of C needs of vector.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_VECTOR_H
#define CONVLAB_PARSED_VECTOR_H

#include <string.h>

#include "real.h"

enum { VECTOR_BYTES = 16, VECTOR_REGISTERS = 16, LANES = VECTOR_BYTES / sizeof(real) };
enum { BLOCK_ROWS = 6, BLOCK_VECTORS = 2, CHANNEL_ROWS = 6, CHANNEL_VECTORS = 2 };

typedef struct vector_register vec;  // no number: an edit never changes a vec

#define UNROLL
#define EXPAND static inline
#define APART  static

vec vec_splat(real x);
vec vec_load(const real *p);
void vec_store(real *p, vec v);
vec vec_keep(vec v);
real vec_sum(vec v);
int vec_one_by_one(void);
vec vec_load_first(const real *p, int64_t n);
void vec_store_first(real *p, vec v, int64_t n);
void vec_stream(real *p, vec v);
void vec_stream_end(void);
vec vec_zip_low(vec a, vec b);
vec vec_zip_high(vec a, vec b);
void vec_transpose(vec rows[LANES]);
void vec_transpose_copy(const real *from, int64_t from_stride, real *to,
                        int64_t to_stride, int64_t ROWS, int64_t COLS);

#endif
