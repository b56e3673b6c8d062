// SPDX-License-Identifier: MIT
/* core.h - the supervisor's functions in C: memory, poison, freezing, the clock
 *
 * Python decides what to run and judges the result. One call of session_run does all
 * the rest: it hands over the inputs and takes back the outputs. So the clock starts
 * just before the student's code and stops just after it. A case takes microseconds.
 * session.py loads this through ctypes; its structures mirror the ones below.
 */
#ifndef CONVLAB_CORE_H
#define CONVLAB_CORE_H

#include "protocol.h"

/* Where a tensor lies in its slot. */
enum {
    PLACE_RIGHT = 0,  // the last byte touches the guard page: overruns fault
    PLACE_LEFT = 1,   // the first byte does: underruns fault
    PLACE_ALIGN = 2,  // on multiples of 64 bytes, far from each other in their pages:
                      // for the stopwatch
};

enum {
    OUTCOME_RETURNED = 0,
    OUTCOME_DIED = 1,
    OUTCOME_TIMEOUT = 2,
    OUTCOME_TOO_LARGE = 3,    // a tensor does not fit its slot; nothing was run
    OUTCOME_NOT_FROZEN = 4,   // the worker could not be stopped, or did not stay so
    OUTCOME_INTERRUPTED = 5,  // a signal for us: nothing is known of the case
};

/* What a request says of a tensor. SIDE_FILLED is an output that holds numbers before
 * the call, as a saved tensor does for backward. */
enum { SIDE_ABSENT = 0, SIDE_PRESENT = 1, SIDE_FILLED = 2 };

/* One tensor of a request, and what was found in it afterwards. */
typedef struct {
    int32_t present;  // a SIDE_
    int32_t dtype;
    int32_t ndim;
    int32_t taint;      // found: the tag of the first tainted element, 0 for none
    int64_t size[6];    // elements
    int64_t stride[6];  // elements; of an output that the call fills: contiguous
    void *host;         // dense row-major elements: copied in, or copied out. With
                        // several calls in a request, one block after the other
    int64_t unwritten;  // outputs: elements whose poison is untouched
    int64_t first_unwritten;
    int64_t tainted;  // outputs: results of arithmetic on poison
    int64_t first_tainted;
    int64_t fence;  // 0, or how many bytes before the output the nearest write fell
} side_t;

typedef struct {
    int32_t op, run, calls, threads;
    int32_t placement;
    int32_t freeze;  // stop the worker before looking; the clock includes the stop
    int64_t deadline_ns;
    unsigned char options[OPTIONS_BYTES];
    side_t side[MAX_TENSORS];  // as wire_tensor_t: in from 0, out from SIDE_TENSORS
    int32_t outcome;
    int32_t late;     // an earlier case's output changed after it was taken
    int64_t wall_ns;  // from the bell to the answer, or to the confirmed stop
    // RUN_TIMED: of these, spent waiting while others had the core, and by us
    int64_t lost_ns, own_ns;
} request_t;

typedef struct session session_t;

/* Make the two memories and the two bells. NULL with errno on failure. */
session_t *session_open(void);

/* The descriptors a worker inherits: IN, OUT, GO, DONE. */
void session_descriptors(const session_t *session, int descriptor[4]);

const reply_t *session_reply(const session_t *session);
const command_t *session_command(const session_t *session);

/* Take charge of the worker. Returns 0, or -1 with errno. */
int session_adopt(session_t *session, int pid);

/* Wait until the worker rings. Returns an OUTCOME_. */
int session_wait(session_t *session, int64_t deadline_ns);

/* Which operator the worker is to load, before it starts. */
void session_prepare(session_t *session, int op);

/* Have the worker load the rung: a library it was started with (0 bytes), or the text
 * of a Python file. Student code runs from here on. */
int session_load(session_t *session, const char *text, int64_t bytes,
                 int64_t deadline_ns);

/* The first half of session_run: command and inputs are in place, nothing has run. */
void session_place(session_t *session, request_t *request);

/* One case, from inputs to outputs. Fills outcome and findings. */
void session_run(session_t *session, request_t *request);

/* Let a stopped worker go on for `ms`, stop it and count unwritten elements again: a
 * thread that was late shows as a smaller number, which is returned for output `i`. */
int64_t session_look_again(session_t *session, const request_t *request, int i, int ms);

/* The worker's state as in /proc/PID/stat: R, S, T, D, Z; '?' if it is gone. */
char session_state(const session_t *session);

/* Write the command as it stands and all inputs into two files, for worker --replay. */
int session_save(const session_t *session, const char *in_path, const char *out_path);

/* Free everything but the worker, which the caller has ended. */
void session_close(session_t *session);

#endif
