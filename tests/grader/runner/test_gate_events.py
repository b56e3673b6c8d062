# SPDX-License-Identifier: MIT
"""What a process with a student's code tells of lab 05's gates, or leaves in its
folder, leads the grader neither to another file nor to an exception of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.course.rungs import ROOT
from grader.runner.supervisor import gate_events, tools_session
from grader.runner.supervisor.gate_events import Malformed
from grader.runner.supervisor.tools_session import Answer, Tools
from grader.toolchain import sandbox
from tests import put
from tests.conftest import needs_bwrap
from tests.proofs.trust import proc_file

LINE = {"event": "done", "gate": "vmap", "job": 0, "kind": "returned"}
TENSOR = ["output", "float64", [2, 3]]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=8,
)
WORDS = st.sampled_from(["done", "begin", "end", "ready", "returned", "raised", "vmap"])


def line(**more: object) -> bytes:
    return json.dumps({**LINE, **more}).encode()


def test_a_line_of_the_workers_own_is_an_event():
    found = gate_events.decoded(line(results=[TENSOR], message="a word"))
    assert (found.gate, found.kind, found.message) == ("vmap", "returned", "a word")
    (result,) = found.results
    assert (result.dtype, result.sizes) == ("float64", (2, 3))


@pytest.mark.parametrize(
    "written",
    [
        b"printed by a student",
        b"[" * 100_000,
        b"[]",
        b'{"job": ' + b"9" * 5000 + b"}",
        line(job="x"),
        line(job=True),
        line(job=-1),
        line(gate=[]),
        line(kind="grader"),
        line(kind="timeout"),
        line(kind=""),
        line(event="begin"),
        line(event={}),
        line(message=5),
        line(results=[5]),
        line(results={"0": TENSOR}),
        line(results=[TENSOR[:2]]),
        line(results=[[*TENSOR, "../request.pt"]]),
        line(results=[["output", "float64", [1.5]]]),
        line(results=[["output", "float64", [-1]]]),
        line(results=[["output", "float64", [10**40]]]),
    ],
    ids=lambda written: written.decode()[:50] + str(len(written)),
)
def test_another_line_is_refused(written):
    with pytest.raises(Malformed):
        gate_events.decoded(written)


@settings(max_examples=2000, deadline=None)
@given(
    st.binary()
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries(
        {},
        optional={
            "event": WORDS | JSON,
            "gate": WORDS | JSON,
            "job": st.integers() | JSON,
            "kind": WORDS | JSON,
            "message": JSON,
            "results": st.lists(st.lists(JSON, max_size=5)) | JSON,
        },
    ).map(lambda words: json.dumps(words).encode())
)
def test_any_line_is_an_event_or_refused(written):
    try:
        found = gate_events.decoded(written)
    except Malformed:
        return
    assert isinstance(found.job, int) and isinstance(found.gate, str)


# ---- a process that writes lines and files of its own --------------------------------

HEAD = """
import os, sys
folder = os.environ["TMPDIR"]
def tell(line): os.write(int(sys.argv[-2]), line + b"\\n")
"""
BEGIN = 'tell(b\'{"event": "begin", "gate": "vmap", "job": 0}\')\n'
END = "os._exit(0)\n"


def asked(
    home: Path, attack: str, began: Callable[[str], None] = lambda _: None
) -> dict[str, Answer]:
    """Two gates of a package that does so when it is imported."""
    package = home / "package"
    put(package / "convlab_ext" / "__init__.py", HEAD + attack + END)

    def write(names, file):
        torch.save({"package": str(package), "operator": "add", "header": ""}, file)

    tools = Tools(package, home / "tools", began=began)
    try:
        return tools.run(["vmap", "mask"], write)
    finally:
        tools.stop()
        tools.forget()


PLANT = """
for name in ("request.pt", "../request.pt", "vmap.0.0"):
    try:
        os.path.lexists(f"{folder}/{name}") and os.remove(f"{folder}/{name}")
        os.symlink("OUTSIDE", f"{folder}/{name}")
    except OSError:
        pass
"""


def test_each_gate_that_begins_is_told_at_once(tmp_path):
    began = []
    asked(tmp_path, BEGIN + BEGIN, began.append)
    assert began == ["import", "vmap"] * 2  # another process runs the second gate


def test_a_link_in_its_folder_leads_nobody_to_another_file(tmp_path):
    outside = put(tmp_path / "outside", "as before")
    found = asked(tmp_path, PLANT.replace("OUTSIDE", str(outside)) + BEGIN)
    assert {answer.kind for answer in found.values()} == {"died"}
    assert outside.read_text() == "as before"


def test_its_folders_may_be_replaced_and_the_next_run_goes_on(tmp_path):
    away = 'for name in ("cache", "."):\n    try:\n'
    away += '        os.rename(f"{folder}/{name}", f"{folder}/{name}_away")\n'
    away += '        os.symlink("/nowhere", f"{folder}/{name}")\n'
    away += "    except OSError:\n        pass\n"
    for _ in "ab":
        found = asked(tmp_path, away + BEGIN)
        assert {answer.kind for answer in found.values()} == {"died"}
    left = {path.name for path in (tmp_path / "tools").iterdir()}
    assert left == {"cache"}


@pytest.mark.parametrize("own", [line(job="x"), line(results=[5]), b'{"event": []}'])
def test_a_line_of_its_own_ends_its_gates(tmp_path, own):
    found = asked(tmp_path, BEGIN + f"tell({own!r})\n")
    assert found["vmap"].kind == "died"
    assert "wrote an unknown line" in found["vmap"].message


@needs_bwrap
def test_it_sees_no_case_and_no_right_answer(tmp_path):
    seen = "import glob\n"
    seen += f"found = glob.glob({str(ROOT / 'grader')!r} + '/**/*', recursive=True)\n"
    seen += "other = [f for f in found if '/runner' not in f and 'init' not in f]\n"
    found = asked(tmp_path, f"{seen}{BEGIN}print(len(found) > 9, other, flush=True)\n")
    assert "True []" in found["vmap"].message


# ---- a process that does not start ---------------------------------------------------


@pytest.mark.parametrize("failing", ["socketpair", "TemporaryFile", "environment"])
def test_a_process_that_does_not_start_leaves_nothing(tmp_path, monkeypatch, failing):
    def fails(*_: object) -> None:
        raise OSError("no more of these")

    tools = Tools(tmp_path, tmp_path / "tools")
    for owner in (tools_session.socket, tools_session.tempfile, tools):
        if hasattr(owner, failing):
            monkeypatch.setattr(owner, failing, fails)
    leaves_nothing(tools, "no more of these")


def test_a_process_that_starts_before_an_error_is_ended(tmp_path, monkeypatch):
    tools = Tools(tmp_path, tmp_path / "tools")
    started = []

    def start(*_: object) -> None:
        command = ["sleep", "60"]
        tools._process = subprocess.Popen(command, start_new_session=True)
        started.append(tools._process)
        raise OSError("after it")

    monkeypatch.setattr(tools, "_start", start)
    monkeypatch.setattr(tools, "_walled", True)
    leaves_nothing(tools, "after it")
    assert started[0].returncode == -signal.SIGKILL


def leaves_nothing(tools: Tools, words: str) -> None:
    """Its run ends with an error, and no descriptor and no folder stays."""
    before = sorted(Path("/proc/self/fd").iterdir())
    with pytest.raises(OSError, match=words):
        tools.run(["vmap"], lambda *_: None)
    assert sorted(Path("/proc/self/fd").iterdir()) == before
    assert {path.name for path in tools.folder.iterdir()} <= {"cache"}


# ---- a process that uses too much ----------------------------------------------------

HOLDS = "import time\nheld = b'x' * (900 << 20)\ntime.sleep(60)\n"
FORKS = """
import time
for _ in range(60):
    if os.fork() == 0:
        break
time.sleep(60)
"""
FILLS = """
with open(f"{folder}/large", "wb") as file:
    try:
        for _ in range(64): file.write(bytes(1 << 20))
    except OSError as error:
        print(error, flush=True)
        os._exit(1)
"""


def test_memory_is_limited_over_all_of_its_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(tools_session, "MEMORY", 1 << 30)
    found = asked(tmp_path, BEGIN + "os.fork()\n" + HOLDS)["vmap"]
    assert (found.kind, found.message) == ("limit", "uses more than 1024 MiB of memory")


def test_processes_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(tools_session, "PROCESSES", 40)
    found = asked(tmp_path, BEGIN + FORKS)["vmap"]
    assert "40 processes" in found.message or "unavailable" in found.message


@needs_bwrap
def test_files_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(tools_session, "FILES", 16 << 20)
    found = asked(tmp_path, BEGIN + FILLS)["vmap"]
    assert "No space left on device" in found.message
    assert not list((tmp_path / "tools").rglob("large"))


@needs_bwrap
def test_what_is_compiled_of_somebody_elses_code_does_not_stay(tmp_path, monkeypatch):
    kept = (
        'where = os.environ["TORCHINDUCTOR_CACHE_DIR"]\nos.makedirs(where, 0o777, True)'
    )
    kept += '\nprint(os.listdir(where))\nopen(f"{where}/left", "w").close()\n'
    kept += "sys.stdout.flush()\n"
    for stranger, second in (("1", "[]"), ("", "['left']")):
        monkeypatch.setenv(sandbox.STRANGER, stranger)
        asked(tmp_path / stranger, kept + BEGIN)
        again = asked(tmp_path / stranger, kept + BEGIN + "os._exit(1)\n")["vmap"]
        assert second in again.message


OUTLIVES = """
if not os.fork():
    os.setsid()
    if not os.fork():
        os.execve(sys.executable, [sys.executable, "-S", "-c", CODE], {})
    os._exit(0)
import time
time.sleep(1)
"""


@pytest.mark.parametrize("level", sandbox.LEVELS)
@pytest.mark.parametrize("end", ["os._exit(0)\n", "tell(b'nonsense')\n"])
def test_nothing_that_it_has_started_outlives_it(tmp_path, monkeypatch, level, end):
    monkeypatch.setattr(sandbox, "level", lambda: level)
    code = f"import time; time.sleep(600)  # {tmp_path}"
    asked(tmp_path, f"CODE = {code!r}\n" + BEGIN + OUTLIVES + end)
    for _ in range(100):  # a namespace ends a moment after its outer process
        if not (left := [e for e in Path("/proc").glob("[0-9]*") if runs(e, code)]):
            break
        time.sleep(0.1)
    for entry in left:
        os.kill(int(entry.name), signal.SIGKILL)
    assert not left


def runs(entry: Path, code: str) -> bool:
    return code in proc_file(entry, "cmdline").decode().split("\0")
