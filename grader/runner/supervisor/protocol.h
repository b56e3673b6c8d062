// SPDX-License-Identifier: MIT
/* protocol.h - the data that the supervisor and a worker exchange
 *
 * There are two shared memories. Only the supervisor writes IN: it is sealed against
 * everyone else. The worker writes OUT. Each begins with one page of words. Then come
 * slots, one tensor in each. A worker maps every slot once, with an unmapped guard
 * page on both sides, and never maps again:
 *
 *   IN    | command page | slot 0 | slot 1 | ... | slot 7 |
 *   OUT   | reply page   | slot 0 | slot 1 | ...                  | slot 15 |
 *   seen by the worker:  ... guard | slot 0 | guard | slot 1 | guard ...
 *
 * OUT slots are in two banks, used in turn. A thread may still write into the outputs
 * of the last case. Then the write is seen, and this case's outputs stay unchanged.
 *
 * The clock, the expected answers and the verdict never enter either memory. Everything
 * in the reply page is a hint from untrusted code. It may give a message its words. No
 * check passes because of it.
 */
#ifndef CONVLAB_PROTOCOL_H
#define CONVLAB_PROTOCOL_H

#include <stdint.h>

enum {
    PROTOCOL_MAGIC = 0x434c4142,  // "CLAB"
    PROTOCOL_VERSION = 1,
    PAGE_BYTES = 4096,
    WORDS_BYTES = 16 * PAGE_BYTES,  // room for the command or the reply page
    SIDE_TENSORS = 8,               // at most 8 tensors in, 8 out
    IN_SLOTS = SIDE_TENSORS,
    OUT_SLOTS = 2 * SIDE_TENSORS,  // two banks
    MAX_TENSORS = 2 * SIDE_TENSORS,
    OPTIONS_BYTES = 256,
    MESSAGE_BYTES = 1024,
    MAX_FRAMES = 32,
    REPORT_BYTES = 48 * 1024,
};
// 4096 x 4096 floats, and pages for fences and for the places of PLACE_ALIGN
#define SLOT_BYTES (((int64_t)64 << 20) + 16 * PAGE_BYTES)

/* What a command asks for. A gradient call has both bits: forward, then backward with
 * what forward saved, in one case. */
enum {
    RUN_FORWARD = 1,
    RUN_BACKWARD = 2,
    RUN_LOAD = 4,         // Python: slot 0 holds the file's text, `bytes` of it
    RUN_MODULE = 8,       // Python: through the nn.Module instead of the function
    RUN_AUDIT = 16,       // Python: note operators used and gradients given unasked
    RUN_DEFAULTS = 32,    // Python: leave out what equals its default, name the rest
    RUN_NO_SCRATCH = 64,  // C: ctx_scratch gives NULL for one request of the last
                          // direction, its number from RUN_REFUSE_SHIFT on; 0: for all
    RUN_TIMED = 128,      // C: ctx_scratch gives used blocks again, without poison
    RUN_COUNT = 1024,     // CUDA without a GPU: count accesses, do not look for races
    RUN_SECOND = 2048,  // Python: differentiate the gradients once more; in place of a
                        // gradient the derivative by its input, in place of a result
                        // that by its grad_output
    RUN_REVERSE = 256,  // the same: the last thread first
    RUN_RANDOM = 512,   // in a random order, its seed from this bit on:
    RUN_SEED_SHIFT = 16,
    RUN_REFUSE_SHIFT = 16,
    RUN_REPEAT_SHIFT = 16,  // a card, with RUN_TIMED: how often each call is made
    RUN_EDIT = 4096,        // C: one of many changes of a file is in force, its number
                            // from this bit on:
    RUN_EDIT_SHIFT = 16,
};

/* Where a worker is, for the sentence about its death. */
enum {
    PHASE_START = 0,
    PHASE_READY = 1,    // Python: torch is imported, no student code yet
    PHASE_LOADING = 2,  // student code runs from here on
    PHASE_LOADED = 3,
    PHASE_IN_CALL = 4,
    PHASE_RETURNED = 5,
    PHASE_FAULT = 6,  // a signal handler wrote signo, fault_addr, pc
};

/* What a call returned, beyond status_t (0 to 4). */
enum {
    REPLY_CONTRACT = 16,   // wrong shape, dtype or type came back
    REPLY_EXCEPTION = 17,  // Python raised
    REPLY_EXIT = 18,       // Python asked to exit
    REPLY_FORBIDDEN = 19,  // the library's own operator was called
    REPLY_LOAD_ERROR = 20,
    REPLY_CHECK = 21,        // <op>_check refused the arguments
    REPLY_SCRATCH = 22,      // bytes around a scratch block were overwritten
    REPLY_STATUS = 23,       // returned a number that is no status_t
    REPLY_DEVICE = 24,       // CUDA: memory could not be moved
    REPLY_WROTE_INPUT = 25,  // CUDA: message holds the tensor's position and the byte
    REPLY_GUARD = 26,        // a card: the same for a write around a tensor
    REPLY_CROWD = 27,        // two threads were in ctx_scratch at the same time
};

/* One tensor of a case, in slot `slot` of its side. */
typedef struct {
    int32_t slot;  // -1: NULL
    int32_t ndim;
    int32_t dtype;
    int32_t bank;       // of an output slot
    int64_t size[6];    // elements
    int64_t stride[6];  // elements
    int64_t offset;     // bytes from the start of the slot to element (0, 0, ...)
    int64_t extent;     // bytes from there to the end of the last element
    int64_t call_step;  // bytes from one fresh copy to the next, in a call of several
} wire_tensor_t;

typedef struct {
    uint32_t magic;
    uint32_t version;
    uint64_t go;  // number of the case
    int32_t op;   // position of the operator in operators.h
    int32_t run;  // RUN_ bits
    int32_t calls;
    int32_t threads;
    int64_t bytes;                      // of a RUN_LOAD
    wire_tensor_t tensor[MAX_TENSORS];  // inputs and grad_outputs from 0 on, outputs,
                                        // saved tensors and gradients from SIDE_TENSORS
    unsigned char options[OPTIONS_BYTES];
} command_t;

typedef struct {
    int32_t phase;
    int32_t status;
    int32_t signo;
    int32_t given;  // audit: bit i is gradient i given without being asked for
    int32_t frames;
    int32_t fault_write;  // 1 write, 0 read, -1 not known
    int32_t direction;    // 0 forward, 1 backward: what ran last
    int32_t asked;        // RUN_NO_SCRATCH: how many requests for scratch there were
    uint64_t fault_address;
    uint64_t module_base;
    uint64_t bytes_asked;        // of the memory request that raised SIGSYS
    uint64_t frame[MAX_FRAMES];  // program counters, innermost first
    uint64_t in_base[IN_SLOTS];  // where the worker sees its slots
    uint64_t out_base[OUT_SLOTS];
    char message[MESSAGE_BYTES];
    // audit: operators used, a blank between two; worker-asan: sanitized_rest's notes
    char notes[2 * MESSAGE_BYTES];
    int32_t report_cut;         // 1: the report had no room for everything
    int32_t left;               // backward: ctx->left, the gradients it did not write
    char report[REPORT_BYTES];  // CUDA without a GPU: what cusim found, a line each
    // a card, with RUN_TIMED: what events say of the calls together; audited outside
    int64_t device_ns, device_calls;
} reply_t;

/* Poison: a signalling NaN that carries the name of its owner in its low bits.
 * Arithmetic on it yields a quiet NaN with the same low bits, so a result tells what
 * was read. A tag is one of these plus the tensor's position. */
enum {
    TAG_OUTSIDE = 0x1000,    // around a tensor, and in the gaps between its strides
    TAG_UNWRITTEN = 0x2000,  // an output as the operator finds it
    TAG_SCRATCH = 0x3000,    // scratch memory, and around it
    TAG_LOCAL = 0x4000,      // worker-asan, in float: the stack
};

static inline uint64_t poison_bits(int32_t dtype, uint32_t tag)
{
    switch (dtype) {
    case 0: return 0x7d00u | (tag >> 12 << 4 & 0xf0u) | (tag & 0xfu);  // f16
    case 1: return 0x7fa0u | (tag >> 12 << 3 & 0x18u) | (tag & 0x7u);  // bf16
    case 2: return 0x7fa00000u | tag;                                  // f32
    case 3: return 0x7ff4000000000000u | tag;                          // f64
    case 4: return 0x5a5a0000u | tag;                                  // i32
    default: return 0x5a5a5a5a5a5a0000u | tag;                         // i64
    }
}

/* The bit that arithmetic sets when it passes a signalling NaN on; 0 for integers. */
static inline uint64_t quiet_bit(int32_t dtype)
{
    static const uint64_t bit[6] = {0x200, 0x40, 0x400000, 0x8000000000000, 0, 0};
    return bit[dtype];
}

#endif
