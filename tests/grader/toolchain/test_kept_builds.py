# SPDX-License-Identifier: MIT
"""A process that grades again and again keeps its builds: `make watch` runs no make for
the same files. Whatever a build is made of is a reason to run make again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.course.rungs import Rung
from grader.course.uses import Use
from grader.toolchain import build as module
from grader.toolchain import products
from grader.toolchain.products import Build
from tests import put
from tests.grader.toolchain.conftest import LADDER

FORWARD = """#include "operators.h"
{declared}
status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{{
    return {value};
}}
"""
CALLS_ANOTHER = FORWARD.format(
    declared="gelu_forward_fn other_forward;",
    value="other_forward(ctx, input, p, output)",
)
OTHER = Use("other", f"{LADDER}/00_other", "labs/02_naive_c/lab.toml")


@dataclass
class Desk:
    """A rung that calls another one, and how often make was run for it."""

    root: Path
    rung: Rung
    used: tuple[str, ...]
    runs: int = 0

    def build(self, mode: str = "release", *, used: bool = True, **more: str) -> Build:
        """What `compiled` says."""
        use = self.used if used else ()
        return module.compiled(self.rung, mode=mode, used=use, **more)


@pytest.fixture
def desk(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(module, "ROOT", root)
    folder = root / "labs" / LADDER
    put(folder / "shared.h", "enum { SHARED = 1 };\n")
    put(folder / "00_other.c", FORWARD.format(declared="", value="STATUS_OK"))
    other = Rung(LADDER, folder / "00_other.c")
    module.compiled(other)
    objects = products.objects(other, "release")["f32"]
    pattern = str(objects).replace(".f32.", ".%.")
    caller = Rung(LADDER, put(folder / "01_mine.c", CALLS_ANOTHER), uses=(OTHER,))
    found = Desk(root, caller, (f"other_forward=gelu_forward@{pattern}",))

    run_make = products.run_make

    def counted(*words, **more):  # type: ignore[no-untyped-def]
        found.runs += 1
        return run_make(*words, **more)

    monkeypatch.setattr(products, "run_make", counted)
    return found


def touched(file: Path) -> None:
    """The same contents, saved once more."""
    text = file.read_bytes()
    file.write_bytes(text)
    now = file.stat().st_mtime_ns + 1_000_000
    os.utime(file, ns=(now, now))


def test_the_same_files_have_the_same_answer_and_make_is_not_run(desk: Desk) -> None:
    first = desk.build()
    assert first.error == "" and set(first.libraries) == set(products.DTYPES)
    before = desk.runs
    assert before > 0
    assert desk.build() is first
    assert desk.runs == before


def other_text(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.rung.file.write_text(CALLS_ANOTHER + "// changed\n")


def header_of_common(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    touched(desk.root / "common/real.h")


def rules_of_make(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    touched(desk.root / "common/rung.mk")


def header_of_the_ladder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    touched(desk.rung.file.parent / "shared.h")


def another_header(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    put(desk.rung.file.parent / "more.h")


def used_object(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    touched(Path(desk.used[0].partition("@")[2].replace("%", "f64")))


def product_changed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    touched(products.products(desk.rung, "release", "so")["f64"])


def product_gone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    products.products(desk.rung, "release", "so")["f32"].unlink()


def another_compiler(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "gcc")


def narrower_vectors(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISA", "avx2")


def another_build_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONVLAB_BUILD", str(desk.root / "build2"))


def forgotten(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    module.forget()


@pytest.mark.parametrize(
    "change",
    [
        other_text,
        header_of_common,
        rules_of_make,
        header_of_the_ladder,
        another_header,
        used_object,
        product_changed,
        product_gone,
        another_compiler,
        narrower_vectors,
        another_build_folder,
        forgotten,
    ],
)
def test_a_change_is_a_reason_to_run_make_again(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Desk, pytest.MonkeyPatch], None],
) -> None:
    desk.build()
    before = desk.runs
    change(desk, monkeypatch)
    desk.build()
    assert desk.runs > before


def test_a_mode_a_folder_and_what_is_used_have_answers_of_their_own(desk: Desk) -> None:
    linked = desk.build()
    for more in ({"mode": "debug"}, {"folder": "release-2"}, {"used": False}):
        before = desk.runs
        found = desk.build(**more)  # type: ignore[arg-type]
        assert desk.runs > before and found != linked, more
    before = desk.runs
    assert desk.build() is linked
    assert desk.runs == before


def test_what_is_compiled_only_is_kept_until_its_object_changes(desk: Desk) -> None:
    first = desk.build(used=False)
    assert first.wants == ("other_forward",) and not first.libraries
    before = desk.runs
    assert desk.build(used=False) is first
    assert desk.runs == before
    products.objects(desk.rung, "release")["f32"].unlink()
    desk.build(used=False)
    assert desk.runs > before


def test_a_file_that_does_not_build_is_asked_each_time(desk: Desk) -> None:
    desk.rung.file.write_text(CALLS_ANOTHER.replace(";\n}", "\n}"))
    assert "semicolon" in desk.build().error
    before = desk.runs
    assert "semicolon" in desk.build().error
    assert desk.runs > before
