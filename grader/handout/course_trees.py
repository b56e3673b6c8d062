# SPDX-License-Identifier: MIT
"""`make handout COURSE=file` adds the files of a course to a handout.

It adds the course's file and page for students. It also makes the tree that grades
submissions, and the archives for hosts of autograders.

Hidden cases and seeds stay with the instructor, and so does the way that written
answers are marked. Students' files are searched for them.
"""

from __future__ import annotations

import io
import random
import re
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from signatures import SIGNATURES

from grader import once
from grader.course.handed import packed
from grader.course.handed.counted_files import RUNG
from grader.course.offered import course_file, narrowed
from grader.course.offered.checked import written
from grader.course.offered.course_file import (
    BEFORE_DEADLINE,
    BEST,
    FILE,
    HIDDEN,
    LAST,
    Course,
)
from grader.course.tasks import all_tasks, id_of
from grader.errors import GraderError
from grader.handout import leaks

PAGE = "COURSE.md"
HAND_IN = (
    "Pack the folder `labs` and hand in the archive: `tar czf labs.tar.gz labs`. Only "
    "your files of the tasks above count. Changes of a Makefile, a header or a "
    "`lab.toml` do not count."
)
COUNTS = {
    LAST: "your last hand-in counts",
    BEST: "the hand-in with the most points counts",
    BEFORE_DEADLINE: "the last hand-in before the deadline counts",
}
SOLUTIONS = (
    "Keep `convlab-solutions.zip` in the folder of this file. When you have the key of "
    "a task, `make solution T=... KEY=...` unpacks its solution."
)
FRONT = (
    "**{title}:** [COURSE.md](COURSE.md) says which tasks count in this course. It "
    "lists their points and deadlines, and explains how to hand in. `make grade` shows "
    "the same tasks. This page describes all labs. The points on this page are not the "
    "points of your course.\n\n"
)
DRAWN = 8  # cases of each hidden seed but the first, as a run draws them
CASES = "grader/operators/cases"
HOSTS = Path(__file__).with_name("hosts")  # files for Gradescope, Autolab and GitHub
NAME = "convlab-instructor"


def asked(named: str) -> Course | None:
    """The course that COURSE= names. Raises GraderError if its file is wrong."""
    if not named:
        return None
    made = course_file.course(Path(named), narrowed.names(all_tasks()))
    if made.hidden.cases:
        _try_hidden(made)
    return made


def _try_hidden(made: Course) -> None:
    """Raises GraderError for a case that cannot be computed: now, not in a grading."""
    import torch

    from grader.operators import get
    from grader.operators.case import CaseError

    for operator, lines in made.hidden.cases.items():
        reference = get(operator)
        for number, line in enumerate(lines):
            place = made.hidden.places[operator, number]
            try:
                _plain_shapes(reference, line)
                case = reference.case(line)
                inputs = reference.inputs(case, torch.float32, 0)
                reference.truth(inputs, case, [])
            except (CaseError, RuntimeError, ValueError, TypeError, KeyError) as error:
                words = " ".join(str(error).split())
                raise place.wrong(
                    f"a case of {operator}",
                    f"it cannot be computed: {words}; compare with "
                    f"{CASES}/{operator}.toml",
                ) from error


def _plain_shapes(reference: Any, line: Mapping[str, Any]) -> None:
    """Raises ValueError for a shape that PyTorch would refuse in words of its own."""
    inputs = [argument.name for argument in reference.signature.inputs]
    shapes = line.get("shapes", {})
    sizes = {key: size for key, size in line.items() if key.isupper()}
    if not isinstance(shapes, dict):
        raise ValueError(f"'shapes' must be a table like {{ {inputs[0]} = [3, 7] }}")
    for name, shape in shapes.items():
        if name not in inputs:
            listed = ", ".join(inputs)
            raise ValueError(
                f"'shapes' has {name!r}, which is not an input; the inputs are {listed}"
            )
        if not isinstance(shape, list) or not all(map(_is_size, shape)):
            right = "a list of sizes like [3, 7]"
            raise ValueError(f"the shape of {name!r} must be {right}")
    for name, size in sizes.items():
        if not _is_size(size):
            raise ValueError(f"the size {name!r} must be a whole number of at least 0")


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# ---- the students' tree --------------------------------------------------------------


def kept(names: list[str], made: Course | None) -> list[str]:
    """The files that a course hands out. Lab 05 is one package: all of it, or only what
    every lab has. A lab.toml is needed for what other labs use.
    """
    if made is None:
        return names
    labs = {task.split("/")[0] for task in made.offers}
    whole = re.compile(rf"labs/({'|'.join(sorted(labs))})/")

    def wanted(name: str) -> bool:
        if name.startswith("labs/05_") or not RUNG.fullmatch(name):
            every = name.endswith(("/lab.toml", "/README.md", "AGENTS.md", ".ipynb"))
            return every or not name.startswith("labs/") or bool(whole.match(name))
        return made.ships(id_of(name))

    return list(filter(wanted, names))


def fewer_hints(name: str, text: str, made: Course | None) -> str:
    """A lab.toml with so many hints of each task and file as the course allows."""
    if made is None or not name.endswith("/lab.toml"):
        return text

    def cut(block: re.Match[str]) -> str:
        lines = block[1].splitlines(keepends=True)
        return f"hints = [\n{''.join(lines[: made.hints])}]\n"

    return re.sub(r"(?ms)^hints = \[\n(.*?)^\]\n", cut, text)


def add(tree: Path, made: Course | None) -> None:
    """Write what students get of a course."""
    if made is None:
        return
    (tree / FILE).write_text(course_file.for_students(made), encoding="utf-8")
    (tree / PAGE).write_text(page(made), encoding="utf-8")
    title, _, rest = (tree / "README.md").read_text(encoding="utf-8").partition("\n\n")
    front = f"{title}\n\n{FRONT.format(title=_plain(made.title))}{rest}"
    (tree / "README.md").write_text(front, encoding="utf-8")
    workflow = tree / ".github" / "workflows" / "grade.yml"
    workflow.parent.mkdir(parents=True)
    shutil.copyfile(HOSTS / "github.yml", workflow)


def page(made: Course) -> str:
    """COURSE.md: what is due when, and for how many points."""
    lines = [f"# {_plain(made.title)}", ""]
    lines += ["What you need:", ""] if made.prerequisites else []
    lines += [f"- {_plain(text)}" for text in made.prerequisites]
    lines += ["", "After this course you can:", ""] if made.goals else []
    lines += [f"- {_plain(text)}" for text in made.goals]
    for part in made.parts:
        lines += ["", f"## {_plain(part.title)}", ""]
        lines += [f"Due {_moment(part.deadline)}.", ""]
        lines += [f"- {_plain(text)}" for text in part.goals]
        lines += ["", "| task | points | hours |", "|---|---:|---:|"]
        for o in part.offers:
            name = f"`{o.task}`{' (extra)' if o.extra else ''}"
            lines.append(f"| {name} | {o.points:g} | {o.hours:g} |")
        if part.questions:
            lines += ["", "Written questions:", ""]
        lines += [
            f"- `{q.id}` ({q.points:g} points): {_plain(q.text)}"
            for q in part.questions
        ]
    lines += ["", "## Rules", "", f"- {HAND_IN}"]
    lines += [f"- If you hand in several times, {COUNTS[made.attempt]}."]
    lines += [f"- {_plain(made.answers)}"] if made.questions else []
    lines += [f"- The full mark is {made.of:g} points."]
    speed = "Some points are for speed: see the README of each lab"
    lines += [f"- {speed if made.speed else 'There are no points for speed'}."]
    if late := made.late:
        lines += [
            f"- Each late day costs {late.percent_per_day:g} % of a part's points. An "
            f"incomplete day counts as a day. After {late.days} late days a part gets "
            f"no points. In the whole course {late.free_days} late days are free. They "
            "are used for the first parts in which they help."
        ]
    if made.release_days is not None:
        lines += [
            f"- You get the keys of a part's solutions {made.release_days:g} days "
            f"after its deadline. {SOLUTIONS}"
        ]
    return "\n".join(lines) + "\n"


def _moment(when: datetime) -> str:
    return when.isoformat(sep=" ", timespec="minutes")


def _plain(text: str) -> str:
    """A sentence that Markdown shows as it is, in one line and without HTML."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\*_\[\]|])(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"\\\1", text)


# ---- the instructor's tree -----------------------------------------------------------


def instructors(student: Path, folder: Path, made: Course, epoch: int) -> list[Path]:
    """Make the tree that grades others' work, and the archives of it."""
    tree = folder / "instructor"
    with once.placed(tree) as new:
        shutil.copytree(student, new)
        hide(new, made)
    gradescope = {
        "setup.sh": HOSTS / "gradescope_setup.sh",
        "run_autograder": HOSTS / "gradescope_run.sh",
    }
    mine = packed.files(tree, "convlab")
    whole = folder / f"{NAME}.tar.gz"
    whole.write_bytes(packed.tar_gz(packed.files(tree, NAME), epoch))
    zipped = folder / "convlab-gradescope.zip"
    zipped.write_bytes(packed.zipped({**gradescope, **mine}, epoch))
    autolab = folder / "autolab"
    autolab.mkdir(exist_ok=True)
    (autolab / "autograde.tar").write_bytes(packed.tar(mine, epoch))
    shutil.copyfile(HOSTS / "autolab.mk", autolab / "autograde-Makefile")
    return [whole, zipped, autolab]


def hide(tree: Path, made: Course) -> None:
    """Give a copy of the students' tree what they do not know: cases and seeds."""
    (tree / FILE).write_text(course_file.for_grading(made), encoding="utf-8")
    for operator, lines in hidden_lines(made).items():
        shown = "".join(f"  {written(line)},\n" for line in lines)
        with (tree / CASES / f"{operator}.toml").open("a", encoding="utf-8") as file:
            file.write(f"\n# Of this course, not for students.\nhidden = [\n{shown}]\n")


def hidden_lines(made: Course) -> dict[str, list[Mapping[str, Any]]]:
    """The hidden cases by operator: those of the file, and those that each seed but the
    first draws. The first is the seed of the run.
    """
    found = {name: list(lines) for name, lines in made.hidden.cases.items()}
    if made.hidden.seeds[1:]:
        from grader.operators import get
    offered = {task.split("/")[1] for task in made.offers} & set(SIGNATURES)
    for number, seed in enumerate(made.hidden.seeds[1:], start=2):
        for operator in sorted(offered):
            rng = random.Random(f"{operator} {seed}")
            for i in range(DRAWN):
                name = f"{HIDDEN}seed_{number}_{i}"
                line = {"name": name, **get(operator).draw(rng)}
                found.setdefault(operator, []).append(line)
    return found


# ---- nothing of it reaches a student -------------------------------------------------


def search(places: list[Path], made: Course) -> None:
    """Raises GraderError if a students' file or archive holds what is hidden."""
    for place in places:
        for name, data in _contents(place):
            if what := given_away(data.decode("utf-8", "replace"), made):
                raise GraderError(
                    f"the handout would give away {what}, because {name} "
                    "contains it. Change this file or the course file"
                )


def given_away(text: str, made: Course) -> str:
    """What a text holds that the course hides; "" if it holds nothing of it."""
    words, lines = secrets(made)
    for patterns, searched in ((words, text), (lines, _bare(text))):
        for pattern, what in patterns.items():
            if re.search(pattern, searched):
                return what
    return ""


def secrets(made: Course) -> tuple[dict[str, str], dict[str, str]]:
    """What to look for, and what it is: words as they stand, and lines in texts without
    blanks.
    """
    words = {rf"(?<!\d){s}(?!\d)": f"the hidden seed {s}" for s in made.hidden.seeds}
    words[rf"\b{HIDDEN}seed_\d"] = "a case that a hidden seed draws"
    lines = {}
    for operator, cases in made.hidden.cases.items():
        for case in cases:
            what = f"the hidden case {case['name']!r} of {operator}"
            rest = {key: case[key] for key in case if key != "name"}
            words[rf"\b{re.escape(str(case['name']))}\b"] = what
            lines[re.escape(_bare(written(rest)).strip("{}"))] = what
    for question in made.questions.values():
        for text in map(_bare, question.rubric):
            if len(text) >= leaks.TELLING:
                lines[re.escape(text)] = f"the rubric of {question.id}"
    return words, lines


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _contents(place: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of a folder or an archive, also of an archive in an archive."""
    if place.is_dir():
        for file in sorted(place.rglob("*")):
            if file.is_file():
                yield from _opened(str(file.relative_to(place)), file.read_bytes())
    else:
        yield from _opened(place.name, place.read_bytes())


def _opened(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield from _opened(f"{name}:{member}", archive.read(member))
    elif name.endswith((".tar", ".tar.gz")):
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for entry in tar:
                if file := tar.extractfile(entry):
                    yield from _opened(f"{name}:{entry.name}", file.read())
    else:
        yield name, data


# ---- solutions -----------------------------------------------------------------------


def keys_page(keys: Mapping[str, str], made: Course | None) -> str:
    """The keys of the solutions, a line a task; of a course by part, each with the
    moment from which it may be given out.
    """
    if made is None:
        return "".join(keys.values())
    lines = []
    for part in made.parts:
        if made.release_days is None:
            lines.append(f"# {part.id}: this course releases no solutions\n")
        else:
            moment = part.deadline + timedelta(days=made.release_days)
            lines.append(f"# {part.id}: from {_moment(moment)}\n")
        lines += [keys[offer.task] for offer in part.offers if offer.task in keys]
    return "".join(lines)
