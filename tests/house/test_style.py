# SPDX-License-Identifier: MIT
"""The lint of the house: how files are named, laid out and worded.

Each test is one rule, its name is the rule's sentence, and its message lists every
place that breaks it. `make lint` runs this file alone. Rules that need a reason for an
exception keep it here, beside the name of what is excepted.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from signatures import SIGNATURES

from grader import solution_marks
from grader.course.missing_rungs import absent
from grader.course.tasks import all_tasks
from grader.solution_marks import REGION
from tests import ROOT, some

SKIPPED = re.compile(r"^(build|\.venv|\.git)$|cache")  # folders outside of git

COLUMNS = 88
FUNCTION_LINES = {".c": 60, ".h": 60, ".cpp": 60, ".py": 60, ".cu": 100}
RUNG_SUFFIXES = (".c", ".py", ".cu")
MODULE_LINES = 400
LONG_MODULES = {
    "tests/common/test_check.py": "one sentence of check.c after the other",
    "tests/common/test_contract.py": "all its parts read one header",
    "tests/house/test_style.py": "one rule after the other",
    "tests/grader/engine/test_grade.py": "the command, on one graded tree",
    "tests/grader/runner/test_runner.py": "one worker from many sides",
    "tests/proofs/mutations/draw.py": "a table of kinds of mistakes, kept together",
}
BROKEN_ON_PURPOSE = {
    "tests/programs/redteam/c/compile_error.c",
    "tests/programs/redteam/python/compile_error.py",
    "tests/programs/redteam/cuda/compile_error.cu",
}

# CUDA as others write it
STRANGERS = re.compile(r"tests/programs/cusim/((bugs|right|foreign)/|torture)")

HEADINGS = ["What you build", "Read first", "Steps", "Points", "When stuck", "Next"]
RUNG_NAME = re.compile(r"\d\d(_[a-z0-9]+){1,3}")
EXTENSION = "05_torch_extension"
EXHIBIT = re.compile(r"labs/\d\d_\w+/bug_hunt/")  # more in test_bug_hunt.py
BANNED = re.compile(
    r"\b(f?printf|f?puts|putchar|exit|_exit|_Exit|abort|assert|malloc|calloc|realloc"
    r"|aligned_alloc|free|alloca|system|fopen|dlopen|cudaMalloc\w*"
    r"|cudaDeviceSynchronize|goto(?! done))\b"
)
MAKE_COMMAND = re.compile(
    r"(?:`|run     )make ([a-z][a-z-]*)|^ *(?:\$ )?make ([a-z-]+)(?=$|  | [A-Z]+=)",
    re.M,
)

LOOP = re.compile(r"\bfor \(([^;{}]*);([^;{}]*&&[^;{}]*);([^;{}]*?)\)\s*(?=[^\s)])")
CHANGED = re.compile(
    r"(?<![\w*.>])(\w+)(?:\.\w+)*\s*(?:[-+*/]?=(?!=)|\+\+|--)|(?:\+\+|--)(\w+)"
)
SET = re.compile(r"(?<![\w*.>])(\w+)()(?:\.\w+)* = ")


# ---- files ---------------------------------------------------------------------------


@cache
def files() -> tuple[str, ...]:
    """All files of the repository, tracked or about to be, by their path in it."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True)
        names = list(filter(None, done.stdout.split("\0")))
    except OSError:
        names = []
    if not (ROOT / ".git").exists() or not names:
        paths = [path.relative_to(ROOT) for path in ROOT.rglob("*")]
        names = [str(p) for p in paths if not any(map(SKIPPED.search, p.parts))]
    return tuple(sorted(name for name in names if (ROOT / name).is_file()))


def sources(*suffixes: str) -> list[str]:
    """The files with one of these endings that are meant to be well-formed."""
    return [
        f
        for f in files()
        if f.endswith(suffixes)
        and f not in BROKEN_ON_PURPOSE
        and not STRANGERS.match(f)
    ]


def rungs(*suffixes: str) -> list[str]:
    """Every numbered file of a ladder or a bug hunt, but for lab 05's exhibits: those
    are test_bug_hunt.py's.
    """
    shape = re.compile(r"labs/\d\d_\w+/\w+/\d[^/]*")
    mine = [f for f in sources(*(suffixes or RUNG_SUFFIXES)) if shape.fullmatch(f)]
    return [f for f in mine if not f.startswith(f"labs/{EXTENSION}/")]


def written(*suffixes: str) -> list[str]:
    """Those that a student writes: in a bug hunt he mends what is there."""
    return [name for name in rungs(*suffixes) if not EXHIBIT.match(name)]


@cache
def text(name: str) -> str:
    """A file's contents."""
    return (ROOT / name).read_text(errors="replace")


def lines(name: str) -> Iterator[tuple[int, str]]:
    """A file's lines with their numbers."""
    return enumerate(text(name).splitlines(), start=1)


def code_of(name: str) -> str:
    """C without comments and strings; every line stays where it is."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
    return re.sub(pattern, lambda m: "\n" * m[0].count("\n"), text(name), flags=re.S)


def starter(name: str) -> str:
    """What a student gets instead of a solution."""
    return solution_marks.starter(text(name))


def count_to_write(solution: str) -> int:
    """How many lines a solution has, without blanks and comments."""
    bare = re.sub(r"/\*.*?\*/", "", solution, flags=re.S)
    kept = (line.strip() for line in bare.splitlines())
    return len([line for line in kept if line and not line.startswith(("//", "#"))])


def functions_in_c(name: str) -> Iterator[tuple[int, int]]:
    """First line and length of every function body; braces stand in column 0, and only
    those of a class, enum or struct end with a semicolon.
    """
    begin = 0
    for number, line in lines(name):
        if line == "{":
            begin = number
        elif line.startswith("}") and begin:
            if not line.startswith("};"):
                yield begin, number - begin + 1
            begin = 0


def functions_in_python(name: str) -> Iterator[tuple[int, int]]:
    """The same by Python's own parser."""
    for node in ast.walk(ast.parse(text(name))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, (node.end_lineno or 0) - node.lineno + 1


def run(*command: str, stdin: str = "") -> str:
    """What a command prints if it fails; nothing if it succeeds."""
    done = subprocess.run(
        command, cwd=ROOT, input=stdin, capture_output=True, text=True, timeout=600
    )
    return f"{done.stdout}{done.stderr}".strip() if done.returncode else ""


def tool(package: str) -> str:
    """A program that a package of development.txt has put beside python."""
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        pytest.skip(f"needs the package {package} (requirements/development.txt)")
    return str(Path(sys.executable).with_name(package))


def none(bad: list[str]) -> None:
    """Fail with a list of places, unless it is empty."""
    if bad:
        pytest.fail(f"{len(bad)} places:\n" + "\n".join(bad), pytrace=False)


# ---- formatters and checkers ---------------------------------------------------------


def test_clang_format_would_change_nothing():
    program = tool("clang-format")
    said = run(program, "--dry-run", "-Werror", *sources(".c", ".h", ".cpp", ".cu"))
    none(sorted(set(re.findall(r"^\S+?:\d+(?=:\d+: error)", said, re.M))))
    assert not said, said


def test_ruff_has_nothing_to_say():
    said = run(tool("ruff"), "check", "--output-format=concise", "--no-cache", ".")
    assert not said, said


def test_ruff_format_would_change_nothing():
    said = run(tool("ruff"), "format", "--check", "--no-cache", ".")
    assert not said, said


def test_mypy_finds_every_type_right():
    tool("mypy")
    said = run(sys.executable, "-m", "mypy")
    assert not said, said


def test_mypy_finds_all_that_a_test_calls():
    tool("mypy")
    said = run(sys.executable, "-m", "mypy", "--config-file", "tests/mypy.ini")
    assert not said, said


def test_no_line_is_longer_than_88_columns():
    def kept(line: str) -> str:  # a note to a tool at its end does not count
        return re.sub(r"  # (type: ignore|noqa).*$", "", line)

    none(
        [
            f"{name}:{number}: {len(kept(line))} columns"
            for name in sources(".c", ".h", ".cu", ".cuh", ".cpp", ".py")
            for number, line in lines(name)
            if len(kept(line)) > COLUMNS
        ]
    )


def test_no_function_is_longer_than_a_screen():
    bad = []
    for name in sorted({*sources(*FUNCTION_LINES)} - {*rungs()}):  # test_functions.py
        find = functions_in_python if name.endswith(".py") else functions_in_c
        limit = FUNCTION_LINES[Path(name).suffix]
        bad += [f"{name}:{at}: {n} lines" for at, n in find(name) if n > limit]
    none(bad)


def test_every_python_module_says_what_it_is_for():
    none([f for f in sources(".py") if not ast.get_docstring(ast.parse(text(f)))])


def test_no_python_module_is_longer_than_400_lines():
    count = {name: len(text(name).splitlines()) for name in sources(".py")}
    long = {name: n for name, n in count.items() if n > MODULE_LINES}
    none([f"{name}: {n} lines" for name, n in long.items() if name not in LONG_MODULES])


def statement(code: str) -> str:
    """The first statement, up to its semicolon or closing brace."""
    depth = 0
    for i, letter in enumerate(code):
        depth += (letter in "({") - (letter in ")}")
        if depth == 0 and letter in ";}":
            return code[: i + 1]
    return code


def constant_terms(code: str) -> Iterator[str]:
    """What stands beside && in a loop's condition though the loop does not change it.
    A loop changes what its head steps and what its body sets.
    """
    for loop in LOOP.finditer(code):
        heads = CHANGED.findall(f"{loop[1]};{loop[3]}")
        found = [*heads, *SET.findall(statement(code[loop.end() :]))]
        mine = {name for names in found for name in names}
        for term in loop[2].split("&&"):
            if not mine & set(re.findall(r"\w+", term)):
                yield " ".join(term.split())


def test_a_loop_s_condition_hides_no_if():
    none(
        [
            f"{name}: {term}: put an if around the loop"
            for name in sources(".c", ".h", ".cu", ".cpp")
            if name.startswith(("labs/", "common/"))
            for term in constant_terms(code_of(name))
        ]
    )


@pytest.mark.parametrize(
    ("loop", "hidden"),
    [
        ("for (int i = 0; wanted && i < n; i++) sum[i] = 0;", ["wanted"]),
        ("for (; i < n && (a || b); i++) {\n *a++ = 0;\n}", ["(a || b)"]),
        ("for (int i = 0; i < n && ok == 0; i++) ok = next(i);", []),
        ("for (int i = 0; i < n && i < LANES; i++) sum[i] = 0;", []),
        ("for (; at && at->size; at++) sum += at->size;", []),
        ("for (int i = 0; i < n; i++) found = same && i < m;", []),
    ],
)
def test_what_a_loop_s_condition_hides(loop, hidden):
    assert [*constant_terms(loop)] == hidden


# ---- rungs ---------------------------------------------------------------------------


def test_a_rung_is_named_by_two_digits_and_at_most_three_words():
    none([f for f in rungs() if not RUNG_NAME.fullmatch(Path(f).stem)])


def test_the_numbers_of_a_ladder_start_at_00_and_differ():
    ladders: dict[str, list[str]] = {}
    for name in rungs():
        ladders.setdefault(str(Path(name).parent), []).append(Path(name).name[:2])
    none(
        [
            f"{ladder}: {' '.join(numbers)}"
            for ladder, numbers in ladders.items()
            if min(numbers) != "00" or len(set(numbers)) < len(numbers)
        ]
    )


def test_a_rung_opens_with_its_name_idea_expectation_limit_and_command():
    bad = []
    for name in written():
        path = Path(name)
        title = path.stem.replace("_", " ")
        task = "/".join(path.parent.parts[1:])
        command = rf"make (?:grade|bench) T={task}/{path.name[:2]}"
        opening = r"(?:# SPDX[^\n]*\n)?\"\"\"" if path.suffix == ".py" else r"/\* "
        mark, indent = ("", "  ") if path.suffix == ".py" else (r" \*", "   ")
        head = rf"{opening}{title}\n{mark}\n"
        for word in ("idea   ", "expect ", "limit  "):
            head += rf"{mark}{indent}{word} \S[^\n]*\n"
        head += rf"{mark}{indent}run     {command}\n"
        if not re.match(head, text(name)):
            bad.append(f"{name}: expected '{title}', idea, expect, limit, run")
    none(bad)


def test_a_rung_neither_prints_nor_exits_nor_allocates():
    none(
        [
            f"{name}:{number}: {word}"
            for name in rungs(".c", ".cu")
            for number, line in enumerate(code_of(name).splitlines(), start=1)
            for word in BANNED.findall(line)
        ]
    )


def test_every_launch_is_on_the_stream_and_checked_in_the_next_statement():
    launch = re.compile(r"<<<([^;]*?)>>>[^;]*;\s*([^;]*;)", re.S)
    none(
        [
            f"{name}: <<<{' '.join(arguments.split())}>>> and then {after}"
            for name in rungs(".cu")
            for arguments, after in launch.findall(code_of(name))
            if not arguments.endswith("ctx->stream")
            or after != "CUDA_TRY(ctx, cudaGetLastError());"
        ]
    )


def test_every_barrier_says_what_it_keeps_apart():
    barrier = re.compile(r"__sync(threads|warp)\(")
    none(
        [
            f"{name}:{number}: no comment on this line"
            for name in rungs(".cu")
            for number, line in lines(name)
            if barrier.search(line.split("//")[0]) and "//" not in line
        ]
    )


def test_every_kernel_has_a_comment_that_says_what_a_block_and_a_thread_own():
    comment_above = r"(?:/\*((?:(?!\*/).)*)\*/\n)?(?:// BEGIN SOLUTION\n)?"
    comment_above += r"(?:template <[^>]*>\n)?"
    head = r"(?:\[\[maybe_unused\]\] )?static __global__[^{]*?(\w*kernel)\("
    kernel = re.compile(comment_above + head, re.S)
    none(
        [
            f"{name}: {which}: no mapping of blocks, threads and shared memory"
            for name in rungs(".cu")
            for comment, which in kernel.findall(text(name))
            if not re.search(r"\bblock\b.*\bthread\b.*[Ss]hared\s", comment, re.S)
        ]
    )


# ---- solutions and starters ----------------------------------------------------------


def test_every_rung_has_solutions_and_each_is_followed_by_its_starter():
    bad = []
    for name in rungs():
        marks = re.findall(r"(?m)^ *(?://|#) (BEGIN|END) SOLUTION$", text(name))
        found = REGION.findall(text(name))
        if not found or marks != ["BEGIN", "END"] * len(found):
            bad.append(f"{name}: BEGIN and END SOLUTION do not come in pairs")
        bad += [
            f"{name}: no STARTER line after: {solution.strip().splitlines()[0]}"
            for solution, offer in found
            if not offer
        ]
        if "SOLUTION" in starter(name) or "STARTER" in starter(name):
            bad.append(f"{name}: a marker is left in the starter")
    none(bad)


def test_a_starter_tells_truly_how_long_the_reference_is():
    bad = []
    for name in written():
        for solution, offer in REGION.findall(text(name)):
            lengths = re.findall(r"\(the reference takes (.*)$", offer, re.M)
            count = count_to_write(solution)
            if lengths != [f"{count} line{'s' * (count != 1)})"]:
                first = solution.strip().splitlines()[0]
                bad.append(f"{name}: says {lengths}, it is {count}: {first}")
    none(bad)


def test_a_starter_compiles_without_warnings_and_answers_not_implemented():
    flags = [
        "-std=c11",
        "-S",
        "-o",
        "/dev/null",
        "-Icommon",
        "-fopenmp",
        "-Wall",
        "-Wextra",
    ]
    flags += ["-Wno-unused-parameter", "-Wno-unknown-pragmas", "-Werror", "-xc", "-"]
    bad, mine = [], written()
    for name in rungs():
        offer = starter(name)
        if name.endswith(".py"):
            compile(offer, name, "exec")
            if name in mine and "raise NotImplementedError" not in offer:
                bad.append(f"{name}: does not raise NotImplementedError")
            continue
        for dtype in ("F32", "F64") if name.endswith(".c") else ():
            beside = f"-I{Path(name).parent}"
            said = run("cc", f"-DREAL_{dtype}", beside, *flags, stdin=offer)
            bad += [f"{name} ({dtype}):\n{said}"] if said else []
        if name in mine and "return STATUS_NOT_IMPLEMENTED;" not in offer:
            bad.append(f"{name}: does not return STATUS_NOT_IMPLEMENTED")
    none(bad)


def test_a_cuda_starter_compiles_without_warnings_for_the_oldest_device(tmp_path):
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        pytest.skip("needs nvcc")
    flags = ["-std=c++17", "-arch=sm_75", "-Werror", "all-warnings", "-Icommon"]
    flags += ["-Xcompiler", "-Wall,-Wextra,-Wno-unused-parameter", "-c", "-o"]
    source = tmp_path / "starter.cu"
    bad = []
    for name in some(rungs(".cu"), every=5):
        source.write_text(starter(name))
        beside = f"-I{(ROOT / name).parent}"  # the headers of its ladder
        said = run(nvcc, beside, *flags, str(source.with_suffix(".o")), str(source))
        bad += [f"{name}:\n{said}"] if said else []
    none(bad)


# ---- texts ---------------------------------------------------------------------------


def test_a_lab_readme_has_the_six_headings():
    bad = []
    for name in files():
        if re.fullmatch(r"labs/\d\d_\w+/README.md", name):
            found = re.findall(r"^## (.*)$", text(name), re.M)
            bad += [f"{name}: {', '.join(found)}"] if found != HEADINGS else []
    none(bad)


def test_every_ladder_has_three_hints():
    bad = []
    for name in files():
        if re.fullmatch(r"labs/\d\d_\w+/lab.toml", name):
            for ladder, entry in tomllib.loads(text(name)).get("ladder", {}).items():
                count = len([hint for hint in entry.get("hints", ()) if hint.strip()])
                bad += [f"{name}: {ladder} has {count}"] if count != 3 else []
    none(bad)


def test_every_rung_of_a_ladder_with_several_has_a_hint_of_its_own():
    several = [t for t in all_tasks() if t.lab[:2] in ("03", "04") and t.rungs[1:]]
    without = sorted(r.id for task in several for r in task.rungs if not r.hints)
    none([f"{name}: a rung without a hint" for name in without])


def test_every_rung_that_a_lab_toml_names_has_a_file():
    none(absent())


def test_every_operator_states_its_shapes_and_workspace():
    blocks = re.findall(
        r"/\* ---- (\w+) -+\n(.*?)\*/", text("common/operators.h"), re.S
    )
    described = dict(blocks)
    none(
        [
            f"{name}: no line '{word}'"
            for name in SIGNATURES
            for word in ("shapes", "workspace")
            if not re.search(rf"^ \*   {word}  +\S", described.get(name, ""), re.M)
        ]
    )


def test_requirements_hold_no_addresses():
    locks = re.compile(r"requirements/.*|.*\.lock|.*requirements[^/]*\.(txt|in)")
    none([f for f in files() if locks.fullmatch(f) and "://" in text(f)])


def test_no_file_knows_the_machine_it_was_written_on():
    words = ["/" + "work/", "/" + "root/", "index-" + "url"]
    bad = []
    for name in files():
        for number, line in lines(name):
            if name == "Makefile":
                line = line.replace("--no-emit-" + words[2], "")
            bad += [f"{name}:{number}: {word}" for word in words if word in line]
    none(bad)


# ---- make ----------------------------------------------------------------------------


def make_targets() -> set[str]:
    """What `make help` lists."""
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    return set(re.findall(r"^  make ([a-z-]+) ", done.stdout, re.M))


def test_make_help_lists_every_command_and_each_has_its_program():
    makefile = text("Makefile")
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.M)[1].split())
    assert make_targets() == phony
    bad = []
    for target in sorted(phony):
        said = run("make", "-n", target, f"PYTHON={sys.executable}")
        bad += [f"make {target}: {said}"] if said else []
        recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)*)", makefile, re.M)
        for module in re.findall(r"\$\(PY\) -m ([\w.]+)", recipe[1] if recipe else ""):
            if not importlib.util.find_spec(module):
                bad.append(f"make {target}: there is no module {module}")
    none(bad)


def test_a_text_names_only_commands_that_make_has():
    targets = make_targets()
    none(
        [
            f"{name}: make {target}"
            for name in [*sources(".md"), *rungs()]
            for target in sorted(set(map("".join, MAKE_COMMAND.findall(text(name)))))
            if target not in targets
        ]
    )
