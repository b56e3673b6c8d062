// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "core.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "poison.h"

#define IN_BYTES  (WORDS_BYTES + IN_SLOTS * SLOT_BYTES)
#define OUT_BYTES (WORDS_BYTES + OUT_SLOTS * SLOT_BYTES)

enum {
    FENCE_BYTES = PAGE_BYTES,
    STOP_LIMIT_MS = 10000,  // a thread that waits for the disk stops when it has it
    STOP_SPINS = 4,
    LONGEST_NAP = 10,  // 2^10 us
    STAGGER_BYTES = 13 * 64,
};

/* What was left in a bank of output slots when its case was taken. */
typedef struct {
    int count;
    region_t region[SIDE_TENSORS];
} bank_t;

struct session {
    int memory[2];       // IN, OUT
    int go[2], done[2];  // pipes, read end first: neither side shares a flag or a count
    char *in, *out;
    command_t *command;
    const reply_t *reply;
    int pid, pidfd, stat;
    int queue, own_queue;  // /proc/.../schedstat of the worker and of ourselves
    int frozen;
    int bank;
    bank_t left[2];
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- memories and bells ---------------------------------------------------------- */

/* A memory whose size nobody can change any more: a file cut short under our mapping
 * would end us with SIGBUS. */
static int open_memory(const char *name, int64_t bytes, char **mapping)
{
    const int fd = memfd_create(name, MFD_ALLOW_SEALING);
    if (fd < 0) return -1;
    if (ftruncate(fd, bytes)) return -1;
    *mapping =
        (char *)mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*mapping == (char *)MAP_FAILED) return -1;
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    return fd;
}

session_t *session_open(void)
{
    session_t *s = (session_t *)calloc(1, sizeof *s);
    if (!s) return NULL;
    prctl(PR_SET_TIMERSLACK, 1000);  // ns: short sleeps are as short as they say
    prctl(PR_SET_DUMPABLE, 0);  // our memory holds answers: /proc/PID/mem stays closed
    s->pidfd = s->stat = s->queue = s->own_queue = -1;
    s->memory[0] = s->memory[1] = s->go[0] = s->go[1] = s->done[0] = s->done[1] = -1;
    s->memory[0] = open_memory("convlab-in", IN_BYTES, &s->in);
    s->memory[1] = open_memory("convlab-out", OUT_BYTES, &s->out);
    if (s->memory[0] < 0 || s->memory[1] < 0 || pipe2(s->go, O_CLOEXEC) ||
        pipe2(s->done, O_CLOEXEC)) {
        session_close(s);
        return NULL;
    }
    fcntl(s->go[1], F_SETFL, O_NONBLOCK);
    fcntl(s->done[0], F_SETFL, O_NONBLOCK);
    // our mapping of IN keeps its right to write, nobody gets a new one
    fcntl(s->memory[0], F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
    fcntl(s->memory[1], F_ADD_SEALS, F_SEAL_SEAL);
    s->command = (command_t *)(void *)s->in;
    s->reply = (const reply_t *)(const void *)s->out;
    s->command->magic = PROTOCOL_MAGIC;
    s->command->version = PROTOCOL_VERSION;
    return s;
}

void session_descriptors(const session_t *session, int descriptor[4])
{
    descriptor[0] = session->memory[0];
    descriptor[1] = session->memory[1];
    descriptor[2] = session->go[0];
    descriptor[3] = session->done[1];
}

const reply_t *session_reply(const session_t *session)
{
    return session->reply;
}

const command_t *session_command(const session_t *session)
{
    return session->command;
}

void session_prepare(session_t *session, int op)
{
    session->command->op = op;
}

void session_close(session_t *session)
{
    if (session->in) munmap(session->in, (size_t)IN_BYTES);
    if (session->out) munmap(session->out, (size_t)OUT_BYTES);
    const int fds[] = {session->memory[0], session->memory[1], session->go[0],
                       session->go[1],     session->done[0],   session->done[1],
                       session->pidfd,     session->stat,      session->queue,
                       session->own_queue};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (fds[i] >= 0) close(fds[i]);
    }
    free(session);
}

/* ---- stop and go ----------------------------------------------------------------- */

int session_adopt(session_t *session, int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    session->pid = pid;
    session->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    session->stat = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    session->queue = open(path, O_RDONLY | O_CLOEXEC);
    session->own_queue = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    return session->pidfd < 0 || session->stat < 0 ? -1 : 0;
}

/* State letter and number of threads from an open /proc/.../stat. The name in the
 * second field may hold anything, so reading starts behind its last parenthesis. */
static char read_stat(int stat, long *threads)
{
    char text[1024];
    const ssize_t got = pread(stat, text, sizeof text - 1, 0);
    if (got <= 0) return '?';
    text[got] = 0;
    const char *field = strrchr(text, ')');
    if (!field) return '?';
    const char state = field[2];
    field += 2;
    for (int i = 3; i < 20 && field; i++) field = strchr(field + 1, ' ');
    *threads = field ? strtol(field, NULL, 10) : 1;
    return state;
}

/* Nanoseconds a thread has waited for a core, the second number of its schedstat; 0
 * where the kernel keeps no such count. */
static int64_t waited_ns(int schedstat)
{
    char text[128];
    const ssize_t got = pread(schedstat, text, sizeof text - 1, 0);
    if (got <= 0) return 0;
    text[got] = 0;
    char *second = NULL;
    strtoll(text, &second, 10);
    return strtoll(second, NULL, 10);
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0, 0};
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* What has been spent up to now: by all threads of the worker, ended ones too, by this
 * thread, and by either in the queue for a core. */
typedef struct {
    int64_t theirs, ours, queued;
} spent_t;

static spent_t spent_now(const session_t *s)
{
    clockid_t clock;
    const int known = clock_getcpuclockid(s->pid, &clock) == 0;
    return (spent_t){known ? clock_ns(clock) : 0, clock_ns(CLOCK_THREAD_CPUTIME_ID),
                     waited_ns(s->queue) + waited_ns(s->own_queue)};
}

static int64_t between_0_and(int64_t most, int64_t value)
{
    return value < 0 || most < 0 ? 0 : value < most ? value : most;
}

/* Our work and the waiting count only up to what the worker's own work leaves of the
 * clock: a thread that works while another one queues behind it is work. */
static void account(request_t *request, spent_t before, spent_t after)
{
    const int64_t rest = request->wall_ns - (after.theirs - before.theirs);
    request->own_ns = between_0_and(rest, after.ours - before.ours);
    request->lost_ns =
        between_0_and(rest - request->own_ns, after.queued - before.queued);
}

static int is_still(char state)
{
    return state == 'T' || state == 't' || state == 'Z' || state == 'X' || state == '?';
}

static int every_thread_still(int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks) return 1;  // gone
    int still = 1;
    const struct dirent *entry;
    while (still && (entry = readdir(tasks))) {
        if (entry->d_name[0] == '.') continue;
        char stat_path[340];
        snprintf(stat_path, sizeof stat_path, "%s/%s/stat", path, entry->d_name);
        const int stat = open(stat_path, O_RDONLY | O_CLOEXEC);
        long threads;
        if (stat >= 0) still = is_still(read_stat(stat, &threads));
        if (stat >= 0) close(stat);
    }
    closedir(tasks);
    return still;
}

static int freeze(session_t *s)
{
    if (s->frozen) return 0;
    kill(s->pid, SIGSTOP);
    const int64_t limit = now_ns() + STOP_LIMIT_MS * INT64_C(1000000);
    for (int spins = 0;; spins++) {
        long threads = 1;
        const char state = read_stat(s->stat, &threads);
        if (is_still(state) && (threads <= 1 || every_thread_still(s->pid))) break;
        if (now_ns() > limit) return -1;
        // on a shared core the worker must run to be stopped: after a few offers this
        // thread leaves the queue, or a third one would be served before the worker.
        // A short sleep is dear itself, so each sleep is twice as long as the last one
        if (spins < STOP_SPINS)
            sched_yield();
        else
            usleep(1u << (spins < LONGEST_NAP ? spins : LONGEST_NAP));
    }
    s->frozen = 1;
    return 0;
}

static void thaw(session_t *s)
{
    if (s->frozen) kill(s->pid, SIGCONT);
    s->frozen = 0;
}

char session_state(const session_t *session)
{
    long threads;
    return read_stat(session->stat, &threads);
}

int session_wait(session_t *session, int64_t deadline_ns)
{
    struct pollfd wait[2] = {{.fd = session->done[0], .events = POLLIN},
                             {.fd = session->pidfd, .events = POLLIN}};
    const int64_t end = now_ns() + deadline_ns;
    for (;;) {
        const int64_t left = end - now_ns();
        if (left <= 0) return OUTCOME_TIMEOUT;
        const struct timespec timeout = {left / 1000000000, left % 1000000000};
        const int ready = ppoll(wait, 2, &timeout, NULL);
        if (ready < 0) return errno == EINTR ? OUTCOME_INTERRUPTED : OUTCOME_DIED;
        if (ready == 0) continue;
        char ring;
        if (wait[0].revents & POLLIN && read(session->done[0], &ring, 1) == 1) {
            return OUTCOME_RETURNED;
        }
        if (wait[1].revents) return OUTCOME_DIED;
        if (wait[0].revents & POLLHUP) wait[0].fd = -1;  // closed: wait for its death
    }
}

/* Empty the pipe of rings that student code made up; bounded, should it go on. */
static void drain(int done)
{
    char stale[4096];
    for (int i = 0; i < 64 && read(done, stale, sizeof stale) > 0; i++) continue;
}

/* Ring and wait. The clock runs from the bell to the answer or the confirmed stop. */
static int hand_over(session_t *s, int64_t deadline_ns, int stop, int64_t *wall_ns)
{
    long threads;
    if (s->frozen && !is_still(read_stat(s->stat, &threads))) return OUTCOME_NOT_FROZEN;
    drain(s->done[0]);
    s->command->go++;
    const int64_t start = now_ns();
    if (write(s->go[1], "", 1) != 1) return OUTCOME_DIED;
    thaw(s);
    int outcome = session_wait(s, deadline_ns);
    if (outcome == OUTCOME_RETURNED && stop && freeze(s)) outcome = OUTCOME_NOT_FROZEN;
    *wall_ns = now_ns() - start;
    return outcome;
}

int session_load(session_t *session, const char *text, int64_t bytes,
                 int64_t deadline_ns)
{
    if (bytes > SLOT_BYTES) return OUTCOME_TOO_LARGE;
    if (bytes) memcpy(session->in + WORDS_BYTES, text, (size_t)bytes);
    session->command->run = RUN_LOAD;
    session->command->bytes = bytes;
    int64_t wall_ns;
    return hand_over(session, deadline_ns, 0, &wall_ns);
}

/* ---- one case -------------------------------------------------------------------- */

/* Whether side `i` holds numbers before the call. */
static int is_filled(int i, const side_t *side)
{
    return i < SIDE_TENSORS || side->present == SIDE_FILLED;
}

/* Where side `i` of a request lies: fills the wire tensor and the region in our
 * mapping. Returns 0, or -1 if it does not fit. */
static int place(session_t *s, const request_t *request, int i, region_t *region)
{
    const side_t *side = &request->side[i];
    wire_tensor_t *wire = &s->command->tensor[i];
    wire->slot = side->present ? i % SIDE_TENSORS : -1;
    if (!side->present) return 0;
    wire->ndim = side->ndim;
    wire->dtype = side->dtype;
    wire->bank = i < SIDE_TENSORS ? 0 : s->bank;
    const int64_t element = (int64_t)poison_bytes(side->dtype);
    int64_t last = 0, numel = 1;
    for (int d = 0; d < side->ndim; d++) {
        wire->size[d] = side->size[d];
        wire->stride[d] = side->stride[d];
        last += (side->size[d] - 1) * side->stride[d];
        numel *= side->size[d];
    }
    wire->extent = numel ? (last + 1) * element : 0;
    const int64_t padded = (wire->extent + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    wire->call_step = padded + FENCE_BYTES;
    const int64_t span = (request->calls - 1) * wire->call_step + wire->extent;
    // for the stopwatch tensors end at different places of a page, as in a heap: where
    // the low bits of addresses agree, loads wait for stores to other tensors
    const int64_t apart = request->placement == PLACE_ALIGN ? i * STAGGER_BYTES : 0;
    if (span + apart + FENCE_BYTES > SLOT_BYTES) return -1;
    wire->offset = request->placement == PLACE_LEFT ? 0 : SLOT_BYTES - span - apart;
    if (request->placement == PLACE_ALIGN) wire->offset &= ~INT64_C(63);
    char *side_base = i < SIDE_TENSORS ? s->in : s->out;
    const int slot = wire->bank * SIDE_TENSORS + wire->slot;
    region->slot = side_base + WORDS_BYTES + slot * SLOT_BYTES;
    region->offset = wire->offset;
    region->extent = wire->extent;
    region->step = wire->call_step;
    region->calls = request->calls;
    region->dtype = side->dtype;
    region->numel = numel;
    region->tag = (is_filled(i, side) ? TAG_OUTSIDE : TAG_UNWRITTEN) + (uint32_t)i;
    return 0;
}

/* Did anything change in the outputs that this bank held two cases ago? */
static int late_writes(const bank_t *bank)
{
    for (int i = 0; i < bank->count; i++) {
        if (!region_is_poison(&bank->region[i])) return 1;
    }
    return 0;
}

static void take_output(side_t *side, const region_t *region)
{
    side->unwritten = side->tainted = side->taint = 0;
    for (int call = 0; call < region->calls; call++) {
        char *data = region->slot + region->offset + call * region->step;
        char *host = (char *)side->host + call * region->extent;
        memcpy(host, data, (size_t)region->extent);
        findings_t found = poison_find(host, region->numel, region->dtype, region->tag);
        if (found.unwritten && !side->unwritten)
            side->first_unwritten = found.first_unwritten;
        if (found.tainted && !side->tainted) {
            side->first_tainted = found.first_tainted;
            side->taint = found.taint;
        }
        side->unwritten += found.unwritten;
        side->tainted += found.tainted;
    }
    side->fence = region_fence(region, FENCE_BYTES);
}

/* Put everything in place. Returns 0, or -1 if a tensor does not fit. */
static int place_all(session_t *s, request_t *request, region_t region[MAX_TENSORS])
{
    s->bank ^= 1;
    request->late = request->calls == 1 && late_writes(&s->left[s->bank]);
    s->left[s->bank].count = 0;
    for (int i = 0; i < MAX_TENSORS; i++) {
        if (place(s, request, i, &region[i])) return -1;
        if (!request->side[i].present) continue;
        region_poison(&region[i], FENCE_BYTES);
        if (is_filled(i, &request->side[i])) region_fill(&region[i], &request->side[i]);
    }
    s->command->op = request->op;
    s->command->run = request->run;
    s->command->calls = request->calls;
    s->command->threads = request->threads;
    memcpy(s->command->options, request->options, OPTIONS_BYTES);
    return 0;
}

void session_place(session_t *session, request_t *request)
{
    region_t region[MAX_TENSORS];
    const int failed = place_all(session, request, region);
    request->outcome = failed ? OUTCOME_TOO_LARGE : OUTCOME_RETURNED;
}

void session_run(session_t *s, request_t *request)
{
    region_t region[MAX_TENSORS];
    request->outcome = OUTCOME_TOO_LARGE;
    if (place_all(s, request, region)) return;
    const int timed = request->run & RUN_TIMED;
    const spent_t before = timed ? spent_now(s) : (spent_t){0, 0, 0};
    request->outcome =
        hand_over(s, request->deadline_ns, request->freeze, &request->wall_ns);
    if (timed) account(request, before, spent_now(s));
    if (request->outcome != OUTCOME_RETURNED) return;
    bank_t *bank = &s->left[s->bank];
    for (int i = SIDE_TENSORS; i < MAX_TENSORS; i++) {
        if (request->side[i].present != SIDE_PRESENT) continue;
        take_output(&request->side[i], &region[i]);
        if (request->calls > 1 || region[i].extent > (1 << 20)) continue;
        region_poison(&region[i], 0);
        bank->region[bank->count++] = region[i];
    }
}

int64_t session_look_again(session_t *session, const request_t *request, int i, int ms)
{
    region_t region;
    if (place(session, request, i, &region)) return 0;
    thaw(session);
    usleep((useconds_t)ms * 1000);
    freeze(session);
    const findings_t found = poison_find(region.slot + region.offset, region.numel,
                                         region.dtype, region.tag);
    return found.unwritten;
}

/* ---- for a debugger -------------------------------------------------------------- */

/* What nobody has written stays a hole, here too: reading it would fill it. */
static int save_memory(const char *path, int memory, const char *from, int64_t bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return -1;
    int failed = ftruncate(fd, bytes);
    int64_t at = lseek(memory, 0, SEEK_DATA);  // -1: no more data
    while (at >= 0 && at < bytes && !failed) {
        const int64_t end = lseek(memory, at, SEEK_HOLE);
        while (at < end && !failed) {
            const ssize_t done = pwrite(fd, from + at, (size_t)(end - at), at);
            failed = done <= 0;
            at += done;
        }
        at = lseek(memory, end, SEEK_DATA);
    }
    return close(fd) || failed ? -1 : 0;
}

int session_save(const session_t *session, const char *in_path, const char *out_path)
{
    return save_memory(in_path, session->memory[0], session->in, IN_BYTES) ||
                   save_memory(out_path, session->memory[1], session->out, OUT_BYTES)
               ? -1
               : 0;
}
