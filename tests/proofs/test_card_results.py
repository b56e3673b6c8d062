# SPDX-License-Identifier: MIT
"""What a visit to a card left goes into the page of goals and into lab.toml."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests import put
from tests.proofs import card_results

MATMUL = "04_cuda_kernels/matmul"
TIMES = {
    "card": "A card (sm_90)",
    "rows": [
        ["pytorch f32", "4096", 2.0, 70.0, 1e-6, 1.0, 0.1],
        ["matmul/06_warp_tile", "4096", 2.5, 60.0, 1e-6, 0.91, 0.12],
        ["matmul/09_tf32", "4096", 0.8, 160.0, 3e-4, 3.3, 0.42],
        ["conv2d/05_tf32", "r56_64", 0.03, 90.0, 3e-4, 2.3, 1.16],
        ["conv2d/05_tf32", "r7_512", 0.05, 90.0, 3e-4, 2.9, 0.87],
    ],
}


def timed(name: str, ms: float, ratio: float, verdict: str = "PASS") -> dict:
    """A row of make bench."""
    words = {"task": MATMUL, "rung": f"{MATMUL}/{name}", "part": "forward"}
    return {**words, "case": "m2048", "verdict": verdict, "ms": ms, "ratio": ratio}


BENCH = {
    "rows": [
        timed("06_warp_tile", 0.417, 0.82),
        timed("09_tf32", 0.119, 0.5),
        timed("11_wgmma", 0.1, 9.0, "NOISY"),
    ]
}
CARD = {
    "tasks": [
        {
            "id": "04_cuda_kernels/add",
            "rungs": [
                {
                    "id": "04_cuda_kernels/add/00_strided",
                    "checks": [
                        {"name": "gpu forward", "verdict": "PASS"},
                        {"name": "gpu races", "verdict": "RACE"},
                    ],
                }
            ],
        }
    ]
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of the page and of lab.toml; a visit's folder beside them."""
    for name in ("PAGE", "LAB"):
        copy = put(tmp_path / name, getattr(card_results, name).read_text())
        monkeypatch.setattr(card_results, name, copy)
    (tmp_path / "visit").mkdir()
    return tmp_path


def taken(place: Path, **files: object) -> tuple[str, str]:
    """The page and lab.toml after a visit that left these files."""
    for name, results in files.items():
        put(place / "visit" / f"{name}.json", json.dumps(results))
    assert card_results.main([str(place / "visit")]) == 0
    return (place / "PAGE").read_text(), (place / "LAB").read_text()


def test_times_are_a_table_and_results_of_goals(place):
    page, _ = taken(place, times=TIMES)
    assert "<!-- times -->\nA card (sm_90).\n" in page
    assert "| `matmul/06_warp_tile` | 4096 | 2.500 | 1e-06 | 0.91 | 0.12 |" in page
    assert "| `matmul/06_warp_tile` | reached: 0.91 |" in page
    assert "| `matmul/09_tf32` | missed: 0.42; that is 3.3 times cuBLAS" in page
    assert "| `conv2d/05_tf32` | reached in 1 of 2: 0.87 to 1.16 |" in page
    assert "pytorch f32 |" not in page


def test_a_band_is_of_the_fastest_file_that_is_right(place):
    _, before = taken(place)
    page, after = taken(place, bench_04=BENCH)
    expected = "| `matmul` | forward | m2048 | `09_tf32` | 0.50 | 0.04 | 0.4 |"
    assert expected in page
    old, new = (tomllib.loads(text)["ladder"] for text in (before, after))
    band = {"case": "m2048", "floor": 0.04, "full": 0.4}
    assert new["matmul"]["speed"].pop("forward") == band
    old["matmul"]["speed"].pop("forward")
    assert new == old  # nothing else
    again, _ = taken(place, bench_04={"rows": [timed("06_warp_tile", 1, 1, "NOISY")]})
    assert expected in again  # a visit that does not tell of it changes nothing


def test_what_failed_on_the_card_is_named(place, capsys):
    page, _ = taken(place, card=CARD)
    assert "| `04_cuda_kernels/add` | 1 | 2 | `00_strided` gpu races: RACE |" in page
    assert "pending: there is no times.json in " in capsys.readouterr().out


def test_what_is_pending_is_printed(place, capsys):
    taken(place, bench_04=BENCH)
    said = capsys.readouterr().out
    assert "pending: the band of `lltm` backward h1024" in said
    assert "`matmul` forward" not in said
