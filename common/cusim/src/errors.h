// SPDX-License-Identifier: MIT
/* errors.h - keeps the error that cudaGetLastError returns */
#ifndef CUSIM_ERRORS_H
#define CUSIM_ERRORS_H

#include "cusim/api.h"

namespace cusim
{

/* Remember an error (not cudaSuccess) and return it, or the one that stays for ever. */
cudaError_t fail(cudaError_t error);

/* A kernel failed: the context is lost, as on a card. */
void fail_for_ever(cudaError_t error);

/* cudaSuccess, or the error that stays. */
cudaError_t status();

void forget_errors();

/* A kernel was launched; somebody asked for the last error; the program ends. */
void note_launch(Where where);
void note_check();
void note_end();

}  // namespace cusim

#endif
