# SPDX-License-Identifier: MIT
"""`make handout` makes the students' tree from the marked sources.

There is an allow-list: a file is shipped if git tracks it and SHIPPED names it.
Starters replace solutions. Notebooks lose their outputs, and texts lose their parts
about the repository. Then the tree is searched for solutions, listed in MANIFEST and
packed twice.
"""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

from grader import once
from grader.course.exhibits import HUNT
from grader.course.handed import packed, sealed, starters
from grader.course.handed.counted_files import RUNG
from grader.course.offered.course_file import Course
from grader.course.rungs import ROOT
from grader.course.tasks import all_tasks
from grader.errors import GraderError
from grader.handout import course_trees, leaks
from grader.options import COURSE, Arguments
from grader.report import terminal
from grader.solution_marks import REGION, starter
from grader.toolchain import given
from grader.toolchain.make import build_folder

NAME = "convlab-handout"
TRAFFIC = """ *
 * If a direction moves more than this rung's limits in lab.toml, the verdict is
 * TRAFFIC. It then gets no points, even if its results are right.
"""
SHIPPED = (  # * also stands for folders
    "Makefile",
    "README.md",
    "LICENSE",
    "pyproject.toml",
    ".clang-format",
    ".gitignore",
    "requirements/*",
    "common/*",
    "grader/*",
    ".devcontainer/*",
    "labs/AGENTS.md",
    "labs/[0-9][0-9]_*/lab.toml",
    "labs/[0-9][0-9]_*/README.md",
    "labs/[0-9][0-9]_*/*.ipynb",
    "labs/[0-9][0-9]_*/*/[0-9][0-9]_*.py",
    "labs/[0-9][0-9]_*/*/[0-9][0-9]_*.c",
    "labs/[0-9][0-9]_*/*/[0-9][0-9]_*.cu",
    "labs/0[2-4]_*/*/*.h",
    "labs/[0-9][0-9]_*/bug_hunt/[0-9][0-9]_*.case.toml",
    "labs/05_torch_extension/*.py",
    "labs/05_torch_extension/*.cpp",
    "labs/05_torch_extension/csrc/level.c",
    "labs/05_torch_extension/*.h",
    "labs/05_torch_extension/convlab_ext/py.typed",
    "labs/05_torch_extension/pyproject.toml",
    "docs/LICENSE",
    "docs/guides/*.md",
    "docs/results/[0-9][0-9]_*.md",  # what the README of a lab leads to
)
NEVER = re.compile(
    r"(^|/)(tests|build|\.venv|__pycache__|\.ipynb_checkpoints)/"
    r"|docs/guides/instructors\.md"
)
MARKER = re.compile(r"^[ ]*(?://|#) (BEGIN|END) SOLUTION|^[ ]*(?://|#) STARTER", re.M)

# what make offers: a student's commands, and those that need the repository
OFFERED = re.compile(
    "help|grade|bench|carry|watch|debug|diff|editor|hint|profile|progress|reset|update"
    "|solution|export|build|step|doctor|report|jupyter|notebooks|train|nvcc|versions"
    "|system-packages|clean"
)
WITHHELD = re.compile(
    "tables|test|trust|stress|lint|lock|handout|submission|marks|similar|batch|docs"
)

LISTED = 4  # names told of files that are left out
OPTIONS = (COURSE,)


def run(arguments: Arguments) -> int:
    """Derive, search, list and pack; say what came of it."""
    if given.is_handout():
        raise GraderError("this is a handout; run make handout in the repository")
    made = course_trees.asked(arguments[COURSE])
    folder = build_folder() / "handout" / (made.name if made else "")
    with once.alone(folder):  # the tree and its archives belong together
        return _into(folder, made)


def _into(folder: Path, made: Course | None) -> int:
    names, left_out = _names()
    kept = course_trees.kept(names, made)
    final = folder / "student"
    with once.placed(final) as tree:
        for name in kept:
            _ship(name, tree / name, made)
        starters.pack(tree, [name for name in kept if theirs(name)])
        course_trees.add(tree, made)
        _give(tree)
        _search(names, tree)
        _write_manifest(tree)
        if made:
            course_trees.search([tree], made)
    archives = [*_pack(final, folder), _seal(kept, folder, made)]
    if made:
        course_trees.search(archives, made)
    if left_out:
        more = f" and {len(left_out) - LISTED} more" if len(left_out) > LISTED else ""
        listed = ", ".join(left_out[:LISTED])
        terminal.say(f"left out, because git does not track them: {listed}{more}")
    count = sum(1 for file in final.rglob("*") if file.is_file())
    terminal.say(f"{count} files for students: {_shown([final, *archives])}")
    if made:
        own = course_trees.instructors(final, folder, made, _epoch())
        terminal.say(f"for you alone: {_shown(own)}")
    return 0


def _shown(paths: list[Path]) -> str:
    return ", ".join(os.path.relpath(path) for path in paths)


# ---- which files ---------------------------------------------------------------------


def allowed(name: str) -> bool:
    """Whether a path is one that students get."""
    matches = any(fnmatch.fnmatchcase(name, pattern) for pattern in SHIPPED)
    return matches and not NEVER.search(name)


def theirs(name: str) -> bool:
    """Whether a path is one that students write in."""
    return bool(RUNG.fullmatch(name)) or name.endswith(".ipynb")


def _names() -> tuple[list[str], list[str]]:
    """The allowed files, and those left out because git does not track them."""
    tracked, other = (
        _git("ls-files", "-z"),
        _git("ls-files", "-z", "--others", "--exclude-standard"),
    )
    if tracked is None or not (ROOT / ".git").exists():
        terminal.say(
            "this is not a git repository: every file in an allowed folder is shipped"
        )
        tracked, other = [], []
        for path in ROOT.rglob("*"):
            if path.is_file():
                tracked.append(str(path.relative_to(ROOT)))
    names = sorted(n for n in tracked if allowed(n) and (ROOT / n).is_file())
    return names, sorted(n for n in other or [] if allowed(n))


def _git(*arguments: str) -> list[str] | None:
    """The names git prints (-z); None without git or outside of a repository."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, timeout=30
        )
    except OSError:
        return None
    if done.returncode:
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


# ---- one file ------------------------------------------------------------------------


def _ship(name: str, target: Path, made: Course | None = None) -> None:
    """Write a file's student edition."""
    source = ROOT / name
    if source.is_symlink():
        raise GraderError(f"{name} is a symbolic link; replace it by a plain file")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise GraderError(
            f"{name} is not text, so it cannot be searched for solutions; remove it "
            "from SHIPPED in grader/commands/handout.py"
        ) from error
    edition = course_trees.fewer_hints(name, _student_edition(name, text), made)
    target.write_text(edition, encoding="utf-8")
    shutil.copymode(source, target)


def _student_edition(name: str, text: str) -> str:
    if RUNG.fullmatch(name) and not REGION.search(text + _beside(name)):
        raise GraderError(
            f"{name} has no line BEGIN SOLUTION, so students would get the solution. "
            "Mark the solution (CONTRIBUTING.md), or keep the file out of git"
        )
    if name == "Makefile":
        return makefile(text)
    if name == "pyproject.toml":
        return settings(text)
    if name.endswith(".ipynb"):
        return notebook(name, text)
    if name.endswith(".md"):
        return page(text)
    text = warned(name, starter(text))
    if name.startswith("labs/") and MARKER.search(text):
        raise GraderError(
            f"{name}: the lines BEGIN SOLUTION, END SOLUTION and STARTER must follow "
            "each other as CONTRIBUTING.md says"
        )
    return text


def _has_solution(name: str) -> bool:
    """Of files that students write in, and of headers with a marked solution."""
    marked = name.endswith(".h") and REGION.search((ROOT / name).read_text())
    return bool(RUNG.fullmatch(name) or marked)


def _beside(name: str) -> str:
    """Of an exhibit in two files (lab 05) the other one: one of them has the marks."""
    file = ROOT / name
    both = [file.with_suffix(suffix) for suffix in (".cpp", ".py")]
    if HUNT not in file.parts or not all(map(Path.exists, both)):
        return ""
    return "".join(one.read_text(encoding="utf-8") for one in both)


def warned(name: str, text: str) -> str:
    """A starter whose head says what too much traffic costs, if that is limited."""
    if not name.endswith(".cu") or name not in _limited():
        return text
    return re.sub(r"(?m)^ \*   run .*\n", rf"\g<0>{TRAFFIC}", text, count=1)


@functools.cache
def _limited() -> set[str]:
    """The rungs with limits in lab.toml."""
    rungs = (rung for task in all_tasks() for rung in task.rungs)
    return {rung.shown for rung in rungs if rung.traffic}


def page(text: str) -> str:
    """A Markdown text without what is about the repository only.

    Between the lines `<!-- repository -->` and `<!-- /repository -->` stands what
    students do not get, and one line with the former at its end; in a comment that
    begins with `<!-- handout` stands what they get alone.
    """
    text = re.sub(r"(?m)^.+<!-- repository -->.*\n", "", text)
    text = re.sub(r"(?m)^<!-- (run|write): .* -->\n", "", text)  # record_first_hour.py
    text = re.sub(
        r"<!-- repository -->\n.*?<!-- /repository -->\n", "", text, flags=re.S
    )
    return re.sub(r"<!-- handout\n(.*?)-->\n", r"\1", text, flags=re.S)


def makefile(text: str) -> str:
    """The Makefile with the targets of OFFERED only.

    Raises GraderError for a target nobody has decided on.
    """
    targets = set(re.findall(r"^([a-z][a-z-]*):.*## ", text, re.M))
    for target in targets:
        if WITHHELD.fullmatch(target):
            text = re.sub(rf"^{target}:.*\n(\t.*\n)*\n?", "", text, flags=re.M)
        elif not OFFERED.fullmatch(target):
            raise GraderError(
                f"Makefile: is 'make {target}' for students? If it is, add it to "
                "OFFERED in grader/commands/handout.py; if not, add it to WITHHELD"
            )
    return re.sub(
        r"^\.PHONY:.*$",
        lambda line: re.sub(rf" ({WITHHELD.pattern})(?= |$)", "", line[0]),
        text,
        flags=re.M,
    )


def settings(text: str) -> str:
    """Of pyproject.toml what a student's editor can use: the formatter's settings."""
    head, *sections = re.split(r"(?m)^(?=\[)", text)
    kept = [part for part in sections if re.match(r"\[tool\.ruff(\.lint)?\]", part)]
    lines = "".join(kept).splitlines(keepends=True)
    return head + "".join(line for line in lines if "tests/" not in line)


def notebook(name: str, text: str) -> str:
    """A notebook without outputs, and without cells tagged `solution`."""
    try:
        book = json.loads(text)
        cells = []
        for cell in book["cells"]:
            if "solution" in cell.get("metadata", {}).get("tags", ()):
                continue
            if cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
            source = starter("".join(cell["source"]).rstrip("\n") + "\n")
            cell["source"] = source.rstrip("\n").splitlines(keepends=True)
            cells.append(cell)
        book["cells"] = cells
    except (ValueError, KeyError, TypeError) as error:
        raise GraderError(f"{name} is not a notebook: {error}") from error
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


# ---- the whole tree ------------------------------------------------------------------


def _give(tree: Path) -> None:
    """Add the given objects, and what they are; and the exhibits of bug hunts once
    more, which the students are going to change.
    """
    built = build_folder() / "given" / given.arch()
    folder = tree / "given" / given.arch()
    folder.mkdir(parents=True)
    for operator in given.operators():
        given.build(operator, built)
        for file in sorted(built.glob(f"{operator}.*.a")):
            shutil.copyfile(file, folder / file.name)
    (folder / "README.md").write_text(given.README.format(arch=given.arch()))
    given.give_exhibits(tree)


def _search(names: list[str], tree: Path) -> None:
    """Raises GraderError if a solution's line is left anywhere in the tree."""
    sources = [ROOT / name for name in names if _has_solution(name)]
    if found := leaks.find(tree, leaks.solution_lines(sources)):
        raise GraderError(
            f"the handout would give solutions away in {len(found)} places, the first: "
            f"{found[0]}. Mark this line as a solution, or list it as public in "
            "grader/handout/leaks.py"
        )


def _write_manifest(tree: Path) -> None:
    """Every file with its hash, as `sha256sum -c MANIFEST` reads it."""
    lines = []
    for file in sorted(tree.rglob("*")):
        if file.is_file():
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            lines.append(f"{digest}  {file.relative_to(tree)}\n")
    (tree / given.MANIFEST).write_text("".join(lines), encoding="utf-8")


def _epoch() -> int:
    """Every packed file's time: SOURCE_DATE_EPOCH, or that of the last commit."""
    named = os.environ.get("SOURCE_DATE_EPOCH", "").strip()
    if named and not named.isdecimal():
        raise GraderError(
            f"SOURCE_DATE_EPOCH is {named!r}, expected seconds since 1970"
        )
    last = _git("log", "-1", "--format=%ct")
    return max(int(named or (last or ["0"])[0]), packed.OLDEST)


def _pack(tree: Path, folder: Path) -> list[Path]:
    """convlab-handout.tar.gz and .zip."""
    epoch, members = _epoch(), packed.files(tree, NAME)
    gz, zipped = folder / f"{NAME}.tar.gz", folder / f"{NAME}.zip"
    gz.write_bytes(packed.tar_gz(members, epoch))
    zipped.write_bytes(packed.zipped(members, epoch))
    return [gz, zipped]


def _seal(names: list[str], folder: Path, made: Course | None) -> Path:
    """The solutions, each task locked with a key of its own; the keys lie beside the
    archive, for the instructor.
    """
    by_task: dict[str, dict[str, bytes]] = {}
    for task in all_tasks():
        for rung in task.rungs:
            for file in (rung.file, *rung.also, *rung.headers):
                name = os.path.relpath(file, ROOT)
                if name in names and _has_solution(name):
                    by_task.setdefault(task.id, {})[name] = file.read_bytes()
    archive, keys = folder / sealed.ARCHIVE, {}
    with zipfile.ZipFile(archive, "w") as locked:
        for task_id, files in by_task.items():
            block, key = sealed.seal(files)
            locked.writestr(sealed.file_of(task_id), block)
            keys[task_id] = f"make solution T={task_id} KEY={key}\n"
    keys_text = course_trees.keys_page(keys, made)
    (folder / sealed.KEYS).write_text(keys_text, encoding="utf-8")
    terminal.say(
        f"solutions, one key for each task: {os.path.relpath(archive)}; keys are in "
        f"{os.path.relpath(folder / sealed.KEYS)}: give out a key to release its task"
    )
    return archive
