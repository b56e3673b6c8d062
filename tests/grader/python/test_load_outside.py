# SPDX-License-Identifier: MIT
"""convlab.load from outside: edited files, missing compilers, where it is found."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import convlab
import torch
from convlab._native import python_folder

from grader.course.rungs import ROOT
from tests import put

PATHS = os.pathsep.join([str(ROOT), str(ROOT / "common" / "python")])


def copied(folder: Path, *labs: str) -> dict[str, str]:
    """A copy of the repository with these folders of labs; what it is run with."""
    for part in ("common", "grader", *labs):
        shutil.copytree(ROOT / part, folder / part, dirs_exist_ok=True)
    for toml in (ROOT / "labs").glob("*/lab.toml"):
        ladders = toml.read_text().split("[rung.")[0]  # rungs need their files
        put(folder / toml.relative_to(ROOT), ladders)
    ours = python_folder()  # a binding that is up to date need not be built again
    convlab.view(torch.zeros(1))
    shutil.copytree(ours, folder / "build" / "python" / ours.name)
    paths = f"{folder}{os.pathsep}{folder}/common/python"
    build = str(folder / "build")
    return {**os.environ, "CONVLAB_BUILD": build, "PYTHONPATH": paths}


def run(script: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


EDITED = """
import json, pathlib, sys, torch, convlab
file = pathlib.Path(sys.path[1]) / "labs/02_naive_c/gelu/00_definition.c"
solved = file.read_text()
said = {}
def attempt(name, body):
    file.write_text('#include "operators.h"\\n' + body)
    try:
        gelu = convlab.load("02_naive_c/gelu")
        said[name] = gelu(torch.ones(3)).tolist()
        return gelu
    except Exception as error:
        said[name] = f"{type(error).__name__}: {error}"
HEAD = '''status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
tensor_t *output) { for (int64_t i = 0; i < 3; i++) real_data(output)[i] = %s; %s }'''
one = attempt("one", HEAD % (1, "return STATUS_OK;"))
two = attempt("two", HEAD % (2, "return STATUS_OK;"))
said["one again"] = one(torch.ones(3)).tolist()
attempt("starter", HEAD % (0, "return STATUS_NOT_IMPLEMENTED;"))
attempt("broken", HEAD % (3, "return STATUS_OK"))
attempt("missing", HEAD % ("lost(i)", "return STATUS_OK;"))
attempt("escape", "#include <stdlib.h>\\n" + HEAD % ('system("")', "return STATUS_OK;"))
(file.parent / "01_new.c").write_text(solved)
said["dropped in"] = convlab.load("02_naive_c/gelu").files["forward"]
print(json.dumps(said))
"""


def test_loading_again_after_an_edit_gives_the_new_code(tmp_path):
    environment = copied(tmp_path, "labs/02_naive_c/gelu")
    said = json.loads(run(EDITED, environment))
    assert (said["one"], said["two"]) == ([1, 1, 1], [2, 2, 2])
    assert said["one again"] == [1, 1, 1]  # what was loaded before stays as it was
    name = "labs/02_naive_c/gelu/00_definition.c"
    for attempt, words in (
        ("starter", f"NotImplementedError: {name}: gelu_forward is not written"),
        ("broken", f"LoadError: {name}:3: expected ';'"),
        ("missing", f"LoadError: {name}.*'lost'"),
        ("escape", f"LoadError: {name} calls 'system'"),
    ):
        assert re.match(words, said[attempt]), said[attempt]
    assert said["dropped in"] == "labs/02_naive_c/gelu/01_new.c"


LACKING = """
import os
import convlab
for variable in ("CC", "CXX"):
    os.environ[variable] = "nowhere"
    try:
        convlab.load("02_naive_c/gelu")
    except convlab.LoadError as error:
        print(error)
    del os.environ[variable]
"""


def test_a_missing_compiler_is_one_sentence(tmp_path):
    environment = {**os.environ, "PYTHONPATH": PATHS, "CONVLAB_BUILD": str(tmp_path)}
    c, cpp = run(LACKING, environment).splitlines()
    assert re.match(r"there is no C compiler \('nowhere'\): install one", c)
    assert re.match(r"there is no C\+\+ compiler \('nowhere'\), .*build-essential", cpp)


def test_signatures_are_imported_without_torch():
    script = "import signatures, sys; print('torch' in sys.modules)"
    assert run(script, {**os.environ, "PYTHONPATH": PATHS}) == "False\n"


def test_the_environment_that_make_builds_finds_convlab_from_anywhere(tmp_path):
    venv.create(tmp_path / ".venv", symlinks=True)
    text = (ROOT / "Makefile").read_text()
    paths = re.search(r"^PATHS := (.*)$", text, re.MULTILINE)[1].replace(":", " ")
    lines = re.search(r"\t@(printf .*?convlab\.pth\"\n)", text, re.DOTALL)
    command = lines[1].replace("$(subst :, ,$(PATHS))", paths).replace("$$", "$")
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, timeout=60)
    for part in ("common", "grader"):
        (tmp_path / part).symlink_to(ROOT / part)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [
            tmp_path / ".venv/bin/python",
            "-c",
            "import convlab, signatures, grader.course",
        ],
        cwd="/",
        env=environment,
        timeout=60,
    )
    assert done.returncode == 0


def test_an_environment_is_made_anew_for_other_requirements_and_for_no_other_date(
    tmp_path,
):
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    (tmp_path / "common").mkdir()
    shutil.copy(ROOT / "common/isa.mk", tmp_path / "common")

    def planned() -> str:
        command = ["make", "-n", "doctor"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    marker = tmp_path / re.search(r"^touch (.+)$", planned(), re.MULTILINE)[1]
    marker.parent.mkdir()
    marker.touch()
    os.utime(marker, (0, 0))  # as in a clone that is newer than its linked .venv
    assert "Making .venv" not in planned()
    with (tmp_path / "requirements/requirements.txt").open("a") as file:
        file.write("# another\n")
    assert "Making .venv" in planned()
