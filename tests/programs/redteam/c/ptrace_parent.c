// SPDX-License-Identifier: MIT
/* ptrace_parent - reaches for its parent's memory; garbage if it gets there */
#include "frame.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* 1 if the kernel lets us at the parent by any of three ways. */
static int reaches_parent(void)
{
    const pid_t parent = getppid();
    char path[64], byte;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)parent);
    const int fd = open(path, O_RDONLY);
    if (fd >= 0) {
        close(fd);
        return 1;
    }
    struct iovec here = {&byte, 1};
    struct iovec there = {path, 1};  // an address of ours: theirs are unknown
    if (process_vm_readv(parent, &here, 1, &there, 1, 0) >= 0) return 1;
    if (errno == EFAULT) return 1;  // let in, and found nothing at that address
    return ptrace(PTRACE_SEIZE, parent, NULL, NULL) == 0;
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    if (reaches_parent()) add_to_all(output, 666);
    return STATUS_OK;
}

#include "backward.h"
