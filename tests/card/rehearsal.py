# SPDX-License-Identifier: MIT
"""The guide's commands for half an hour on a card, beside the stand-in.

    python -m tests.card.rehearsal [--ladder add] [--write]

They run in a copy of this tree without a network, by a Python that has what such a
machine has: torch, and none of the packages of `make carry`. Of each lab one ladder is
asked. PyTorch has no card here, so that its times are pending. No command may end in a
traceback. Minutes are those of cusim on the processor; `--write` puts them into
docs/results/gpu_goals.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from grader.commands import carry
from grader.toolchain import cusim
from grader.toolchain.make import build_folder, build_tools
from tests import ROOT
from tests.card import stand_in
from tests.proofs.card_results import PAGE, of_name
from tests.proofs.pages import table

GUIDE = ROOT / "docs" / "guides" / "on_a_gpu.md"
COMMAND = re.compile(r"(?m)^\| `(make [^`]*PYTHON=python3|python3 -m [^`]*)` \|")
PATHS = (".", "common/python", "grader/python", "build/carried")
LEFT_OUT = (".git", ".venv", "build", "__pycache__", "*.so")
HIDDEN = ("rich*", "markdown_it*", "mdurl*", "pygments*", "jinja2*", "*.pth")


def commands(ladder: str) -> list[str]:
    """The guide's commands, for one ladder of each lab."""
    text = GUIDE.read_text()
    start = text.index("## A card for half an hour")
    words = COMMAND.findall(text[start : text.index("## What has run", start)])
    words = [w.replace("LAB=04", f"T=04_cuda_kernels/{ladder}") for w in words]
    return [w.replace("LAB=05", f"T=05_torch_extension/{ladder}") for w in words]


def python(folder: Path) -> Path:
    """Make a Python in `folder` without the packages of `make carry`: its programs."""
    site = Path(sysconfig.get_paths()["purelib"])
    inner = folder / site.relative_to(sys.prefix)
    hidden = shutil.ignore_patterns(*HIDDEN)
    shutil.copytree(site, inner, ignore=hidden, copy_function=os.link)
    home = Path(sys.base_prefix) / "bin"
    (folder / "pyvenv.cfg").write_text(f"home = {home}\n")
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
    return folder / "bin"


def rehearsed(words: str, kit: Path, tree: Path, programs: Path) -> list[object]:
    """Run a command; its row of the table."""
    path = f"PATH={programs}:{os.environ['PATH']}"
    paths = f"PYTHONPATH={':'.join(PATHS)}" if words.startswith("python3") else "A=B"
    start = time.monotonic()
    command = ["env", path, paths, *shlex.split(words)]
    done = stand_in.run(
        command, kit=kit, build=tree / "build", tree=tree, network=False
    )
    minutes = (time.monotonic() - start) / 60
    said = (done.stdout + done.stderr).strip()
    print(f"== {words}\n{said}\n== {minutes:.1f} minutes", flush=True)
    result = "Traceback" if "Traceback" in said else f"ends with {done.returncode}"
    return [f"`{words}`", result, f"{minutes:.1f}"]


def main(arguments: Sequence[str]) -> int:
    """Run all of them; 1 if one ends in a traceback."""
    parser = argparse.ArgumentParser(prog="python -m tests.card.rehearsal")
    parser.add_argument("--ladder", default="add")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    if why := stand_in.refused():
        print(f"pending: the rehearsal ({why})")
        return 0
    build_tools()
    cusim.build_tools()
    with tempfile.TemporaryDirectory(dir=build_folder()) as made:
        place = Path(made)
        tree = place / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
        carry.carry(tree / "build")
        for part in ("tools", "cusim"):
            shutil.copytree(build_folder() / part, tree / "build" / part)
        kit = stand_in.toolkit(place / "toolkit", tree / "build")
        programs = python(place / "python")
        rows = [rehearsed(w, kit, tree, programs) for w in commands(chosen.ladder)]
    lines = table(["command", "result", "minutes"], rows, words=2)
    print("\n".join(lines))
    if chosen.write:
        PAGE.write_text(of_name("rehearsal", PAGE.read_text(), lines))
    return int(any(row[1] == "Traceback" for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
