# SPDX-License-Identifier: MIT
"""The wrong submissions of tests/programs/unseen_mistakes: do they fit and compile?

    python -m tests.house.unseen_mistakes [unseen_mistakes_2]

Applies every edit, compiles Python and C, and prints how many there are of each kind.
CUDA and C++ are not compiled, and nothing is run.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

from tests import NATIVE, PROGRAMS, ROOT
from tests.house.student_mistakes import Mistake, student_mistakes

COLLECTION = "unseen_mistakes"
CC = ["cc", "-std=gnu11", "-fsyntax-only", "-DREAL_F32", NATIVE, "-fopenmp"]


def lab_of(mistake: Mistake) -> str:
    """The two digits of the lab."""
    return mistake.rung.split("/")[1][:2]


def operator_of(mistake: Mistake) -> str:
    """The ladder, or in lab 05 the file."""
    *_, ladder, file = mistake.rung.split("/")
    return file.split(".")[0] if lab_of(mistake) == "05" else ladder


def error_of(mistake: Mistake) -> str:
    """What a compiler says against the submission."""
    text = mistake.text()
    if mistake.path.suffix == ".py":
        try:
            compile(text, mistake.rung, "exec")
        except SyntaxError as error:
            return str(error)
    if mistake.path.suffix != ".c":
        return ""
    command = [*CC, "-Icommon", f"-I{mistake.path.parent}", "-xc", "-"]
    said = subprocess.run(command, input=text, text=True, capture_output=True, cwd=ROOT)
    return said.stderr if said.returncode else ""


def main(words: list[str]) -> int:
    """Print the counts, and what is wrong."""
    found = student_mistakes(PROGRAMS / (words[0] if words else COLLECTION))
    bad = [f"{m.id}: {said}" for m in found if (said := error_of(m))]
    bad += [f"{m.id}: changes nothing" for m in found if m.text() == m.path.read_text()]
    names = Counter(m.id for m in found)
    bad += [f"{name}: {times} times" for name, times in names.items() if times > 1]
    if len({m.text() for m in found}) < len(found):
        bad.append("two submissions are the same")
    for title, key in (
        ("lab", lab_of),
        ("operator", operator_of),
        ("kind", lambda m: m.kind),
        ("direction", lambda m: m.direction),
    ):
        counts = Counter((key(m), m.kind) for m in found)
        for name in sorted({name for name, _ in counts}):
            listed, unusual = counts[name, "listed"], counts[name, "unusual"]
            print(f"{title:9} {name:16} {listed:3} listed {unusual:3} unusual")
    print(*bad, f"{len(found)} submissions, {len(bad)} errors", sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
