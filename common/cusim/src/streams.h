// SPDX-License-Identifier: MIT
/* streams.h - names of streams; all work is done at once, in the order of the calls */
#ifndef CUSIM_STREAMS_H
#define CUSIM_STREAMS_H

#include "cusim/core.h"

namespace cusim
{

/* Returns false and reports a finding if the stream was never made or is destroyed.
 * `what` uses it: "a launch". NULL and CUDA's two special handles always exist. */
bool stream_exists(cudaStream_t stream, const char *what, Where where);

/* Reports `what`: it uses the default stream, but an operator gets a stream. */
void only_given_stream(const char *what, Where where);

}  // namespace cusim

#endif
