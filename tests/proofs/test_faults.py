# SPDX-License-Identifier: MIT
"""A sample of the fault table: in C all at all levels, some in Python and in CUDA.

The programs and the verdicts they must get stand in tests/programs/redteam; `make
trust` runs the whole table, this file what fits into `make test`.
"""

from __future__ import annotations

import pytest

from grader.checks.values import forward
from grader.verdicts import Verdict
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
    "uses_library",
    "uses_library_hidden",
    "compile_error",
)
LANGUAGES = ({"c", "python"}, {"c", "python", "cuda"}, {"cuda"})  # of a fault
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
    "idle_when_counted",
)


@pytest.fixture
def patience(monkeypatch, kind):
    """A busy machine is slow: only what must time out is given 2 seconds."""
    if "TIMEOUT" not in str(trust.table()[kind]):
        monkeypatch.setattr(forward, "BASE_LIMIT", 30.0)


@pytest.mark.parametrize("kind", [k for k in trust.table() if "c" in trust.table()[k]])
def test_fault_in_c_gets_its_verdict_at_every_level(tools, patience, kind):
    for level in trust.levels():
        fault = Fault(kind, "c", level)
        assert trust.wrong(fault, trust.run(fault)) == [], level


@pytest.mark.parametrize("kind", PYTHON_KINDS)
def test_fault_in_python_gets_its_verdict(tools, patience, kind):
    fault = Fault(kind, "python", trust.levels()[0])
    assert trust.wrong(fault, trust.run(fault)) == []


@pytest.mark.parametrize("kind", CUDA_KINDS)
def test_fault_in_cuda_gets_its_verdict(tools, patience, kind):
    fault = Fault(kind, "cuda", trust.levels()[0])
    assert trust.wrong(fault, trust.run(fault)) == []


def test_every_fault_has_its_programs_and_every_program_is_a_fault():
    for language, suffix in trust.LANGUAGES.items():
        programs = {f.stem for f in (trust.REDTEAM / language).glob(f"*{suffix}")}
        programs.discard("frame")
        known = {k for k in trust.table() if language in trust.table()[k]}
        assert programs == known, language


def test_every_fault_says_what_it_does():
    for kind, entry in trust.table().items():
        known = set(entry) - {"does"}
        assert entry["does"] and known in LANGUAGES, kind


def test_every_fault_names_verdicts_that_there_are():
    every = {verdict.value for verdict in Verdict}
    for kind in trust.table():
        for language in trust.languages(kind):
            for words in trust.expected(Fault(kind, language, "none")).values():
                assert not words or set(words.split("|")) <= every, kind


def test_where_luck_decides_the_other_verdicts_are_still_wrong():
    fault = Fault("undoes_stop", "python", "none")
    outcome = trust.Outcome("TIMEOUT", "PASS", "", 0.1, [], touched=False)
    assert trust.wrong(fault, outcome) == []
    outcome = trust.Outcome("TIMEOUTS", "WRONG_VALUE", "", 0.1, [], touched=False)
    assert trust.wrong(fault, outcome) == [
        "forward is TIMEOUTS, expected PASS|TIMEOUT",
        "backward is WRONG_VALUE, expected PASS|TIMEOUT",
    ]


def test_a_wrong_verdict_is_reported_by_the_table_itself():
    fault = Fault("nan", "c", "none")
    outcome = trust.Outcome("PASS", "PASS", "", 0.1, [4711], touched=True)
    assert trust.wrong(fault, outcome) == [
        "forward is PASS, expected WRONG_VALUE",
        "left processes [4711]",
        "changed a file",
    ]
