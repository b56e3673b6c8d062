# SPDX-License-Identifier: MIT
"""What students get gives no solution away: the search for it can fail, and does.

Lines of solutions are looked for as they are; the grader's Python, which computes the
same operators by PyTorch, is compared with lab 01's solutions by runs of tokens.
"""

from __future__ import annotations

import io
import json
import keyword
import re
import shutil
import tokenize

import pytest

from grader.commands import handout
from grader.course.exhibits import HUNT
from grader.course.handed.counted_files import RUNG
from grader.course.rungs import ROOT
from grader.course.tasks import all_tasks
from grader.errors import GraderError
from grader.handout import leaks
from grader.solution_marks import REGION
from tests import put

RUNGS = sorted(rung.file for task in all_tasks() for rung in task.rungs)
LINES = leaks.solution_lines(RUNGS)


def test_the_search_knows_solutions_when_it_sees_them(tmp_path):
    assert len(LINES) > 20 * len({f.parent for f in RUNGS})  # lines a ladder
    for file in RUNGS:
        name = "_".join((file.parents[1].name, file.parent.name, file.stem))
        shutil.copy(file, tmp_path / f"{name}.txt")
    found = " ".join(leaks.find(tmp_path, LINES))
    for file in RUNGS:
        solution = f"(of {file.parent.name}/{file.name};" in found
        # a repair may be too short to be searched for in all files: test_bug_hunt.py
        assert solution or file.parent.name == HUNT
    assert f"(of {HUNT}/" in found


@pytest.mark.parametrize("place", ["docs/guides/x.md", "grader/x.py", "labs/x.ipynb"])
def test_a_solution_anywhere_stops_the_handout(tmp_path, place):
    line = "            if (grad_features) *at2(grad_features,  read, ic) += grad * w;"
    assert leaks.bare(line) in LINES
    cell = {"cell_type": "markdown", "source": ["like this:\n", line]}
    notebook = json.dumps({"cells": [cell]})
    put(tmp_path / place, notebook if "ipynb" in place else f"# {line}\n")
    (leak,) = leaks.find(tmp_path, LINES)
    assert leak.startswith(place) and "subm_conv3d/01_rulebook_backward.c" in leak
    names = [str(f.relative_to(ROOT)) for f in RUNGS]
    with pytest.raises(GraderError, match="would give solutions away in 1 places"):
        handout._search(names, tmp_path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "    *at4(output, n, oc, oh, ow) = sum;  // done",
            "*at4(output,n,oc,oh,ow)=sum;",
        ),
        (" * Lane j of rows[i] and lane i of rows[j]", ""),
        (" */", ""),
        ("  // *at4(output, 0)", ""),
    ],
)
def test_a_star_begins_a_statement_or_goes_on_with_a_comment(line, expected):
    assert leaks.bare(line) == expected


def test_what_is_public_on_purpose_is_still_there():
    files = [f for f in (ROOT / "labs").rglob("*.*") if f.is_file()]
    rungs = [f for f in files if RUNG.fullmatch(str(f.relative_to(ROOT)))]
    every = (line for f in rungs for line in f.read_text().splitlines())
    fingerprints = {leaks.fingerprint(leaks.bare(line)) for line in every}
    assert set(leaks.PUBLIC) <= fingerprints


def test_what_an_earlier_lab_gives_is_no_secret_of_a_later_one(tmp_path):
    line = "    sums[place_of(grad, i)] += scale * term_of(i);\n"
    asked = f"// BEGIN SOLUTION\n{line}// END SOLUTION\n"
    files = [
        put(tmp_path / "02_first" / "add" / "00_a.c", f"{line}{asked}"),
        put(tmp_path / "02_first" / "add" / "01_b.c", asked),
        put(tmp_path / "03_second" / "add" / "00_c.c", asked),
    ]
    assert list(leaks.solution_lines(files).values()) == ["add/00_a.c"]
    assert leaks.solution_lines([files[0], files[2]]).keys() == {leaks.bare(line)}
    files[0].write_text(line)
    assert leaks.solution_lines([files[0], files[2]]) == {}
    assert list(leaks.solution_lines(files[:2]).values()) == ["add/01_b.c"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("const int64_t N = output->size[0], OC = output.size[1];", False),
        ("const int64_t N = tensor_count(t, t->ndim - 1);", False),
        ("static accum gelu(accum x, int64_t approximate)", False),
        ("const int64_t N = output->size[0] / p.groups;", True),
        ("static const double SQRT_1_2 = 0.70710678118654752440;", True),
    ],
)
def test_sizes_and_the_head_of_a_helper_are_told_on_purpose(line, expected):
    assert leaks.telling(leaks.bare(line)) is expected


GRAM = 12  # tokens
SHARE = 0.2  # of a solution's runs of tokens that the grader may happen to have


def grams(text: str) -> set[tuple[str, ...]]:
    """Runs of tokens; a name counts as any name, an attribute or keyword as itself."""
    words: list[str] = []
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT)
    lines = "".join(f"{line.strip()}\n" for line in text.splitlines())
    try:
        for token in tokenize.generate_tokens(io.StringIO(lines).readline):
            if token.type in (*skipped, tokenize.DEDENT) or not token.string:
                continue
            kept = keyword.iskeyword(token.string) or words[-1:] == ["."]
            plain = token.type == tokenize.NAME and not kept
            words.append("name" if plain else token.string)
    except tokenize.TokenError:
        pass  # a region that ends inside of brackets
    return {tuple(words[i : i + GRAM]) for i in range(len(words) - GRAM + 1)}


def solutions_in_python() -> dict[str, set[tuple[str, ...]]]:
    """The runs of tokens of each solution of lab 01 that is more than a few lines."""
    found = {
        f"{file.parent.name}/{number}": grams(text)
        for file in RUNGS
        if file.suffix == ".py"
        for number, (text, _) in enumerate(REGION.findall(file.read_text()))
    }
    return {name: runs for name, runs in found.items() if len(runs) > 2 * GRAM}


def too_alike(sources: list[str]) -> list[str]:
    """The solutions of which the grader's sources have too much."""
    own_grams = set().union(*map(grams, sources))
    shares = {n: len(s & own_grams) / len(s) for n, s in solutions_in_python().items()}
    return [f"{name}: {share:.0%}" for name, share in shares.items() if share > SHARE]


def own_sources() -> list[str]:
    folders = ("grader/operators", "grader/diagnosis/mistakes", "grader/runner/worker")
    return [f.read_text() for name in folders for f in (ROOT / name).rglob("*.py")]


def test_references_and_mistakes_are_no_solutions_of_lab_01():
    assert too_alike(own_sources()) == []


def test_half_a_solution_with_other_names_would_be_noticed():
    file = ROOT / "labs/01_python_function/conv2d/00_unfold_matmul.py"
    text = REGION.findall(file.read_text())[2][0]  # backward
    for number, name in enumerate(("grad_product", "filters", "col", "GM", "weight")):
        text = re.sub(rf"(?<!\.)\b{name}\b", f"other_{number}", text)
    half = "\n".join(text.splitlines()[10:])
    (sentence,) = too_alike([*own_sources(), half])
    assert sentence.startswith("conv2d/2: ")
