# SPDX-License-Identifier: MIT
"""Do 20 copies rank above all pairs of files that nobody copied?

    python -m tests.proofs.similarity [--write]

A program makes the copies from a seed (planted.py): other names, the functions in
another order, other comments. The honest files are those that the repository has. The
result is docs/results/similarity.md.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from signatures import SIGNATURES

from grader.course.tasks import all_tasks
from grader.engine.similarity import pairs
from grader.engine.similarity.known_text import Given
from grader.engine.similarity.pairs import LEAST, Pair, Source
from grader.solution_marks import solved, starter
from grader.toolchain.make import build_folder
from tests import PROGRAMS, ROOT, put
from tests.proofs import pages, planted

PLANTED = 20
SEEDS = 5
RIGHT = PROGRAMS / "submissions" / "right"
WRONG = ("redteam/c", "redteam/cuda", "redteam/python", "memory_bugs")
OPERATOR = re.compile(rf"\b({'|'.join(SIGNATURES)})_(?:for|back)ward\b")
ALL = 1_000_000
PAGE = """# Similar files: copies against honest files

Made by `python -m tests.proofs.similarity --write`.

There are {count} honest files of {authors} authors. As in the command, two files are
compared if they are of one operator and of different authors: {compared} pairs. The
honest files are no students' files:

- {rungs} are files of the reference. A ladder is an author.
- {right} are parts of right solutions. One person wrote all of them from the contract,
  each part in another way. Each part is an author.
- {exhibits} are repaired exhibits of bug hunts. Each one is an author.
- {wrong} are wrong programs on which the grader is tested. Those of one folder were
  made from a few files, so each folder is an author.

In a course the lines of the reference do not count. Here they count, because the
reference is honest here. The highest honest pair is {highest}:
the same code, so it is no copy of a student.

Each row has 20 copies of other parts: other names, the functions in another order,
other comments. No honest pair may reach the score of a copy."""
HEAD = ["seed", "copies", "lowest copy", "highest honest pair", "honest above a copy"]


def honest() -> list[Source]:
    """The honest files with enough text to compare."""
    found = [*_rungs(), *_parts(), *_exhibits(), *_wrong()]
    theirs = given()
    return [
        Source(one.who, one.place, one.text, one.topic)
        for one in found
        if len(pairs.own(one, theirs.of(one.topic))) >= LEAST
    ]


def _exhibits() -> Iterator[Source]:
    for task in all_tasks():
        for rung in task.rungs if task.is_hunt else ():
            text = solved(rung.file.read_text(encoding="utf-8"))
            place = rung.file.relative_to(ROOT).as_posix()
            yield Source(f"exhibit {rung.id}", place, text, rung.operator)


def _rungs() -> Iterator[Source]:
    for file in sorted(ROOT.glob("labs/0[1-4]*/*/[0-9]*")):
        place = file.relative_to(ROOT).as_posix()
        if pairs.readable(place) and "bug_hunt" not in place:
            yield Source(
                str(file.parent), place, solved(file.read_text()), file.parent.name
            )


def _parts() -> Iterator[Source]:
    for file in sorted(RIGHT.glob("*/*")):
        place = file.relative_to(ROOT).as_posix()
        yield Source(place, place, file.read_text(), file.parent.name)


def _wrong() -> Iterator[Source]:
    """The wrong programs of a folder; one author wrote them all from a frame."""
    for folder in WRONG:
        for file in sorted((PROGRAMS / folder).glob("*")):
            place = file.relative_to(ROOT).as_posix()
            text = file.read_text() if pairs.readable(place) else ""
            if named := OPERATOR.search(text):
                yield Source(folder.partition("/")[0], place, text, named[1])


def given() -> Given:
    """What the course gives: the starters of the repository, without solutions."""
    tree = build_folder() / "similarity"
    for file in [*ROOT.glob("labs/**/*"), *ROOT.glob("common/*.h")]:
        place = file.relative_to(ROOT).as_posix()
        if pairs.readable(place):
            put(tree / place, starter(file.read_text()))
    return Given(tree, None)


def ranking(found: list[Source], seed: int, theirs: Given) -> list[Pair]:
    """All pairs, with 20 copies among the files."""
    parts = [one for one in found if RIGHT.name in Path(one.place).parts]
    copies = [
        Source(
            f"copy of {one.place}",
            one.place,
            planted.copied(one.text, Path(one.place).suffix, seed + number),
            one.topic,
        )
        for number, one in enumerate(random.Random(seed).sample(parts, PLANTED))
    ]
    return pairs.ranked([*found, *copies], theirs.of, most=ALL)


def is_copy(pair: Pair) -> bool:
    """Whether a pair is an original and its copy."""
    return pair.other.who == f"copy of {pair.one.place}"


def is_honest(pair: Pair) -> bool:
    """Whether no file of a pair is a copy."""
    return not pair.other.who.startswith("copy of ")


def main() -> int:
    """Rank for several seeds; 1 if an honest pair stands above a copy."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write docs/results")
    write = parser.parse_args().write
    theirs, found, rows = given(), honest(), []
    begin = time.monotonic()
    for seed in range(SEEDS):
        ranked = ranking(found, seed, theirs)
        copies = [pair.score for pair in ranked if is_copy(pair)]
        others = [pair for pair in ranked if is_honest(pair)]
        above = sum(pair.score >= min(copies) for pair in others)
        top = others[0]
        scores = f"{min(copies):.2f}", f"{top.score:.2f}"
        rows.append((seed, len(copies), *scores, above))
        print(*rows[-1], top.one.place, top.other.place)
    print(f"{len(found)} files, {time.monotonic() - begin:.1f} s for {SEEDS} seeds")
    if write:
        pages.write(
            "similarity.md", _head(found, top), "\n".join(pages.table(HEAD, rows))
        )
    return int(any(row[1] < PLANTED or row[-1] for row in rows))


def _head(found: list[Source], top: Pair) -> str:
    kinds = {"rungs": "labs/", "right": "submissions/right", "wrong": "tests/programs"}
    counts = {
        kind: sum(word in one.place for one in found) for kind, word in kinds.items()
    }
    counts["exhibits"] = sum("bug_hunt" in one.place for one in found)
    counts["rungs"] -= counts["exhibits"]
    counts["wrong"] -= counts["right"]
    counts["count"], counts["authors"] = len(found), len({one.who for one in found})
    both = itertools.combinations(found, 2)
    compared = sum(a.who != b.who and a.topic == b.topic for a, b in both)
    highest = f"`{top.one.place}` and `{top.other.place}`"
    return PAGE.format(compared=compared, highest=highest, **counts)


if __name__ == "__main__":
    sys.exit(main())
