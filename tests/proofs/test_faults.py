# SPDX-License-Identifier: MIT
"""A sample of the fault table: in C all at the strongest level and a sixth of them at
each weaker one, some in Python and in CUDA.

The programs and the verdicts they must get stand in tests/programs/redteam; `make
trust` runs the whole table, this file what fits into `make test`.
"""

from __future__ import annotations

import pytest

from grader.checks.values import forward
from grader.verdicts import Verdict
from tests import WHOLE
from tests.proofs import trust
from tests.proofs.trust import Fault

PYTHON_KINDS = (  # one for each part of the Python worker that catches something
    "correct",
    "segfault",
    "underscore_exit",
    "constructor_forges",
    "late_thread",
    "forgotten_elements",
    "self_stop",
    "overrun_read_before",
    "write_to_input",
    "fork_bomb",
    "allocate_10gb",
    "destructor_writes",
    "nan",
    "float_in_double",
    "wrong_shape",
    "wrong_dtype",
    "ignores_needs_input_grad",
    "forged_grader",
    "uses_library",
    "uses_library_hidden",
    "pointwise_linear",
    "sparse_product",
    "compile_error",
)
LANGUAGES = (  # of a fault
    *({"c"}, {"python"}, {"cuda"}),
    *({"c", "python"}, {"c", "python", "cuda"}),
    {"package"},
)
PACKAGES = ("fills_memory", "forks", "outlives")  # others: test_redteam.py
CUDA_KINDS = (  # what test_cuda_rungs.py has not: attacks, and verdicts of cusim
    "output_100mb",
    "double_fork",
    "allocate_10gb",
    "forged_phase",
    "uses_library_hidden",
    "host_computes",
    "host_copies",
    "wrong_mask",
    "race_of_blocks",
    "glued_name",
    "forged_counts",
    "forged_grader",
    "idle_when_counted",
    "static_box",
    "symbol_box",
    "blinds_watch",
    "prints_inputs",
    "one_thread",
)
# 5 to 10 s a level, or like others, for make trust alone: test_outcomes.py,
# test_speed.py and test_linking.py hold what mends them
SLOW_KINDS = (
    *("cannot_be_stopped", "foretells", "hands_on", "half_when_timed"),
    *("answers_early", "remembers", "forged_notes", "quotes_another", "trusts_output"),
)


@pytest.fixture
def patience(monkeypatch, kind):
    """A busy machine is slow: only what must time out is given 2 seconds. And faults in
    CUDA are tried without nvcc, which CI does not take.
    """
    monkeypatch.delenv("CI", raising=False)
    if "TIMEOUT" not in str(trust.table()[kind]):
        monkeypatch.setattr(forward, "BASE_LIMIT", 30.0)


def levels_of(number: int) -> list[str]:
    """Where a fault is tried: the strongest level, and for one of three one more."""
    strongest, *weaker = trust.levels()
    return [strongest, *(weaker if WHOLE else weaker[number % 6 : number % 6 + 1])]


IN_C = [k for k in trust.table() if "c" in trust.table()[k] and k not in SLOW_KINDS]


@pytest.mark.parametrize(
    ("kind", "level"),
    [(kind, level) for i, kind in enumerate(IN_C) for level in levels_of(i)],
)
def test_fault_in_c_gets_its_verdict(tools, patience, kind, level):
    fault = Fault(kind, "c", level)
    outcome = trust.run(fault)
    assert trust.wrong(fault, outcome) == [], outcome


@pytest.mark.parametrize(
    ("kind", "language"),
    [
        *((kind, "python") for kind in PYTHON_KINDS),
        *((kind, "cuda") for kind in CUDA_KINDS),
        *((kind, "package") for kind in PACKAGES),
    ],
)
def test_fault_in_another_language_gets_its_verdict(tools, patience, kind, language):
    fault = Fault(kind, language, trust.levels()[0])
    outcome = trust.run(fault)
    assert trust.wrong(fault, outcome) == [], outcome


def test_every_fault_has_its_programs_and_every_program_is_a_fault():
    for language, suffix in trust.LANGUAGES.items():
        programs = {f.stem for f in (trust.REDTEAM / language).glob(f"*{suffix}")}
        programs.discard("frame")
        names = {k for k in trust.table() if language in trust.table()[k]}
        assert programs == names, language


def test_every_fault_says_what_it_does_and_names_verdicts_that_there_are():
    every = {verdict.value for verdict in Verdict}
    for kind, entry in trust.table().items():
        languages = set(entry) - {"does", "covers", "speed"}
        assert entry["does"] and languages in LANGUAGES, kind
        for language in trust.languages(kind):
            for words in trust.expected(Fault(kind, language, "none")).values():
                assert not words or set(words.split("|")) <= every, kind


LUCK, NAN = Fault("undoes_stop", "python", "none"), Fault("nan", "c", "none")


@pytest.mark.parametrize(
    ("fault", "verdicts", "left", "words"),
    [
        pytest.param(LUCK, ("TIMEOUT", "PASS"), (), [], id="where_luck_decides"),
        pytest.param(
            LUCK,
            ("TIMEOUTS", "WRONG_VALUE"),
            (),
            [
                "forward is TIMEOUTS, expected PASS|TIMEOUT",
                "backward is WRONG_VALUE, expected PASS|TIMEOUT",
            ],
            id="and_the_other_verdicts_are_wrong",
        ),
        pytest.param(
            NAN,
            ("PASS", "PASS"),
            (4711,),
            [
                "forward is PASS, expected WRONG_VALUE",
                "left processes [4711]",
                "changed a file",
            ],
            id="what_is_left_behind",
        ),
    ],
)
def test_the_table_says_what_is_wrong(fault, verdicts, left, words):
    forward, backward = verdicts
    outcome = trust.Outcome(forward, backward, "", 0.1, list(left), touched=bool(left))
    assert trust.wrong(fault, outcome) == words
