// SPDX-License-Identifier: MIT
/* errors.h - keeps the error that cudaGetLastError returns */
#ifndef CUSIM_ERRORS_H
#define CUSIM_ERRORS_H

#include "cusim/api.h"

namespace cusim
{

/* Stores an error (not cudaSuccess) and returns it, or an error that stays for ever. */
cudaError_t fail(cudaError_t error);

/* Stores the error of a failed kernel for ever: the context is lost, as on a GPU. */
void fail_for_ever(cudaError_t error);

/* Returns cudaSuccess, or the error that stays for ever. */
cudaError_t status();

void forget_errors();

/* Called at a launch, at a check of the last error, and at the program's end. */
void note_launch(Where where);
void note_check();
void note_end();

}  // namespace cusim

#endif
