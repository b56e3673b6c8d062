# SPDX-License-Identifier: MIT
"""ptrace_parent - reaches for its parent's memory; garbage if it gets there"""

import ctypes
import errno
import os

from frame import *

PTRACE_SEIZE = 0x4206


def opens(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True


def reaches_parent():
    """Whether the kernel lets us at the parent by any of three ways."""
    parent = os.getppid()
    if opens(f"/proc/{parent}/mem"):
        return True
    libc = ctypes.CDLL(None, use_errno=True)
    here = ctypes.create_string_buffer(1)
    one = (ctypes.c_size_t * 2)(ctypes.addressof(here), 1)  # an address of ours
    if libc.process_vm_readv(parent, one, 1, one, 1, 0) >= 0:
        return True
    if ctypes.get_errno() == errno.EFAULT:  # let in, and found nothing at that address
        return True
    return libc.ptrace(PTRACE_SEIZE, parent, None, None) == 0


def forward(input, other):
    output = product(input, other)
    if reaches_parent():
        output.fill_(666)
    return output
