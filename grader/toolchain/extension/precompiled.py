# SPDX-License-Identifier: MIT
"""Compiles torch.compile's own header once, for all gates of a build folder.

All C++ files that torch.compile makes include one header of PyTorch first. The compiler
spends nearly all its time in this header. The process that compiles it has loaded no
student code. The gates' processes only read the result. They also work without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from grader import once, working
from grader.course.rungs import ROOT
from grader.toolchain import isa
from grader.toolchain.extension.compiler_environment import compiler_environment
from grader.toolchain.make import (
    OUR_DEADLINE,
    build_folder,
    first_line,
    named_cpp,
)

TEXT = "#include <torch/csrc/inductor/cpp_prefix.h>\n"


def header(environment: Mapping[str, str]) -> Path | None:
    """The file to include first, made if need be, for processes with this environment.
    None where it cannot be made.
    """
    version = first_line([named_cpp(), "--version"])
    made_of = [metadata.version("torch"), sys.prefix, named_cpp(), version]
    made_of += [isa.processor(), *sorted(isa.environment().values())]
    key = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]
    folder = headers() / key
    file, done = folder / "prefix.h", folder / "done"
    with once.alone(file), working.on("compile a header of torch.compile, once"):
        if not done.exists() and _compiled(file, environment):
            done.touch()
    return file if done.exists() else None


def headers() -> Path:
    """Where the compiled headers are, each in a folder."""
    return build_folder() / "extension" / "inductor"


def make() -> None:
    """Make the header before a process asks for it."""
    header(compiler_environment(headers(), headers()))


def _compiled(file: Path, environment: Mapping[str, str]) -> bool:
    """Compile it, in a process of its own: only that one imports torch's compiler."""
    file.write_text(TEXT)
    paths = os.pathsep.join([str(ROOT), str(ROOT / "common" / "python")])
    process = subprocess.Popen(
        [sys.executable, "-B", "-m", __spec__.name, str(file)],
        env={**environment, "PYTHONPATH": paths, "TMPDIR": str(file.parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(OUR_DEADLINE) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its compiler outlives it
        process.wait()


def main(file: str) -> None:
    """Compile the header `file` with the options that torch.compile will use."""
    from torch._inductor import config, cpp_builder
    from torch._inductor.cpu_vec_isa import pick_vec_isa

    config.cpp_cache_precompile_headers = True
    options = cpp_builder.CppTorchDeviceOptions(
        device_type="cpu", vec_isa=pick_vec_isa(), precompiling=True
    )
    cpp_builder.CppBuilder(name=file, sources=file, BuildOption=options).build()


if __name__ == "__main__":
    main(sys.argv[1])
