# SPDX-License-Identifier: MIT
"""Does a mutation that survived compute the same as the reference? Asked outside.

    python -m tests.proofs.mutations.equivalent m105 ... [--cases 2000]

The grader let it pass, so the grader cannot be asked. Here nothing of it is used but
the compiler's flags: other random cases, other struct definitions, no right answers.
The reference and its mutation run side by side on 2,000 cases in double, forward and
backward, and have to agree bit for bit, or within 4 units in the last place of the sum
of absolute values (a sum in another order may). What is compared: status, every output
with the memory around it, NaN before the call, the inputs afterwards; in Python
exceptions, values, gradients, the module's parameters, and what options default to.

A survivor that agrees goes to equivalent.toml, with the reason in one line; one that
differs is a hole in the grader. Mutations run in a process of their own: they may die.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import ROOT, put
from tests.proofs.mutations.agreement import DifferenceError

CASES = 2000
DEADLINE = 600.0  # seconds for one mutation


def ask(mutation_id: str, *, cases: int = CASES, seed: int = 1) -> tuple[bool, str]:
    """Whether a mutation agrees with its reference, and in what words."""
    command = [sys.executable, "-m", "tests.proofs.mutations.equivalent", "--here"]
    command += [mutation_id, "--cases", str(cases), "--seed", str(seed)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE
        )
    except subprocess.TimeoutExpired:
        return False, f"does not end within {DEADLINE:.0f} s"
    if done.returncode == 0:
        return True, done.stdout.strip()
    if done.returncode == 1 and done.stdout:
        return False, done.stdout.strip()
    words = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
    return False, f"died with {done.returncode}: {words}"


def _here(mutation_id: str, cases: int, seed: int) -> int:
    """Compare in this process."""
    from tests.proofs.mutations import in_c, in_python
    from tests.proofs.mutations.draw import committed
    from tests.proofs.mutations.run import build

    mutation = next(m for m in committed()[0] if m.id == mutation_id)
    text = (ROOT / mutation.file).read_text()
    operator = mutation.file.split("/")[2]
    paths = []
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        for name, version in (("right", text), ("mutated", mutation.apply(text))):
            copy = put(Path(folder) / name / mutation.file, version)
            if copy.suffix == ".c":
                built = build(copy, mutation.file)
                if isinstance(built, str):
                    print(f"does not build: {built}")
                    return 1
                copy = built["f64"]
            paths.append(copy)
        compare = in_python.compare if mutation.file.endswith(".py") else in_c.compare
        try:
            worst = compare(operator, paths, seed, cases)
        except DifferenceError as difference:
            print(difference)
            return 1
    how = f"within {worst:.2f} ulp" if worst else "bit for bit"
    print(f"{cases} cases agree {how}")
    return 0


def main() -> int:
    """Ask for each mutation named; 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--here", action="store_true", help="in this process")
    arguments = parser.parse_args()
    if arguments.here:
        return _here(arguments.ids[0], arguments.cases, arguments.seed)
    differs = False
    for name in arguments.ids:
        agrees, words = ask(name, cases=arguments.cases, seed=arguments.seed)
        differs |= not agrees
        print(f"{name} {'agrees' if agrees else 'DIFFERS'}: {words}", flush=True)
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
