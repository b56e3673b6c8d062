// SPDX-License-Identifier: MIT
/* stdbool.h - what a parser of C needs of stdbool.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_STDBOOL_H
#define CONVLAB_PARSED_STDBOOL_H

#define bool _Bool
#define true 1
#define false 0

#endif
