// SPDX-License-Identifier: MIT
/* untraced.cpp - fences and atomics for builds without counts and race checks */
#include "schedule.h"

#ifndef CUSIM_TRACE
namespace cusim
{

void fence(Where)
{
}

void atomic(const volatile void *, size_t, Where)
{
}

Unseen::Unseen()
{
}

Unseen::~Unseen()
{
}

}  // namespace cusim
#endif
