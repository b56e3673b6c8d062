# SPDX-License-Identifier: MIT
"""The ledger: what counts again, what is history, and files that cannot be read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from grader.engine.answers import ledger as module
from grader.engine.answers.ledger import NEVER_AGAIN, Ledger
from grader.errors import GraderError
from grader.verdicts import Verdict

RUNG = "02_naive_c/add/00_x"


def keep(
    ledger: Ledger, key: str, *verdicts: str, seed: int = 1, asked: str = ""
) -> None:
    record = {"checks": list(verdicts)}
    words = {"verdicts": verdicts, "seed": seed, "asked": asked, "sha256": "f"}
    ledger.keep("checks", RUNG, key, record, **words)


def test_an_answer_is_found_under_its_key_alone(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        keep(ledger, "one", "PASS", seed=7)
        row = ledger.answer("checks", RUNG, "one")
        assert row and (row.seed, row.record) == (7, {"checks": ["PASS"]})
        assert ledger.answer("checks", RUNG, "another") is None
        assert ledger.answer("speed", RUNG, "one") is None


def test_the_newest_answer_counts_and_a_new_process_knows_it(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        keep(ledger, "one", "WRONG_VALUE", seed=1)
        keep(ledger, "one", "PASS", seed=2)
    with Ledger(tmp_path) as ledger:
        row = ledger.answer("checks", RUNG, "one")
        assert row and row.seed == 2


@pytest.mark.parametrize("verdict", sorted(map(str, Verdict)))
def test_what_says_more_about_the_hour_than_the_file_is_asked_again(
    tmp_path: Path, verdict: str
) -> None:
    again = {"TIMEOUT", "LIMIT", "NOISY", "PENDING_GPU", "SKIPPED", "BLOCKED", "GRADER"}
    assert again == NEVER_AGAIN
    with Ledger(tmp_path) as ledger:
        keep(ledger, "one", "PASS", verdict)
        assert (ledger.answer("checks", RUNG, "one") is None) == (verdict in again)
        assert ledger.rows("checks", RUNG, "f")


def test_an_answer_to_everything_also_answers_a_part(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        keep(ledger, "one", "PASS")
        assert ledger.answer("checks", RUNG, "one", "forward")
        keep(ledger, "two", "PASS", asked="forward")
        assert ledger.answer("checks", RUNG, "two", "forward")
        assert ledger.answer("checks", RUNG, "two") is None


def test_only_the_last_answers_of_a_name_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT", 3)
    with Ledger(tmp_path) as ledger:
        for number in range(5):
            keep(ledger, str(number), "PASS")
        found = [bool(ledger.answer("checks", RUNG, str(n))) for n in range(5)]
    assert found == [False, False, True, True, True]


def test_what_compiling_told_is_kept_by_contents(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        assert ledger.facts("x") is None
        ledger.keep_facts("x", {"defines": ["forward"], "wants": []})
        assert ledger.facts("x") == {"defines": ["forward"], "wants": []}


def damaged(file: Path) -> None:
    file.write_bytes(b"no database at all" * 100)


def of_another_version(file: Path) -> None:
    base = sqlite3.connect(file)
    base.execute("CREATE TABLE answers (x)")
    base.execute("PRAGMA user_version = 99")
    base.commit()
    base.close()


@pytest.mark.parametrize(
    ("spoil", "said"), [(damaged, "not a database"), (of_another_version, "99")]
)
def test_a_ledger_that_cannot_be_read_is_kept_aside(tmp_path, spoil, said):
    spoil(tmp_path / module.NAME)
    before = (tmp_path / module.NAME).read_bytes()
    with Ledger(tmp_path) as ledger:
        assert said in ledger.renamed and "ledger.unreadable-1.sqlite" in ledger.renamed
        keep(ledger, "one", "PASS")
        assert ledger.answer("checks", RUNG, "one")
    assert (tmp_path / "ledger.unreadable-1.sqlite").read_bytes() == before
    with Ledger(tmp_path) as ledger:
        assert not ledger.renamed


def test_a_torn_page_is_seen(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        for number in range(40):
            keep(ledger, str(number), "PASS" * 50)
    file = tmp_path / module.NAME
    data = bytearray(file.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4096] = b"\xff" * 4096
    file.write_bytes(data)
    with Ledger(tmp_path) as ledger:
        assert "cannot be read" in ledger.renamed


def test_a_folder_that_cannot_be_written_ends_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=r"cannot write to .*ledger\.sqlite"):
        Ledger(tmp_path / "nowhere")


def test_a_full_disk_ends_in_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        keep(ledger, "one", "PASS")
        (pages,) = ledger._base.execute("PRAGMA page_count").fetchone()
        ledger._base.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(GraderError, match="the disk is full"):
            keep(ledger, "two", "PASS " * 10000)
        assert ledger.answer("checks", RUNG, "one")
    with Ledger(tmp_path) as ledger:
        assert ledger.answer("checks", RUNG, "one")
