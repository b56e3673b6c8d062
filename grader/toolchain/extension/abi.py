# SPDX-License-Identifier: MIT
"""Checks a library of lab 05 against the list of symbols that it may import.

A library for the stable ABI needs only a few dozen C functions of PyTorch. None of them
computes. Any other symbol could lead to somebody else's operator, or bind the library
to one version of PyTorch.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from grader.errors import ProductError
from grader.toolchain.symbols import FORBIDDEN_SYMBOLS, symbols

SYSTEM = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1")
# before glibc 2.34 these functions of the C library had files of their own
EARLIER = ("libdl.so.2", "libpthread.so.0", "librt.so.1")
# what a linker adds, and finds or not when the library is loaded
LINKER = re.compile(r"_ITM_\w+|__gmon_start__|__cxa_finalize|__tls_get_addr")

# PyTorch's C functions that describe, make and hold tensors, register operators, and
# hand out the stream; patterns, matched whole
SHIMS = re.compile(
    r"""
    aoti_torch_(abi_version|is_contiguous|is_defined|warn|check)
  | aoti_torch_get_(current_|data_|device_|storage_|stride|size|dim|dtype|numel)\w*
  | aoti_torch_get_layout
  | aoti_torch_(empty_strided|new_tensor_handle|new_uninitialized_tensor)
  | aoti_torch_(delete|create)_(tensor_object|library_object|device_guard|stream)
  | aoti_torch_(create|delete)_cuda\w*_guard | aoti_torch_(cuda|device)_guard_set_index
  | aoti_torch_(zero_|copy_|tensor_copy_|clone|clone_preserve_strides)
  | aoti_torch_(library|device_type|dtype|layout|memory_format)_\w+
  | aoti_torch_stream_id | aoti_torch_grad_mode_\w+
  | torch_get_(const|mutable)_data_ptr | torch_get_(num_threads|thread_idx)
  | torch_(parallel_for|has_storage|library_\w+|tag_\w+|dtype_\w+)
  | torch_(new|delete)_(list_reserve_size|list|string_handle|string|stable_ivalue)
  | torch_(list|string)_\w+ | torch_exception_get_what\w* | torch_shim_bc_\w+
  | torch_c10_cuda_\w+ | torch_stream_native_handle | torch_cuda_stream_synchronize
  | torch_get_cuda_stream_from_pool | torch_set_current_cuda_stream
  | (cuda|__cuda)\w+
    """,
    re.VERBOSE,
)
COMPUTES = re.compile(r"conv|_mm|addmm|bmm|linear|matmul|gemm|im2col|col2im|cblas")


def judge(library: Path) -> str:
    """A sentence about the first symbol that is not on the list; "" if all are.

    Raises ProductError if a C or C++ library is not found, which may have the symbol.
    """
    taken = sorted(symbols(library)[1])
    strange = [name for name in taken if not _allowed(name)]
    if not strange:
        return ""
    worst = [name for name in strange if COMPUTES.search(_plain(name))]
    return _sentence((worst or strange)[0])


def _allowed(name: str) -> bool:
    if name in FORBIDDEN_SYMBOLS and name != "dlsym":  # PyTorch's own headers call it
        return False
    is_ours = SHIMS.fullmatch(name) or LINKER.fullmatch(name)
    return bool(is_ours) or _of_the_system(name)


def _sentence(name: str) -> str:
    """What a library is told that wants this."""
    plain = _plain(name)
    if "call_dispatcher" in name:
        return (
            f"calls '{name}', which can call every operator of PyTorch. Use the "
            "kernels of csrc/kernels.h (they take any strides, so no copy is needed) "
            "and bridge.h's empty_like"
        )
    if COMPUTES.search(plain):
        return (
            f"calls '{plain}', PyTorch's own operator: call your kernel through `run`"
        )
    if re.match(r"(at|c10|torch)::", plain):
        return (
            f"needs '{plain}', which is not in the stable ABI. A library that needs it "
            "works with only one version of PyTorch. Include headers of "
            "torch/csrc/stable and torch/headeronly, but no ATen header"
        )
    if name in FORBIDDEN_SYMBOLS:
        return f"calls '{name}', which no operator needs"
    if missing := [one for one in SYSTEM if not (_linked(one) or _loaded(one))]:
        raise ProductError(
            f"cannot check whether '{plain}' is in the standard libraries, because "
            f"{' and '.join(missing)} cannot be found. Neither '{_cpp()}' nor the "
            "system's program loader (ld.so) finds it. Install a C++ compiler (on "
            "Debian: apt-get install build-essential) or name one with CXX="
        )
    return (
        f"needs '{plain}', which is neither in PyTorch's stable ABI nor in the C and "
        "C++ libraries"
    )


@functools.cache
def _plain(name: str) -> str:
    """A C++ name as people write it."""
    if not name.startswith("_Z") or not shutil.which("c++filt"):
        return name
    done = subprocess.run(["c++filt", name], capture_output=True, text=True, timeout=20)
    return done.stdout.strip() or name


# ---- the C and C++ libraries ---------------------------------------------------------


def _of_the_system(symbol: str) -> bool:
    """Whether a C or C++ library exports it: as the compiler links it, or as this
    machine loads it. A compiler with a prefix of its own brings a newer libstdc++, and
    may not know where the C library is.
    """
    libraries = (*SYSTEM, *EARLIER)
    if any(symbol in _linked(name) for name in libraries):
        return True
    return any(_exports(found, symbol) for n in libraries if (found := _loaded(n)))


def _cpp() -> str:
    """The compiler that PyTorch's build calls."""
    return os.environ.get("CXX", "").strip() or "c++"


@functools.cache
def _linked(name: str) -> frozenset[str]:
    """Functions and objects, weak ones too, of a library where the compiler finds it;
    none if it does not.
    """
    command = [*_cpp().split(), f"-print-file-name={name}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    file = Path(done.stdout.strip())
    if not file.is_absolute():
        return frozenset()
    command = ["nm", "-D", "--defined-only", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    rows = [line.split() for line in done.stdout.splitlines()]
    return frozenset(words[-1].split("@")[0] for words in rows if words)


@functools.cache
def _loaded(name: str) -> ctypes.CDLL | None:
    """A library where the loader finds it."""
    with contextlib.suppress(OSError):
        return ctypes.CDLL(name)
    return None


def _exports(library: ctypes.CDLL, symbol: str) -> bool:
    try:
        return bool(library[symbol])
    except AttributeError:
        return False
