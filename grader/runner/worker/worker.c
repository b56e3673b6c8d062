// SPDX-License-Identifier: MIT
/* worker - runs a student's shared object, one call at a time
 *
 *   worker FORWARD.so BACKWARD.so IN OUT GO DONE LEVEL PATH...
 *       IN, OUT, GO, DONE are inherited descriptors (protocol.h). LEVEL is the sandbox:
 *       bwrap (already around this process), landlock (it shows the PATHs), or none.
 *   worker --replay FORWARD.so BACKWARD.so IN.bin OUT.bin
 *       runs the one command kept in IN.bin and ends: for a debugger.
 *   worker --card
 *       says that it can use the device and ends: for tools that may not start.
 *
 * Both libraries may be the same file. This process knows no right answer, no clock and
 * no score. The supervisor freezes, reads and kills it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "device.h"
#include "limits.h"
#include "link.h"
#include "races.h"
#include "sanitized.h"
#include "refusing.h"
#include "teams.h"

enum {
    CARD_ROOM_MIB = 16384,  // CUDA maps and pins memory of its own
    FIRST_PATH = 8,         // of the words that the worker was called with
    FEW_TURNS = 1 << 12,    // of loops, for a call of a changed file
    MOST_TURNS = 1 << 22,
};

typedef struct {
    void *library[2];  // that defines forward, backward
    void *function[2];
    uint64_t base[2];  // where each library was mapped
} rung_t;

/* ---- loading --------------------------------------------------------------------- */

static void fail_to_load(link_t *link, const char *text)
{
    snprintf(link->reply->message, MESSAGE_BYTES, "%s", text ? text : "unknown error");
    link->reply->status = REPLY_LOAD_ERROR;
    link_done(link);
    _exit(2);
}

static void load(link_t *link, rung_t *rung, const char *const paths[2])
{
    static const char *const direction[2] = {"_forward", "_backward"};
    const int number = link->command->op;
    for (int d = 0; d < 2; d++) {
        const int same = d == 1 && strcmp(paths[0], paths[1]) == 0;
        rung->library[d] =
            same ? rung->library[0] : dlopen(paths[d], RTLD_NOW | RTLD_LOCAL);
        if (!rung->library[d]) fail_to_load(link, dlerror());
        char symbol[64];
        snprintf(symbol, sizeof symbol, "%s%s", calls_of(number)->name,
                 is_view(number) ? "" : direction[d]);
        rung->function[d] = dlsym(rung->library[d], symbol);
        Dl_info where;
        if (rung->function[d] && dladdr(rung->function[d], &where)) {
            rung->base[d] = (uint64_t)(uintptr_t)where.dli_fbase;
        }
        teams_of(rung->library[d]);
    }
}

/* ---- one command ----------------------------------------------------------------- */

/* The tensors as call number `call` sees them. NULL where the command says so. */
static void view_tensors(const link_t *link, int call, tensor_t tensor[MAX_TENSORS],
                         tensor_t *pointer[MAX_TENSORS])
{
    for (int i = 0; i < MAX_TENSORS; i++) {
        const wire_tensor_t *wire = &link->command->tensor[i];
        pointer[i] = NULL;
        if (wire->slot < 0) continue;
        char *slot = i < SIDE_TENSORS
                         ? link->in[wire->slot]
                         : link->out[wire->bank * SIDE_TENSORS + wire->slot];
        // an empty tensor may have no memory at all, so here it never has
        tensor[i].data =
            wire->extent ? slot + wire->offset + call * wire->call_step : NULL;
        tensor[i].ndim = wire->ndim;
        tensor[i].dtype = (dtype_t)wire->dtype;
        tensor[i].device = DEVICE_CPU;
        memcpy(tensor[i].size, wire->size, sizeof wire->size);
        memcpy(tensor[i].stride, wire->stride, sizeof wire->stride);
        pointer[i] = &tensor[i];
    }
}

/* What <op>_check says of a call. It reads tensors, so that they are not moved yet. */
static int check_direction(const link_t *link, const ctx_t *given, int d,
                           tensor_t *const pointer[MAX_TENSORS])
{
    const command_t *command = link->command;
    if (command->run & RUN_TIMED) return STATUS_OK;  // the same case passed before
    const operator_calls_t *op = calls_of(command->op);
    const call_fn check = d ? op->backward_check : op->forward_check;
    ctx_t ctx = *given;
    ctx.device = DEVICE_CPU;        // where the tensors still are
    ctx.scratch = scratch_guarded;  // the check has memory, whatever the rung gets
    const int checked =
        check(NULL, &ctx, pointer, pointer + SIDE_TENSORS, command->options);
    scratch_release();
    if (checked != STATUS_OK) memcpy(link->reply->message, ctx.error, sizeof ctx.error);
    return checked == STATUS_OK ? STATUS_OK : REPLY_CHECK;
}

static int run_direction(const link_t *link, rung_t *rung, ctx_t *ctx, int d,
                         tensor_t *const pointer[MAX_TENSORS])
{
    const command_t *command = link->command;
    const operator_calls_t *op = calls_of(command->op);
    tensor_t *const *in = pointer, *const *out = pointer + SIDE_TENSORS;
    if (!rung->function[d]) return STATUS_NOT_IMPLEMENTED;
    link->reply->direction = d;
    link->reply->module_base = rung->base[d];
    const call_fn call = d ? op->backward : op->forward;
    sanitized_watch();
    races_watch(link->reply, command->threads);
    int status = STATUS_OK;
    for (int left = device_repeats(link); left > 0 && status == STATUS_OK; left--) {
        device_clock_start(link);
        status = call(rung->function[d], ctx, in, out, command->options);
        device_clock_stop(link);
    }
    sanitized_rest(link->reply);
    if (scratch_release()) return REPLY_SCRATCH;
    if (scratch_crowded()) return REPLY_CROWD;
    return status >= STATUS_OK && status <= STATUS_UNSUPPORTED ? status : REPLY_STATUS;
}

static scratch_fn *scratch_of(const command_t *command)
{
    if (ON_DEVICE) return device_scratch;
    if (command->run & RUN_TIMED) return scratch_pooled;
    return command->threads > 1 ? scratch_in_turn : scratch_guarded;
}

/* A direction with its tensors where this worker wants them: moved, and back again. */
static int call_direction(const link_t *link, rung_t *rung, ctx_t *ctx, int d,
                          tensor_t tensor[MAX_TENSORS],
                          tensor_t *const pointer[MAX_TENSORS])
{
    sanitized_enter(link, tensor, pointer);
    int status = device_enter(link, ctx, tensor, pointer);
    link->reply->phase = PHASE_IN_CALL;
    if (status == STATUS_OK) status = run_direction(link, rung, ctx, d, pointer);
    status = device_leave(link, ctx, status);
    sanitized_leave(link);
    link->reply->phase = PHASE_RETURNED;
    return status;
}

static int run_command(const link_t *link, rung_t *rung)
{
    const command_t *command = link->command;
    reply_t *reply = link->reply;
    int32_t scratch_dtype = command->tensor[0].dtype;
    ctx_t ctx = {.threads = command->threads,
                 .device = DEVICE_CPU,
                 .scratch = scratch_of(command),
                 .scratch_state = &scratch_dtype};
    device_context(&ctx);
    device_begin(link);
    teams_disturb(command->threads > 1 && !(command->run & RUN_TIMED));
    const int last = command->run & RUN_BACKWARD ? 1 : 0;
    int status = STATUS_OK;
    for (int call = 0; call < command->calls && status == STATUS_OK; call++) {
        for (int d = 0; d < 2 && status == STATUS_OK; d++) {
            if (!(command->run & (d ? RUN_BACKWARD : RUN_FORWARD))) continue;
            tensor_t tensor[MAX_TENSORS], *pointer[MAX_TENSORS];
            view_tensors(link, call, tensor, pointer);  // anew: a rung may spoil them
            status = check_direction(link, &ctx, d, pointer);
            if (status != STATUS_OK) return status;
            if (command->run & RUN_NO_SCRATCH && d == last) {
                scratch_refuse(command->run >> RUN_REFUSE_SHIFT, scratch_of(command));
                ctx.scratch = scratch_refusing;
            }
            ctx.left = 0;
            status = call_direction(link, rung, &ctx, d, tensor, pointer);
        }
    }
    reply->left = ctx.left;
    reply->asked = scratch_asked();
    ctx.error[CTX_ERROR_BYTES - 1] = 0;
    snprintf(reply->message, MESSAGE_BYTES, "%s", ctx.error);
    return status;
}

static void set_number(const rung_t *rung, const char *name, int value)
{
    for (int d = 0; d < 2; d++) {
        int *number = (int *)dlsym(rung->library[d], name);
        if (number) *number = value;
    }
}

/* How many turns of loops a changed file may make, when the file as it is has left so
 * many of MOST_TURNS in the same case: it may have ended too soon. */
static int turns_for(const rung_t *rung)
{
    int left = MOST_TURNS;
    for (int d = 0; d < 2; d++) {
        const int *turns = (const int *)dlsym(rung->library[d], "convlab_turns");
        if (turns && *turns < left) left = *turns;
    }
    const int made = MOST_TURNS - left;
    return made > MOST_TURNS / 64 ? MOST_TURNS : 64 * made + FEW_TURNS;
}

/* A command with one change of the file, or with change 0: the file as it is. A fault
 * ends the call and not the worker, and too many turns of loops are a fault. */
static int run_edit(const link_t *link, rung_t *rung)
{
    static int turns = MOST_TURNS;
    static sigjmp_buf here;
    const int number = link->command->run >> RUN_EDIT_SHIFT;
    set_number(rung, "convlab_edit", number);
    set_number(rung, "convlab_turns", number ? turns : MOST_TURNS);
    int status = REPLY_STATUS;
    if (sigsetjmp(here, 1) == 0) {
        limits_resume(&here);
        status = run_command(link, rung);
    } else {
        status = REPLY_STATUS;
        scratch_release();
    }
    limits_resume(NULL);
    if (number == 0) turns = turns_for(rung);
    return status;
}

/* ---- the two ways to run --------------------------------------------------------- */

/* Limits. On a card the address space is the driver's, which reserves much of it. */
static int tie_hands(void)
{
    if (!ON_CARD) return limits_room((int64_t)ROOM_MIB << 20);
    return limits_room(0) || limits_heap((int64_t)CARD_ROOM_MIB << 20);
}

/* Files and system calls, by the level of the sandbox; on a card a little more. */
static void shut_in(link_t *link, char **argv)
{
    const char *const level = argv[7];
    const char *const *const devices = ON_CARD ? LIMITS_CARD : NULL;
    if (strcmp(level, "landlock") == 0) {
        const char *const *const paths = (const char *const *)(argv + FIRST_PATH);
        if (limits_landlock_with(paths, devices))
            fail_to_load(link, "this Linux kernel has no Landlock");
    } else if (ON_CARD || strcmp(level, "bwrap") == 0) {
        // in bwrap the files are walled in already; this keeps us off our parent, its
        // init, and on a card off writing to what is no device
        static const char *const all[] = {"/", NULL};
        limits_landlock_with(all, devices);
    }
    // a driver opens its devices once more
    const int more = ON_CARD ? LIMITS_LARGE | LIMITS_DEVICES : LIMITS_LOADING;
    if (limits_seccomp_with(more))
        fail_to_load(link, "this Linux kernel has no seccomp filter");
}

static int serve(char **argv)
{
    static link_t link;
    const int descriptor[4] = {atoi(argv[3]), atoi(argv[4]), atoi(argv[5]),
                               atoi(argv[6])};
    limits_parent();
    if (link_attach(&link, descriptor[0], descriptor[1], descriptor[2],
                    descriptor[3])) {
        perror("worker");
        return 3;
    }
    device_start(link.reply);
    // CONVLAB_GPU_SANDBOX=off: to find out which of them a driver runs into
    const int limited = !(ON_CARD && getenv("CONVLAB_GPU_SANDBOX"));
    if (limited && tie_hands()) {
        perror("worker");
        return 3;
    }
    if (limited) shut_in(&link, argv);
    // before loading: constructors may crash too; sanitizers bring their own handlers
    if (!WITH_SANITIZERS) limits_faults(link.reply);

    rung_t rung = {0};
    link.reply->phase = PHASE_READY;
    link_done(&link);
    if (link_wait(&link)) return 0;
    link.reply->phase = PHASE_LOADING;  // student code runs from here on
    load(&link, &rung, (const char *const *)(argv + 1));
    // sanitizers and cusim have handlers of their own
    const int ours = !WITH_SANITIZERS && !ON_DEVICE;
    if (limited && !ON_CARD && limits_seccomp_loaded(ours))
        fail_to_load(&link, "this Linux kernel has no second seccomp filter");
    link.reply->phase = PHASE_LOADED;
    link_done(&link);
    while (link_wait(&link) == 0) {
        const int changed = link.command->run & RUN_EDIT;
        link.reply->status =
            changed ? run_edit(&link, &rung) : run_command(&link, &rung);
        link_done(&link);
    }
    return 0;
}

static int replay(char **argv)
{
    static link_t link;
    const int in = open(argv[3], O_RDWR), out = open(argv[4], O_RDWR);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (in < 0 || out < 0 || link_attach(&link, in, out, -1, nowhere)) {
        perror("worker --replay");
        return 3;
    }
    device_start(link.reply);
    rung_t rung = {0};
    const char *const paths[2] = {argv[1], argv[2]};
    load(&link, &rung, paths);
    const int status = run_command(&link, &rung);
    printf("returned status %d%s%s\n", status, link.reply->message[0] ? ": " : "",
           link.reply->message);
    return 0;
}

static int try_card(void)
{
    static reply_t reply;
    device_start(&reply);
    puts("the card works");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--card") == 0) return try_card();
    if (argc == 6 && strcmp(argv[1], "--replay") == 0) return replay(argv + 1);
    if (argc >= FIRST_PATH) return serve(argv);
    fprintf(stderr, "usage: worker FORWARD.so BACKWARD.so IN OUT GO DONE LEVEL PATH..."
                    "\n"
                    "       worker --replay FORWARD.so BACKWARD.so IN.bin OUT.bin\n"
                    "       worker --card\n");
    return 2;
}
