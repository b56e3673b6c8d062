// SPDX-License-Identifier: MIT
/* limits.h - the limits that a worker sets for itself before it loads student code
 *
 * Called once, in this order, by the C worker and (through ctypes) by the Python one.
 * From then on the process cannot start another process or raise its limits. It cannot
 * open a file for writing or use the network. It cannot signal, limit, trace or read
 * another process. This
 * needs no privileges and no helper program. If bubblewrap exists, it is used as well.
 */
#ifndef CONVLAB_GUARD_H
#define CONVLAB_GUARD_H

#include <setjmp.h>
#include <stdint.h>

#include "../supervisor/protocol.h"

/* Die with the supervisor, and have a session of our own: Ctrl-C is not for us. */
void limits_parent(void);

/* MiB that student code gets: scratch, threads, its own, and everything else. A macro,
 * because the sanitizers want it inside of a text. */
#define ROOM_MIB 1536
extern const int64_t LIMITS_ROOM;  // the same in bytes, for ctypes

/* No core files, no writing of files, no capabilities, and at most `room` bytes of
 * address space more than now (0: no limit). Returns 0, or -1 with errno. */
int limits_room(int64_t room);

/* At most `room` bytes more that can be written to: where the address space has to stay
 * free, because a driver reserves much of it. Returns 0, or -1 with errno. */
int limits_heap(int64_t room);

/* Landlock: nothing but reading below `paths` (NULL-terminated). Returns 0, or -1 with
 * errno where the kernel has no Landlock. */
int limits_landlock(const char *const *paths);

/* The same with devices that may also be written to and controlled; NULL for none. */
int limits_landlock_with(const char *const *paths, const char *const *devices);
extern const char *const LIMITS_CARD[];  // those of NVIDIA's driver

/* The system call filter. Returns 0, or -1 with errno. */
int limits_seccomp(void);

/* The same without some of its rules: 4 GiB and more may be asked for at once; what
 * exists may be opened for writing, where Landlock leaves devices alone to be written
 * to; another filter may follow. */
enum { LIMITS_LARGE = 1, LIMITS_DEVICES = 2, LIMITS_LOADING = 4 };
int limits_seccomp_with(int more);

/* After LIMITS_LOADING and after loading: no file is opened and no memory becomes
 * executable any more, in any thread; with `keep_faults` no handler of SIGSEGV or
 * SIGBUS is set either. Returns 0, or -1 with errno. */
int limits_seccomp_loaded(int keep_faults);

/* On a fatal signal write number, address and call chain into the reply page, then let
 * the signal's former handler have it. */
void limits_faults(reply_t *reply);

/* From now on a fatal signal of this thread jumps there instead; NULL: no longer. For a
 * diagnosis, which runs hundreds of changed functions: many of them leave a tensor. */
void limits_resume(sigjmp_buf *at);

#endif
