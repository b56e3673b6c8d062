// SPDX-License-Identifier: MIT
/* assert.h - what a parser of C needs of assert.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_ASSERT_H
#define CONVLAB_PARSED_ASSERT_H

#define assert(condition) ((void)(condition))

#endif
