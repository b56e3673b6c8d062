# SPDX-License-Identifier: MIT
"""Every file, rung and command that a text names is there: in the repository, and in
what students get.

tests/house/references.py says what counts as a text and what as a reference.
"""

from __future__ import annotations

import pytest

from grader.commands import handout
from grader.toolchain import given
from tests.house.references import Tree, dead
from tests.house.test_style import ROOT, files

EXPECTED = {  # file: reference, and why it leads nowhere
    "Makefile: T=rung": "any rung",
    "CHANGELOG.md: 08_tf32": "its name at that time; now 09_tf32",
    "CHANGELOG.md: 10_wgmma": "its name at that time; now 11_wgmma",
    "docs/guides/cuda_on_the_cpu.md: kernel.cu": "the reader's own",
    "docs/guides/first_hour.md: labs/02_naive_c/conv2d/02_mine.c": "the reader's own",
    "grader/runner/worker/limits.c: linux/landlock.h": "the system's",
    "labs/04_cuda_kernels/lab.toml: llama.cpp": "a project",
    "docs/guides/bug_museum.md: llama.cpp": "a project",
    "labs/04_cuda_kernels/bug_hunt/01_block_per_row.cu: ggml-org/llama.cpp": "the same",
    "labs/01_python_function/bug_hunt/04_masked_slope.py: cpp/lltm.cpp": "PyTorch's",
    "grader/commands/check_card.py: card.json": "needs a GPU",
    "docs/guides/on_a_gpu.md: card.json": "needs a GPU",
    "docs/guides/on_a_gpu.md: times.json": "needs a GPU",
    "tests/proofs/card_results.py: card.json": "needs a GPU",
    "tests/proofs/card_results.py: times.json": "needs a GPU",
    "tests/common/cusim/against_ncu.py: docs/results/ncu.md": "needs a GPU",
    "tests/common/cusim/rungs_under_ncu.py: ncu_rungs.md": "needs a GPU",
    "tests/programs/portable/driver.c: table.h": "made by test_portable.py",
    # students get these modules too: there they say that they work at home only
    "grader/commands/handout.py: make handout": "works in the repository",
    "grader/commands/tables.py: make tables": "works in the repository",
    "grader/commands/handout.py: record_first_hour.py": "works in the repository",
    "requirements/development.in: make docs": "works in the repository",
    "grader/handout/course_trees.py: make handout": "works in the repository",
    "grader/commands/submission.py: make submission": "works in the repository",
    "grader/commands/batch.py: make batch": "works in the repository",
    "grader/commands/marks.py: make marks": "works in the repository",
    "grader/commands/similar.py: make similar": "works in the repository",
    "docs/guides/instructors.md: T=02_naive_c/gelo": "a wrong word, and what is said",
    "docs/guides/instructors.md: desk/<name>/people.toml": "the instructor's own",
    "docs/guides/instructors.md: records/*.html": "the instructor's own",
}
OWN = {  # files that a reader makes, or that only a tree of a course has
    "course.toml": "an instructor's",
    "people.toml": "an instructor's",
    "COURSE.md": "made by make handout COURSE=",
}


@pytest.fixture(scope="module")
def repository() -> Tree:
    return Tree(ROOT, files())


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The handout that the present files would make, without the given objects."""
    root = tmp_path_factory.mktemp("student")
    names = [name for name in files() if handout.allowed(name)]
    for name in names:
        handout._ship(name, root / name)
    page = f"given/{given.arch()}/README.md"
    (root / page).parent.mkdir(parents=True)
    (root / page).write_text(given.README.format(arch=given.arch()))
    (root / given.MANIFEST).write_text("")
    return Tree(root, (*names, page, given.MANIFEST))


def none(tree: Tree) -> None:
    bad = [line for line in dead(tree) if line not in EXPECTED]
    bad = [line for line in bad if line.partition(": ")[2] not in OWN]
    if bad:
        pytest.fail(f"{len(bad)} lead nowhere:\n" + "\n".join(bad), pytrace=False)


def test_whatever_a_text_of_the_repository_names_is_there(repository: Tree) -> None:
    assert len(repository.texts) > 500
    none(repository)


def test_whatever_a_text_of_the_handout_names_is_in_the_handout(student: Tree) -> None:
    assert len(student.texts) > 300
    none(student)


DEAD = {  # a text: what of it leads nowhere
    "[a page](nowhere.md)": "(nowhere.md)",
    "`grader/report/pge.py`": "grader/report/pge.py",
    "see lanch.h": "lanch.h",
    "labs/*/nope_*.c": "labs/*/nope_*.c",
    "2x over 01_blooks": "01_blooks",
    "`matmul/05_paked`": "matmul/05_paked",
    "03_im2col_cpu/matmul/42": "T=03_im2col_cpu/matmul/42",
    "`make grad`": "make grad",
    "`make grade T=99_none`": "T=99_none",
    "LAB=77": "LAB=77",
    "`python -m grader.nope`": "python -m grader.nope",
    "decision 0099": "decision 0099",
}
ALIVE = """
[a page](../../README.md) `grader/report/page.py` launch.h labs/*/README.md 00_strided
`matmul/05_float4` 03_im2col_cpu/matmul/05 make a choice `make grade T=02` LAB=04 T=...
`labs/<lab>/<op>/NN_*.c` `python -m grader` decision 0001, build/x/y.json. `tests/`
"""


def test_each_form_of_a_dead_reference_is_found(repository: Tree) -> None:
    refs = dead(repository, {f"text {i}": text for i, text in enumerate(DEAD)})
    bad = {f"text {i}: {word}" for i, word in enumerate(DEAD.values())}
    assert bad <= set(refs) and len({line.split(":")[0] for line in refs}) == len(DEAD)


def test_what_is_there_is_found_too(repository: Tree) -> None:
    assert dead(repository, {"labs/04_cuda_kernels/x.md": ALIVE}) == []
    strange = {"labs/04_cuda_kernels/add/00_strided.cu": "as 04_register_tile"}
    assert len(dead(repository, strange)) == 1  # a rung of another ladder


def test_what_is_excepted_does_lead_nowhere(repository: Tree, student: Tree) -> None:
    found = {*dead(repository), *dead(student)}
    assert set(EXPECTED) <= found
    assert set(OWN) <= {line.partition(": ")[2] for line in found}
