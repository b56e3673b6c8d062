# SPDX-License-Identifier: MIT
"""The commands behind make: `python -m grader VERB`. One function a verb."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any

from grader.errors import GraderError

USAGE_ERROR = 2
INTERRUPTED = 130


def grade(args: argparse.Namespace) -> int:
    """Build, check and score; write results.json."""
    from grader import grade as grading
    from grader import tasks
    from grader.build import build_tools
    from grader.supervisor import sandbox

    start = time.monotonic()
    selection = tasks.select(args.task, args.lab)
    seed = grading.new_seed() if args.seed is None else args.seed
    sandbox.level()  # a level that does not work ends here
    from grader.report import results, terminal

    with results.lock():
        build_tools()
        with (
            terminal.progress(len(selection.rungs)) as step,
            grading.Grader(
                selection, seed=seed, check=args.check, progress=step
            ) as grader,
        ):
            grader.warm_up()
            found = grader.run()
            card = grader.race.as_json()
            unwatched = grader.builds.without_sanitizers()
        merged = results.merged(found, seed, card)
        if sentence := results.set_aside():
            terminal.complain(sentence)
        results.write(merged)
        page = _page(merged)
    standing = {
        task["id"]: (task["points"], task["pending"]) for task in merged["tasks"]
    }
    terminal.table(found, standing)
    terminal.advice(found, seed)
    remarks = [f"memory was not checked: {unwatched}"] if unwatched else []
    if card:
        from grader import machine  # the times were taken with it: it is there

        remarks += filter(None, [machine.shaken(card)])
    terminal.remarks(remarks)
    terminal.summary(
        found, standing, seed=seed, seconds=time.monotonic() - start, where=page
    )
    from grader.score import exit_status

    return exit_status(found)


def _page(merged: dict[str, Any]) -> str:
    """Write the HTML report; the name of the file that tells most, as people see it.

    Where the page cannot be made (an environment of one's own without jinja2) the grade
    stands without it.
    """
    from grader.report import html, results, terminal

    try:
        return results.near(html.write(merged))
    except GraderError as error:
        terminal.complain(str(error))
        return results.near(results.path())


def bench(args: argparse.Namespace) -> int:
    """Time every rung that is selected on every speed case, against PyTorch."""
    from grader import grade as grading
    from grader import tasks
    from grader.build import build_tools
    from grader.report import results

    selection = tasks.select(args.task, args.lab)
    seed = grading.new_seed() if args.seed is None else args.seed
    with results.lock():
        build_tools()
        if all(task.language == tasks.EXTENSION for task in selection.tasks):
            from grader import extension_bench

            return extension_bench.bench(_wanted(args, seed))
        from grader import bench as benching

        return benching.bench(selection, _wanted(args, seed))


def _wanted(args: argparse.Namespace, seed: int) -> Any:
    """The words of `make bench`, for the run and for repeating it."""
    from grader.bench import Wanted
    from grader.checks.baseline import BOTH, VARIANTS

    said = {
        "T": args.task,
        "LAB": args.lab,
        "THREADS": args.threads if args.threads > 1 else None,
        "PARTS": args.parts,
        "AGAINST": args.against,
        "CASES": args.cases,
    }
    against = tuple(filter(None, (args.against or "").split(",")))
    for name in against:
        if name not in VARIANTS[1:]:
            raise GraderError(
                f"AGAINST={name}: PyTorch has no such variant here, expected some of "
                f"{','.join(VARIANTS[1:])}"
            )
    parts = tuple(filter(None, (args.parts or "").split(",")))
    for part in parts:
        if part not in ("forward", "backward", BOTH) and not part.startswith("grad_"):
            raise GraderError(
                f"PARTS={part}: expected some of forward,backward,{BOTH} and the "
                "operator's gradients, like grad_input"
            )
    cores = len(os.sched_getaffinity(0))
    if not 1 <= args.threads <= cores:
        raise GraderError(
            f"THREADS={args.threads}: expected 1 to {cores}, the cores of this machine"
        )
    label = (args.task or args.lab or "all").strip("/").replace("/", "_")
    many = f"_{args.threads}_threads" if args.threads > 1 else ""
    return Wanted(
        f"{label}{many}",
        " ".join(f"{name}={word}" for name, word in said.items() if word),
        seed,
        args.threads,
        parts,
        against,
        tuple(filter(None, (args.cases or "").split(","))),
    )


def doctor(args: argparse.Namespace) -> int:
    """Say what this machine has, and what a missing thing costs."""
    from grader import doctor as examination

    return examination.report()


def debug(args: argparse.Namespace) -> int:
    """Stop inside one case of one rung, with its inputs on disk."""
    from grader import debug as debugging

    where = {"thread": args.thread, "block": args.block}
    return debugging.debug(args.task, args.case, args.seed or 0, args.dtype, **where)


def build(args: argparse.Namespace) -> int:
    """Compile everything that is selected, and show the first error of each."""
    from grader import tasks
    from grader.build import build as build_rung
    from grader.build import build_tools
    from grader.report import terminal

    build_tools()
    failed = 0
    selection = tasks.select(args.task, args.lab)
    for task in selection.tasks:
        for rung in task.rungs:
            if rung.id not in selection.rungs or task.language not in tasks.COMPILED:
                continue
            built = build_rung(rung)
            failed += bool(built.error)
            if built.error or built.blocked:
                reason = built.error or built.blocked
                terminal.say(f"{built.location or rung.shown}: {reason}")
    operators = [t.operator for t in selection.tasks if t.language == tasks.EXTENSION]
    if operators:
        from grader import package

        for sentence in package.in_place(operators):
            terminal.say(sentence)
            failed += sentence.startswith("not built")
    terminal.say(
        f"{failed} of the selected rungs failed to build" if failed else "built"
    )
    return 1 if failed else 0


def hint(args: argparse.Namespace) -> int:
    """Print a task's hints, one more each time they are asked for."""
    from grader import hints

    return hints.show(args.task)


def handout(args: argparse.Namespace) -> int:
    """Derive what students get: starters, given objects, archives."""
    from grader import handout as deriving

    return deriving.make()


def report(args: argparse.Namespace) -> int:
    """Make the HTML report from the last results.json once more."""
    from grader.errors import GraderError
    from grader.report import html, results, terminal

    found = results.read()
    if reason := results.refusal():
        raise GraderError(
            f"{results.near(results.path())} cannot be read: {reason}; run make grade, "
            "which keeps this file under another name and begins a new one"
        )
    if found is None:
        raise GraderError(
            f"there are no results in {results.near(results.path())}; run make grade "
            "first"
        )
    terminal.say(os.path.relpath(html.write(found)))
    return 0


def carry(args: argparse.Namespace) -> int:
    """Put what the grader needs beside torch into build/carried, to take along."""
    from grader import carry as carrying
    from grader.build import build_folder
    from grader.report import results, terminal

    terminal.say(f"take along: {results.near(carrying.carry(build_folder()))}")
    return 0


def tables(args: argparse.Namespace) -> int:
    """Put the measured tables into the READMEs of the labs once more."""
    from grader.report import results, terminal
    from grader.report import tables as pages

    changed = [results.near(page) for page in pages.write()]
    terminal.say(", ".join(changed) or "every table is up to date")
    return 0


def parser() -> argparse.ArgumentParser:
    """Verbs and their options."""
    top = argparse.ArgumentParser(prog="python -m grader", description=__doc__)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    whole = (carry, doctor, handout, report, tables)
    for function in (grade, bench, build, debug, hint, *whole):
        text = (function.__doc__ or "").strip().splitlines()[0]
        verb = verbs.add_parser(function.__name__, help=text, description=text)
        verb.set_defaults(function=function)
        if function in whole:
            continue
        verb.add_argument("task", nargs="?", help="a path, an id, or a prefix of ids")
        if function in (grade, bench, build):
            verb.add_argument("--lab", help="only labs that begin with this, e.g. 02")
        if function is grade:
            verb.add_argument("--check", choices=("forward", "gradient"))
        if function is bench:
            verb.add_argument("--threads", type=int, default=1)
            verb.add_argument("--parts", help="forward,backward,grad_input,...")
            verb.add_argument("--cases", help="only these, by name")
            verb.add_argument("--against", help="slow2d,channels_last: also these")
        if function is debug:
            verb.add_argument("--case", help="the case's name, as the report gives it")
            verb.add_argument("--dtype", choices=("f32", "f64"), default="f64")
            verb.add_argument("--thread", default="0", help="CUDA: x, x,y or x,y,z")
            verb.add_argument("--block", default="0", help="CUDA: x, x,y or x,y,z")
        if function in (grade, bench, debug):
            verb.add_argument("--seed", type=int, help="repeat a run's random numbers")
    return top


def _terminated(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; whatever goes wrong ends in one sentence."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    args = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGHUP, _terminated)
    from grader.supervisor.sandbox import SandboxError

    try:
        status = args.function(args)
    except (GraderError, SandboxError) as error:
        from grader.report import terminal

        terminal.complain(str(error))
        return USAGE_ERROR
    except OSError as error:
        from pathlib import Path

        from grader.report import results, terminal

        where = Path(error.filename) if error.filename else results.folder()
        terminal.complain(results.explain(error, where))
        return USAGE_ERROR
    except KeyboardInterrupt:
        from grader.report import terminal

        terminal.complain("interrupted; the results of the last whole run are kept")
        return INTERRUPTED
    assert isinstance(status, int)
    return status


if __name__ == "__main__":
    sys.exit(main())
