// SPDX-License-Identifier: MIT
/* float.h - what a parser of C needs of float.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_FLOAT_H
#define CONVLAB_PARSED_FLOAT_H

#define FLT_MAX     3.40282346638528859812e+38F
#define FLT_MIN     1.17549435082228750797e-38F
#define FLT_EPSILON 1.19209289550781250000e-07F
#define DBL_MAX     1.79769313486231570815e+308
#define DBL_MIN     2.22507385850720138309e-308
#define DBL_EPSILON 2.22044604925031308085e-16

#endif
