// SPDX-License-Identifier: MIT
/* streams.h - names of streams; all work is done at once, in the order of the calls */
#ifndef CUSIM_STREAMS_H
#define CUSIM_STREAMS_H

#include "cusim/core.h"

namespace cusim
{

/* False, and a finding, if the stream was never made or has been destroyed. `what` uses
 * it: "a launch". NULL and CUDA's two special handles exist always. */
bool stream_exists(cudaStream_t stream, const char *what, Where where);

/* A finding if an operator runs: it is given a stream. `what` uses the default one. */
void only_given_stream(const char *what, Where where);

}  // namespace cusim

#endif
