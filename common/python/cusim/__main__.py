# SPDX-License-Identifier: MIT
"""Builds, runs, checks or counts one .cu file: `python -m cusim`.

    python -m cusim run FILE.cu -- 256
    python -m cusim check FILE.cu --order random --seed 7

`run` is fast. `check` adds AddressSanitizer and UBSan. `count` follows every access to
memory, and finds races, sectors and bank conflicts. The exit status is the program's.
If the program succeeds but cusim found an error, the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from cusim import nvcc
from cusim.build import build
from cusim.report import Report, render_counts, render_findings
from cusim.run import run

MODES = {"build": "run", "run": "run", "check": "check", "count": "trace"}

_HELP = {
    "build": "compile only",
    "run": "run the program at full speed",
    "check": "run the program with AddressSanitizer and UBSan",
    "count": "run the program and count accesses (slow: use small sizes)",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cusim", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, sentence in _HELP.items():
        one = verbs.add_parser(verb, help=sentence)
        one.add_argument("file", type=Path, help="a .cu file")
        one.add_argument("arguments", nargs="*", help="of the program, after --")
        one.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
        one.add_argument("--order", choices=("forward", "reverse", "random"))
        one.add_argument("--seed", type=int, help="of a random order", default=0)
        one.add_argument("-D", action="append", default=[], metavar="NAME=VALUE")
        one.add_argument("-I", action="append", default=[], metavar="FOLDER")
    return parser


def main(words: list[str]) -> int:
    """Build, run, and hand on the program's exit status."""
    options = _parser().parse_args(words)
    flags = [f"-D{word}" for word in options.D] + [f"-I{word}" for word in options.I]
    built = build(
        options.file,
        mode=MODES[options.verb],
        compiler=options.compiler,
        flags=tuple(flags),
    )
    sys.stderr.write(built.messages)
    if not built.ok:
        return 1
    if options.verb == "build":
        print(built.path)
        return 0
    ran = run(
        built.path,
        tuple(options.arguments),
        order=options.order or "forward",
        seed=options.seed,
    )
    sys.stdout.write(ran.output)
    if options.verb == "check":
        calls = nvcc.host_calls(options.file, tuple(flags))
        if calls is None:
            print(nvcc.NOT_LOOKED, file=sys.stderr)
        ran.report.findings.extend(calls or [])
    _show(ran.report, counted=options.verb == "count")
    return ran.status or int(bool(ran.report.errors))


def _show(found: Report, *, counted: bool) -> None:
    """Findings, and the table of counts if that was asked for."""
    if counted and found.counts:
        print("\n" + render_counts(found))
    if found.findings:
        print("\n" + render_findings(found), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
