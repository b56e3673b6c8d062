# SPDX-License-Identifier: MIT
"""`make grade` from outside: what a person types, sees and finds in results.json.

Most tests run `python -m grader` as a process of its own, on a copy of the repository
with few labs; that costs seconds, so several tests look at one run.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
from signatures import SIGNATURES

from grader.course import rungs, tasks
from grader.course.rungs import ROOT
from grader.course.tasks import select
from grader.engine.results import SCHEMA_FILE
from grader.errors import GraderError
from grader.toolchain import sandbox
from tests import put
from tests.proofs.trust import Fault, proc_file

GELU = "02_naive_c/gelu"
PASSED = {"forward": "PASS", "backward": "PASS"}


def until(condition: Callable[[], object], *, seconds: float) -> bool:
    """Whether the condition comes true in time."""
    end = time.monotonic() + seconds
    while not (true := bool(condition())) and time.monotonic() < end:
        time.sleep(0.01)
    return true


def workers_of(tree: Tree) -> list[int]:
    """Processes that run something that was built for a tree."""
    mine = str(tree.build / "tools" / "worker").encode()
    entries = Path("/proc").glob("[0-9]*")
    return [int(entry.name) for entry in entries if mine in proc_file(entry, "cmdline")]


@dataclass(frozen=True)
class Tree:
    """A copy of the repository, or the repository itself, with a build folder."""

    root: Path
    build: Path

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """`python -m grader` in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "grader", *arguments],
            cwd=self.root,
            env={**os.environ, "CONVLAB_BUILD": str(self.build), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(
        self, *arguments: str, timeout: int = 120, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    @property
    def results_file(self) -> Path:
        return self.build / "grade" / "results.json"

    @property
    def results(self) -> dict:
        return json.loads(self.results_file.read_text())

    def task(self, name: str) -> dict:
        return next(task for task in self.results["tasks"] if task["id"] == name)

    def verdicts(self, rung: str) -> dict[str, str]:
        """The first verdict that is not PASS, by direction."""
        task = self.task(rung.rsplit("/", 1)[0])
        (found,) = [one for one in task["rungs"] if one["id"] == rung]
        made: dict[str, str] = {}
        for check in found["checks"]:
            if made.get(check["direction"], "PASS") == "PASS":
                made[check["direction"]] = check["verdict"]
        return made


def copy_of_the_repository(
    root: Path, tools: Path, *ladders: str, timed: bool = False
) -> Tree:
    """Makefile, common, grader and some ladders, with the grader's programs built.

    All points are for being right unless `timed`.
    """
    shutil.copytree(ROOT / "common", root / "common")
    shutil.copytree(ROOT / "grader", root / "grader")
    shutil.copy2(ROOT / "Makefile", root)
    for ladder in ladders:
        shutil.copytree(ROOT / "labs" / ladder, root / "labs" / ladder)
        lab = ladder.split("/")[0]
        text = (ROOT / "labs" / lab / "lab.toml").read_text()
        kept = text if timed else re.sub(r"(?m)^speed\..*\n", "", text)
        (root / "labs" / lab / "lab.toml").write_text(kept)
    for built in ("tools", "cusim"):
        if (tools.parent / built).exists():
            shutil.copytree(tools.parent / built, root / "build" / built)
    return Tree(root, root / "build")


@pytest.fixture
def tree(tools, tmp_path) -> Tree:
    """A small repository, for a test that changes it."""
    return copy_of_the_repository(tmp_path, tools, GELU)


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The sentence that a command ended with: all there is on stderr, and exit 2."""
    said = done.stdout + done.stderr
    assert done.returncode == 2 and "Traceback" not in said, said
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("convlab: "), said
    return sentence.removeprefix("convlab: ").strip()


# ---- one run with all kinds of rungs -------------------------------------------------

REFERENCE = (ROOT / "labs" / GELU / "00_definition.c").read_text()


@dataclass(frozen=True)
class Graded:
    """A tree, and what the command that graded it said."""

    tree: Tree
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def graded(tools, tmp_path_factory) -> Graded:
    """gelu's reference and, beside it, files as students may drop them there."""
    root = tmp_path_factory.mktemp("ladder")
    tree = copy_of_the_repository(root, tools, GELU)
    folder = root / "labs" / GELU
    backward = REFERENCE.index("status_t gelu_backward")
    (folder / "01_wrong.c").write_text(REFERENCE.replace("(accum)0.5", "(accum)0.51"))
    (folder / "02_forward_only.c").write_text(REFERENCE[:backward])
    (folder / "03_broken.c").write_text(REFERENCE.replace(";", "", 1))
    (folder / "04_mine.c").write_text(REFERENCE)
    return Graded(tree, tree.run("grade", GELU, "SEED=7"))


@pytest.fixture
def ladder(graded) -> Tree:
    return graded.tree


@pytest.fixture
def said(graded) -> str:
    return graded.done.stdout


def test_a_right_solution_gets_all_points_and_exit_status_0(graded, ladder):
    assert ladder.task(GELU)["points"] == ladder.task(GELU)["of"] == 2
    assert (graded.done.returncode, graded.done.stderr) == (0, "")


def test_results_are_valid_against_the_schema(ladder):
    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(ladder.results, schema)


def test_the_table_shows_every_file_with_its_verdicts(ladder, said):
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line}
    assert rows["00_definition.c"] == ["PASS", "PASS"]
    assert rows["01_wrong.c"][0] == "WRONG_VALUE"
    assert rows["03_broken.c"] == ["BUILD", "BUILD"]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(r"\Atask / rung", id="a_pipe_gets_the_table_alone"),
        pytest.param(r"erf: 'output'\[0, 0\] is \S+, expected", id="case_and_place"),
        pytest.param(f"make debug T={GELU}/01_wrong CASE=erf SEED=7", id="a_replay"),
        pytest.param(rf"at labs/{GELU}/03_broken.c:\d+", id="line_of_a_build_error"),
        pytest.param("seed 7", id="the_seed"),
    ],
)
def test_the_command_says(said, words):
    assert re.search(words, said) and "\x1b" not in said


def test_the_line_of_a_task_is_there_before_the_next_one_ends(tools, tmp_path):
    """Whoever looks at a log sees how far the run has come."""
    tree = copy_of_the_repository(tmp_path, tools, "02_naive_c/add", GELU)
    wrong = REFERENCE.replace("(accum)0.5", "(accum)0.51")
    (tmp_path / "labs" / GELU / "01_wrong.c").write_text(wrong)
    read = tmp_path / "read"  # the next task waits for it, half a minute at most
    wait = f"for second in $(seq 30); do [ -e '{read}' ] || sleep 1; done"
    gcc = put(
        tmp_path / "bin" / "gcc",
        f'#!/bin/sh\ncase "$*" in *01_wrong*) {wait} ;; esac\nexec /usr/bin/gcc "$@"\n',
    )
    gcc.chmod(0o755)
    path = f"{gcc.parent}:{os.environ['PATH']}"
    process = tree.start("grade", CHECK="forward", PATH=path)
    line = process.stdout.readline()
    early = not tree.results_file.exists()
    put(read)
    rest, _ = process.communicate(timeout=120)
    task_line = r"02_naive_c/add: forward PASS; backward - \([12]/3 files\)\n"
    assert re.fullmatch(task_line, line)
    words = "forward 1 PASS, 1 WRONG_VALUE; backward - (3/3 files)"
    assert early and rest.startswith(f"{GELU}: {words}\n")


def test_a_wrong_file_beside_a_right_one_costs_nothing(ladder):
    assert ladder.verdicts(f"{GELU}/01_wrong")["forward"] == "WRONG_VALUE"
    assert ladder.verdicts(f"{GELU}/03_broken") == dict.fromkeys(PASSED, "BUILD")
    assert ladder.verdicts(f"{GELU}/04_mine") == PASSED  # without an entry in lab.toml
    assert ladder.task(GELU)["points"] == 2


def test_a_file_may_define_one_direction_alone(ladder):
    (rung,) = [r for r in ladder.task(GELU)["rungs"] if "02_forward" in r["id"]]
    assert rung["uses"] == {}
    assert ladder.verdicts(rung["id"]) == {"forward": "PASS"}


def test_seed_and_hashes_of_what_was_graded_are_kept(ladder):
    assert ladder.results["seed"] == ladder.task(GELU)["seed"] == 7
    for rung in ladder.task(GELU)["rungs"]:
        text = (ladder.root / rung["file"]).read_bytes()
        assert rung["sha256"] == hashlib.sha256(text).hexdigest()


def test_the_same_seed_repeats_the_same_numbers(ladder):
    before = untimed(ladder.task(GELU))
    done = ladder.run("grade", f"{GELU}/01", "SEED=7")
    assert done.returncode == 1
    assert untimed(ladder.task(GELU)) == before


def untimed(task: dict) -> dict:
    """A task without the seconds that its checks took, and the hour of answers."""
    for rung in task["rungs"]:
        rung.pop("date", None)  # of an answer from before
        for check in rung["checks"]:
            del check["seconds"]
    return task


def test_another_seed_brings_other_numbers(ladder):
    (before,) = [r for r in ladder.task(GELU)["rungs"] if "01_wrong" in r["id"]]
    ladder.run("grade", f"{GELU}/01", "SEED=8")
    (after,) = [r for r in ladder.task(GELU)["rungs"] if "01_wrong" in r["id"]]
    assert before["checks"][0]["message"] != after["checks"][0]["message"]
    ladder.run("grade", f"{GELU}/01", "SEED=7")  # as the other tests expect it


# ---- what T=, LAB= and CHECK= choose -------------------------------------------------


@pytest.mark.parametrize(
    "wanted",
    [
        "02_naive_c/conv2d",
        "labs/02_naive_c/conv2d",
        "labs/02_naive_c/conv2d/",
        "./labs/02_naive_c/conv2d",
        str(ROOT / "labs" / "02_naive_c" / "conv2d"),
        "02_naive_c/conv",
    ],
)
def test_a_task_is_named_by_id_path_or_prefix(wanted):
    found = select(wanted)
    assert [task.id for task in found.tasks] == ["02_naive_c/conv2d"]
    assert found.rungs == {rung.id for rung in found.tasks[0].rungs}


@pytest.mark.parametrize(
    "wanted",
    [
        "02_naive_c/conv2d/01",
        "02_naive_c/conv2d/01_loop_order",
        "labs/02_naive_c/conv2d/01_loop_order.c",
        str(ROOT / "labs" / "02_naive_c" / "conv2d" / "01_loop_order.c"),
    ],
)
def test_a_rung_is_named_by_id_path_or_prefix(wanted):
    assert select(wanted).rungs == {"02_naive_c/conv2d/01_loop_order"}


def test_a_prefix_selects_all_its_tasks_and_no_name_selects_everything():
    assert {task.lab for task in select("02").tasks} == {"02_naive_c"}
    assert len(select("02").tasks) == len(SIGNATURES) + 2  # and tensor_view, bug_hunt
    assert {task.lab for task in select(None, "01").tasks} == {"01_python_function"}
    found = select(None)
    assert found.whole
    assert {task.lab[:2] for task in found.tasks} >= {"01", "02"}


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        (["02_naive_c/covn2d"], "02_naive_c/conv2d"),
        (["conv2d"], "02_naive_c/conv2d"),
        (["02_naive_c/conv2d/09_best"], "02_naive_c/conv2d"),
        (["/etc/passwd"], "is not inside"),
        ([None, "07"], "the labs are: 01_python_function, 02_naive_c"),
    ],
)
def test_an_unknown_name_lists_near_ones(wanted, near):
    with pytest.raises(GraderError, match=near):
        select(*wanted)


def test_make_grade_hands_its_words_on(tree):
    command = ["make", "grade", f"T={GELU}", "CHECK=forward", "SEED=5"]
    command.append(f"PYTHON={sys.executable}")
    environment = {**os.environ, "CONVLAB_BUILD": str(tree.build)}
    done = subprocess.run(
        command, cwd=tree.root, env=environment, capture_output=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert tree.verdicts(f"{GELU}/00_definition") == {"forward": "PASS"}
    assert tree.results["seed"] == 5


def test_make_ends_with_an_error_for_what_is_missing_only_where_it_is_told(tree):
    put(tree.root / "labs" / GELU / "00_definition.c", "int nothing;\n")
    environment = {**os.environ, "CONVLAB_BUILD": str(tree.build)}
    ended = {}
    for strict in ("", "STRICT=1"):
        command = ["make", "grade", f"T={GELU}", strict, f"PYTHON={sys.executable}"]
        done = subprocess.run(
            [word for word in command if word],
            **{"cwd": tree.root, "env": environment, "capture_output": True},
            timeout=120,
        )
        assert b"BUILD" in done.stdout
        ended[strict] = done.returncode, b"Error 1" in done.stderr
    assert ended == {"": (0, False), "STRICT=1": (2, True)}


def test_a_check_alone_replaces_only_its_own_direction(tree):
    tree.run("grade", GELU)
    assert tree.run("grade", GELU, "CHECK=gradient").returncode == 0
    assert tree.verdicts(f"{GELU}/00_definition") == PASSED
    assert tree.task(GELU)["points"] == 2


def test_speed_points_are_pending_where_nothing_is_timed(tools, tmp_path):
    tree = copy_of_the_repository(tmp_path, tools, GELU, timed=True)
    assert tree.run("grade", GELU).returncode == 0
    task = tree.task(GELU)
    assert task["of"] == task["points"] + task["pending"] == 2
    assert task["pending"] == 0.5


def test_results_of_other_tasks_are_kept(tools, tmp_path):
    add = "02_naive_c/add"
    tree = copy_of_the_repository(tmp_path, tools, GELU, add)
    assert tree.run("grade", GELU).returncode == 0
    before = untimed(tree.task(GELU))
    assert tree.run("grade", add).returncode == 0
    assert [task["id"] for task in tree.results["tasks"]] == [add, GELU]
    assert untimed(tree.task(GELU)) == before
    assert tree.results["points"] == 2  # add is core
    assert tree.results["extra"] == 2


# ---- starters ------------------------------------------------------------------------


def starter(text: str, mark: str) -> str:
    """What a student gets: solutions cut out, STARTER lines uncovered."""
    solution = rf"[^\n]*{mark} BEGIN SOLUTION.*?{mark} END SOLUTION[^\n]*\n"
    text = re.sub(solution, "", text, flags=re.DOTALL)
    return re.sub(rf"{mark} STARTER ?", "", text)


def test_starters_get_no_points_and_no_tracebacks(tools, tmp_path):
    python = ("01_python_function/add", "01_python_function/linear")
    ladders = [task.id for task in select("02").tasks if not task.is_hunt]
    tree = copy_of_the_repository(tmp_path, tools, *python, *ladders)
    for suffix, mark in ((".c", "//"), (".py", "#")):
        for file in (tree.root / "labs").rglob(f"*{suffix}"):
            file.write_text(starter(file.read_text(), mark))
    done = tree.run("grade")
    assert (done.returncode, done.stderr) == (1, "")
    assert "Traceback" not in done.stdout
    assert (tree.results["points"], tree.results["extra"]) == (0, 0)
    rungs = [rung for task in tree.results["tasks"] for rung in task["rungs"]]
    checks = [check for rung in rungs for check in rung["checks"]]
    assert {check["verdict"] for check in checks} == {"NOT_IMPLEMENTED"}
    assert {check["replay"] for check in checks} == {None}  # nothing to debug yet
    assert "Next: write labs/02_naive_c/add/00_broadcast.c" in done.stdout


def test_a_constructor_that_is_missing_is_named_and_keeps_no_gradient(tools, tmp_path):
    tree = copy_of_the_repository(tmp_path, tools, "01_python_function/linear")
    (file,) = (tree.root / "labs/01_python_function/linear").glob("00_*.py")
    function, module = file.read_text().split("class Linear(torch.nn.Module):")
    offered = starter(module, "#")
    file.write_text(f"{function}class Linear(torch.nn.Module):{offered}")
    done = tree.run("grade")
    rung = f"01_python_function/linear/{file.stem}"
    assert tree.verdicts(rung) == {"forward": "NOT_IMPLEMENTED", "backward": "PASS"}
    place = f"Next: write the constructor of the module in labs/{rung}.py:"
    assert place in " ".join(done.stdout.split())


# ---- mistakes in lab.toml ------------------------------------------------------------

GOOD = 'title = "C"\nlanguage = "c"\n[ladder.gelu]\npoints = 2\ncore = false\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("language = c", "is not valid TOML"),
        (GOOD.replace("title", "titel"), "the file has an unknown key 'titel'"),
        (GOOD.replace('"c"', '"fortran"'), "'language' is 'fortran', expected one of"),
        (GOOD.replace("gelu", "glu"), "no operator is called 'glu'"),
        (GOOD + 'hint = ["x"]\n', "ladder.gelu has an unknown key 'hint'"),
        (GOOD + '[rung."gelu/00_mine"]\nflag = 1\n', "has an unknown key 'flag'"),
        (GOOD.replace("points = 2\n", ""), "'ladder.gelu' lacks the key 'points'"),
        (GOOD.replace("2", '"many"'), "points' is 'many', expected a number"),
        (GOOD.replace("2", "-2"), "points' is -2, expected a number"),
        (GOOD + 'hints = "x"\n', "ladder.gelu: 'hints' is 'x', expected a list"),
        (
            GOOD + '[rung."gelu/00_mine"]\nhints = "x"\n',
            "rung 'gelu/00_mine': 'hints' is 'x', expected a list",
        ),
    ],
)
def test_a_mistake_in_lab_toml_is_told_in_a_sentence(
    tmp_path, monkeypatch, text, sentence
):
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    folder = tmp_path / "labs" / "02_naive_c"
    put(folder / "gelu" / "00_mine.c", REFERENCE)
    with pytest.raises(GraderError, match=re.escape(sentence)) as raised:
        tasks._lab(put(folder / "lab.toml", text))
    assert str(raised.value).startswith("labs/02_naive_c/lab.toml")


def test_a_rung_that_cannot_be_read_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    (tmp_path / "00_mine.c").write_text(REFERENCE)
    monkeypatch.setattr(tasks.os, "access", lambda file, how: how != os.R_OK)
    assert not tasks._files(tmp_path, ".c")
    assert "fix its permissions" in tasks._strange(tmp_path / "00_mine.c")


def test_what_a_terminal_cannot_show_is_written_in_other_characters(tree):
    text = REFERENCE.replace("{", "{\n    größe = 1;", 1)
    (tree.root / "labs" / GELU / "01_groesse.c").write_text(text)
    done = tree.run("build", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (1, "")
    assert "the line is: gr\\xf6\\xdfe = 1;" in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("lab.toml", "title = ", "is not valid TOML"),
    ],
)
def test_a_file_that_cannot_be_is_named_in_one_sentence(tree, name, text, words):
    put(tree.root / "labs/02_naive_c" / name, text)
    sentence = one_sentence(tree.run("grade"))
    assert f"labs/02_naive_c/{name}" in sentence and words in sentence


# ---- a machine that is not as it should be -------------------------------------------


def test_a_second_grading_is_refused_while_one_runs(tree):
    with put(tree.build / "grade" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sentence = one_sentence(tree.run("grade", GELU))
    assert sentence.startswith("another grading is running in this folder")


BIN = "only_cc"  # a folder with a compiler and nothing else


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (
            {"CONVLAB_BUILD": "{root}/Makefile/build"},
            "cannot write to .*BUILD=",
        ),
        (
            {"CC": "no-such-cc"},
            r"^there is no C compiler \('no-such-cc'\): inst",
        ),
        ({"PATH": "{root}"}, r"^there is no C compiler \('cc'\)"),
        ({"PATH": f"{{root}}/{BIN}"}, "^there is no make"),
        (
            {"CONVLAB_SANDBOX": "chroot"},
            "'chroot', expected one of bwrap, landlock",
        ),
        ({"CC": "false"}, "^cannot build the grader's programs"),
    ],
    ids=["build_folder", "compiler", "no_tools", "make", "sandbox", "failing_compiler"],
)
def test_a_machine_that_is_not_as_it_should_be_is_told(tree, environment, words):
    (tree.root / BIN).mkdir()
    (tree.root / BIN / "cc").symlink_to(shutil.which("cc"))
    if environment.get("CC") == "false":
        shutil.rmtree(tree.build / "tools")
    given = {name: word.format(root=tree.root) for name, word in environment.items()}
    assert re.search(words, one_sentence(tree.run("grade", GELU, **given)))


def test_a_full_disk_is_told(tree):
    """The build folder is a file system of 64 KiB; without bubblewrap the compiler
    says what it would say then.
    """
    full = tree.root / "full"
    full.mkdir()
    environment = {"CONVLAB_BUILD": str(full), "CONVLAB_SANDBOX": "none"}
    around = ["bwrap", "--dev-bind", "/", "/", "--size", "65536", "--tmpfs", str(full)]
    if not sandbox.has_bwrap():
        said = "#!/bin/sh\necho 'x.o: No space left on device'\nexit 1\n"
        compiler = put(tree.root / "cc", said)
        compiler.chmod(0o755)
        environment["CC"], around = str(compiler), ["env"]
    command = [*around, sys.executable, "-m", "grader", "grade", GELU]
    place = {**os.environ, **environment}
    done = subprocess.run(
        command, cwd=tree.root, env=place, capture_output=True, text=True, timeout=120
    )
    assert one_sentence(done).startswith("the disk is full")


# ---- interrupted ---------------------------------------------------------------------


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interrupted_run_leaves_no_process_and_the_old_results(
    tools, tmp_path, how, jobs
):
    # a shell starts what runs behind a & deaf to Ctrl-C, and so would be our child
    signal.signal(signal.SIGINT, signal.default_int_handler)
    matmul = "02_naive_c/matmul"
    tree = copy_of_the_repository(tmp_path, tools, matmul)
    hangs = Fault("endless_loop", "c", "none").file
    shutil.copy(hangs, tmp_path / "labs" / matmul / "02_e.c")
    put(tree.results_file, '{"schema": 1, "tasks": []}')
    wanted = f"{matmul}/02" if jobs == "1" else matmul  # several: in other processes
    process = tree.start("grade", wanted, JOBS=jobs)
    assert until(lambda: workers_of(tree), seconds=60)
    send = os.killpg if how == "SIGINT" else os.kill  # Ctrl-C is for the whole group
    send(process.pid, getattr(signal, how))
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert err.startswith("convlab: interrupted; ") and err.count("\n") == 1
    assert until(lambda: not workers_of(tree), seconds=5)
    assert tree.results_file.read_text() == '{"schema": 1, "tasks": []}'
    names = {path.name for path in tree.results_file.parent.iterdir()}
    assert names == {"ledger.sqlite", "lock", "results.json"}
