// SPDX-License-Identifier: MIT
/* link.h - connects a worker, in C or Python, with the two shared memories */
#ifndef CONVLAB_LINK_H
#define CONVLAB_LINK_H

#include "../supervisor/protocol.h"

typedef struct {
    const command_t *command;  // read-only
    reply_t *reply;
    char *in[IN_SLOTS];  // read-only, an unmapped page on both sides
    char *out[OUT_SLOTS];
    int go, done;  // pipes: we read one and write the other
} link_t;

/* Map everything and close the two memory descriptors, so that student code inherits
 * neither. Returns 0, or -1 with errno. */
int link_attach(link_t *link, int in_memory, int out_memory, int go, int done);

/* Sleep until the supervisor rings. Returns 0, or -1 when the bell is gone. */
int link_wait(link_t *link);

/* Tell the supervisor that the command is done. */
void link_done(link_t *link);

#endif
