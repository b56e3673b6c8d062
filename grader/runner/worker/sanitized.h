// SPDX-License-Identifier: MIT
/* sanitized.h - what `worker-asan` does differently from `worker`
 *
 * It is the same program, linked with AddressSanitizer and UBSan and compiled with
 * SANITIZED. Each tensor is in a malloc'ed block of exactly its extent. Scratch memory
 * is too, and it is freed when the operator returns. If an access is outside of a
 * block, or in freed memory, the process ends. Its report names the line.
 *
 * Memory that nobody wrote holds signalling NaN, here the stack as well. The first
 * arithmetic on it traps. The line and the block are noted, and the call goes on. The
 * result may never be used, so the note counts only if an output is wrong.
 */
#ifndef CONVLAB_SANITIZED_H
#define CONVLAB_SANITIZED_H

#include "link.h"
#include "tensor.h"

#ifdef SANITIZED
enum { WITH_SANITIZERS = 1 };

/* Move the tensors of a call into blocks of their own, contents and all. */
void sanitized_enter(const link_t *link, tensor_t tensor[MAX_TENSORS],
                     tensor_t *const pointer[MAX_TENSORS]);

/* Copy outputs back into their slots and free all blocks. */
void sanitized_leave(const link_t *link);

/* Around the student's function: paint the stack and set the traps; take them away and
 * leave the notes in reply->notes, a line for each place: its tag, then addresses from
 * the innermost out, all in hexadecimal. */
void sanitized_watch(void);
void sanitized_rest(reply_t *reply);

#else
#ifdef DEVICE_SANITIZED
enum { WITH_SANITIZERS = 1 };  // worker-cuda-check: device.cpp moves the tensors
#else
enum { WITH_SANITIZERS = 0 };
#endif

static inline void sanitized_enter(const link_t *link, tensor_t tensor[MAX_TENSORS],
                                   tensor_t *const pointer[MAX_TENSORS])
{
    (void)link, (void)tensor, (void)pointer;
}
static inline void sanitized_leave(const link_t *link)
{
    (void)link;
}
static inline void sanitized_watch(void)
{
}
static inline void sanitized_rest(reply_t *reply)
{
    (void)reply;
}

#endif
#endif
