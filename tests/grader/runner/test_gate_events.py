# SPDX-License-Identifier: MIT
"""What a process with a student's code tells of lab 05's gates, or leaves in its
folder, leads the grader neither to another file nor to an exception of its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.checks.gates import contract
from grader.course.rungs import ROOT
from grader.runner.supervisor import gate_events
from grader.runner.supervisor.gate_events import Malformed
from grader.runner.supervisor.tools_session import Answer, Tools
from grader.toolchain import sandbox
from tests import put

LINE = {"event": "done", "gate": "vmap", "job": 0, "kind": "returned"}
TENSOR = ["output", "float64", [2, 3], "vmap.0.0"]
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
    (told,) = found.results
    assert (told.dtype, told.sizes, told.file) == ("float64", (2, 3), "vmap.0.0")


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
        line(results=[TENSOR[:3]]),
        line(results=[[*TENSOR[:3], "../request.pt"]]),
        line(results=[[*TENSOR[:3], "v" * 300 + ".0.0"]]),
        line(results=[["output", "float64", [1.5], "vmap.0.0"]]),
        line(results=[["output", "float64", [-1], "vmap.0.0"]]),
        line(results=[["output", "float64", [10**40], "vmap.0.0"]]),
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
folder = os.path.dirname(os.environ["TMPDIR"])
def tell(line): os.write(int(sys.argv[-2]), line + b"\\n")
"""
BEGIN = 'tell(b\'{"event": "begin", "gate": "vmap", "job": 0}\')\n'
END = "os._exit(0)\n"


def asked(home: Path, attack: str) -> dict[str, Answer]:
    """Two gates of a package that does so when it is imported."""
    package = home / "package"
    put(package / "convlab_ext" / "__init__.py", HEAD + attack + END)

    def write(names, file):
        torch.save({"package": str(package), "operator": "add", "header": ""}, file)

    tools = Tools(package, home / "tools")
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


def test_a_link_in_its_folder_leads_nobody_to_another_file(tmp_path):
    outside = put(tmp_path / "outside", "as before")
    found = asked(tmp_path, PLANT.replace("OUTSIDE", str(outside)) + BEGIN)
    assert {answer.kind for answer in found.values()} == {"died"}
    assert outside.read_text() == "as before"


def test_its_folders_may_be_replaced_and_the_next_run_goes_on(tmp_path):
    away = 'for name in ("tmp", "."):\n    try:\n'
    away += '        os.rename(f"{folder}/{name}", f"{folder}/{name}_away")\n'
    away += '        os.symlink("/nowhere", f"{folder}/{name}")\n'
    away += "    except OSError:\n        pass\n"
    for _ in "ab":
        found = asked(tmp_path, away + BEGIN)
        assert {answer.kind for answer in found.values()} == {"died"}
    left = {path.name for path in (tmp_path / "tools").iterdir()}
    assert left == {"cache"}


@pytest.mark.parametrize("told", [line(job="x"), line(results=[5]), b'{"event": []}'])
def test_a_line_of_its_own_ends_its_gates(tmp_path, told):
    found = asked(tmp_path, BEGIN + f"tell({told!r})\n")
    assert found["vmap"].kind == "died"
    assert "wrote a line of its own" in found["vmap"].message


def test_only_a_file_is_read_and_only_its_beginning(tmp_path):
    file = put(tmp_path / "file", "12345678")
    (tmp_path / "link").symlink_to(file)
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert contract.read(file, 4) == b"1234"
    for name in ("link", "dangling", "folder", "pipe", "nothing", "n" * 300):
        assert contract.read(tmp_path / name, 4) == b"", name


@pytest.mark.skipif(sandbox.level() != "bwrap", reason="needs bubblewrap")
def test_it_sees_no_case_and_no_right_answer(tmp_path):
    seen = "import glob\n"
    seen += f"found = glob.glob({str(ROOT / 'grader')!r} + '/**/*', recursive=True)\n"
    seen += "other = [f for f in found if '/runner' not in f and 'init' not in f]\n"
    found = asked(tmp_path, f"{seen}{BEGIN}print(len(found) > 9, other, flush=True)\n")
    assert "True []" in found["vmap"].message
