# SPDX-License-Identifier: MIT
"""An operator compiled by the program that uses it: torch.utils.cpp_extension.load.

    CONVLAB_NOW=lltm python PROGRAM

Where the program imports convlab_ext, the compiler runs on csrc/stable/lltm.cpp, and
torch.ops.convlab.lltm is there as if it had been built ahead of time, by setup.py. It
runs again when a source or a kernel has changed. This suits an experiment: whoever
only uses an operator needs no compiler if it was built ahead of time. For the processor
alone; with CUDA, build ahead of time.

    python -m convlab_ext.just_in_time lltm     compile it now, and check it

pybind.py compiles functions that are no operators the same way.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

LAB = Path(__file__).resolve().parents[1]
ROOT = LAB.parents[1]
NOW = "CONVLAB_NOW"  # in the environment, which __init__.py reads
TARGET = "-DTORCH_TARGET_VERSION=0x020b000000000000"  # as in setup.py

CHECK = """
import torch, convlab_ext
from convlab_ext import LLTM

torch.manual_seed(0)
cell = LLTM(4, 3).double()
x, h, c = (torch.randn(5, size, dtype=torch.float64) for size in (4, 3, 3))
i, o, g = torch.nn.functional.linear(
    torch.cat([h, x], 1), cell.weight, cell.bias
).chunk(3, 1)
new_c = c + torch.nn.functional.elu(g) * i.sigmoid()
expected = new_c.tanh() * o.sigmoid(), new_c
found = cell(x, h, c)
torch.testing.assert_close(found, expected)
grads = [torch.randn_like(one) for one in expected]
for one in zip(
    *(torch.autograd.grad(f, list(cell.parameters()), grads) for f in (found, expected))
):
    torch.testing.assert_close(*one)
"""


def compiled(step: str, operator: str, **options: Any) -> Any:
    """What load() makes of csrc/<step>/<operator>.cpp and the operator's kernels.

    load() keeps others out with a file `lock` in the build folder. If a build is
    killed, it stays there and the next one waits for ever: delete the folder.
    """
    if not (LAB / "csrc").exists():
        raise ImportError(
            "just in time needs the sources: use convlab_ext in labs/05_torch_extension"
        )
    if (path := str(ROOT / "common" / "python")) not in sys.path:
        sys.path.insert(0, path)
    from ladders import needs, rung_objects
    from torch.utils import cpp_extension

    needs.verify()
    build = Path(os.environ.get("CONVLAB_BUILD") or ROOT / "build").resolve()
    folder = build / "extension" / "jit" / f"{step}_{operator}"
    folder.mkdir(parents=True, exist_ok=True)
    maker = rung_objects.Maker(ROOT, LAB, build / "extension" / "packaged", print)
    kernels = maker.kernels([operator], rung_objects.native())[operator, "cpu"]
    flags = ["-O2", "-g0", *([TARGET] if step == "stable" else [])]
    return cpp_extension.load(
        f"convlab_{operator}_now",
        [str(LAB / "csrc" / step / f"{operator}.cpp"), str(LAB / "csrc/check.cpp")],
        extra_cflags=flags,
        extra_include_paths=[str(ROOT / "common")],
        extra_ldflags=[*map(str, kernels.files), "-fopenmp", "-Wl,-Bsymbolic"],
        build_directory=str(folder),
        **options,
    )


def load(operator: str) -> None:
    """Compile an operator if need be, and load it as torch.ops.convlab.<operator>."""
    compiled("stable", operator, is_python_module=False)


def main() -> None:
    """Compile lltm in a program of its own, and compare it with PyTorch."""
    operators = sys.argv[1:] or ["lltm"]
    environment = {**os.environ, NOW: ",".join(operators)}
    checks = CHECK if "lltm" in operators else "import convlab_ext\n"
    checks += "print(convlab_ext.parts())\n"
    command = [sys.executable, "-c", checks]
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(LAB), *filter(None, [os.environ.get("PYTHONPATH", "")])]
    )
    done = subprocess.run(command, env=environment)
    if not done.returncode:
        print(f"{', '.join(operators)}: compiled just in time")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
