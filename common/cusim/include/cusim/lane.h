// SPDX-License-Identifier: MIT
/* lane.h - the number of the running lane, read without a trace
 *
 * The thread's position is kept in host memory, which a traced kernel may not read.
 */
#ifndef CUSIM_LANE_H
#define CUSIM_LANE_H

#include "core.h"
#include "marks.h"

namespace cusim
{

CUSIM_QUIET inline int lane_number()
{
    return position().lane;
}

}  // namespace cusim

#endif
