# SPDX-License-Identifier: MIT
"""Lab 05 as `make grade` sees it: conv2d broken on purpose, one thing at a time.

One library is built, of the plainest kernel there is. What is broken in Python needs no
other: each test has a copy of the package with one edit, and asks the checks that have
to notice.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.gates import contract, matrix
from grader.checks.gates.contract import GATES, ON_CARD, Contract
from grader.checks.gates.jobs import Jobs
from grader.checks.subject import Subject
from grader.checks.values import audit, forward, gradient
from grader.course.rungs import ROOT, Rung
from grader.course.tasks import select
from grader.diagnosis import extension_line
from grader.engine.answers import earlier_links
from grader.engine.checking.grade_extension import Packages
from grader.runner.supervisor.gate_events import Told
from grader.runner.supervisor.tools_session import Answer, Tools
from grader.toolchain import gpu_probe
from grader.toolchain.extension import kernels, package
from grader.verdicts import Verdict
from tests.grader.checks.gates.test_sentences import SHOWN, TOLD_BY_C, line_at
from tests.labs.extension_breaks import BROKEN, CRASH, FAKE, GRADIENTS, NAMED, Edit

SEED = 7
NAME = "05_torch_extension/conv2d/stable"
PLAINEST = "02_naive_c/conv2d/00_definition"
LAB = ROOT / "labs" / "05_torch_extension"
pytestmark = pytest.mark.xdist_group("extension_graded")


def rung() -> Rung:
    return select(NAME).tasks[0].rungs[0]


@pytest.fixture(scope="module")
def plain(tools) -> Iterator[None]:
    """The kernel behind conv2d is one that compiles in a second."""
    entry = {"conv2d": {"cpu": PLAINEST}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "targets", lambda _: entry)
        yield


@pytest.fixture(scope="module")
def good(plain) -> Path:
    """The package as it is."""
    built = package.build(rung(), earlier_links.kernel_links())
    assert built.folder, built
    return built.folder


@pytest.fixture
def broken(good, tmp_path) -> Callable[..., Path]:
    """A copy of the package with edits."""

    def make(*edits: Edit) -> Path:
        folder = tmp_path / "package"
        shutil.copytree(good, folder)
        for file, before, after in edits:
            path = folder / "convlab_ext" / file
            text = path.read_text()
            assert before in text, f"{file} has no {before!r}"
            path.write_text(text.replace(before, after))
        return folder

    return make


def gates(folder: Path, *names: str, limit: float = 90) -> dict[str, CheckResult]:
    """Some gates of a package, by name; what failed where a name is of both halves."""
    chosen = [gate for gate in (*GATES, *ON_CARD) if gate.name in names]
    where = folder.parent / "tools"
    operator = operators.get("conv2d")
    contract = Contract(operator, folder, where, SEED, gates=chosen, limit=limit)
    contract.start()
    try:
        found = [*contract.results("backward"), *contract.results("forward")]
    finally:
        contract.stop()
    return {c.name: c for c in sorted(found, key=lambda c: c.verdict != Verdict.PASS)}


def numbers(folder: Path, check: Callable[[Subject], CheckResult]) -> CheckResult:
    """One check of values, in the Python worker."""
    subject = Subject(operators.get("conv2d"), package=folder, shown=SHOWN)
    try:
        return check(subject)
    finally:
        subject.close()


def values(subject: Subject) -> CheckResult:
    return forward.check(subject, subject.operator.cases(SEED)[:6], "f64", SEED)


def gradients(subject: Subject) -> CheckResult:
    return gradient.check(subject, subject.operator.cases(SEED)[:6], "f64", SEED)


def audited(subject: Subject) -> CheckResult:
    return audit.check(subject, subject.operator.cases(SEED), "backward", SEED)


# ---- the right one -------------------------------------------------------------------


def test_the_right_one_passes_every_gate(good, own_place):
    names = {gate.name for gate in GATES}
    found = gates(good, *names)
    wrong = {n: c.message for n, c in found.items() if c.verdict is not Verdict.PASS}
    assert (wrong, set(found)) == ({}, names)
    assert list(own_place.glob("extension/inductor/*/prefix.h.?ch"))  # g++ or clang++


def test_the_right_one_passes_values_and_gradients(good):
    for check in (values, gradients, audited):
        found = numbers(good, check)
        assert found.verdict is Verdict.PASS, found.message


# ---- numbers -------------------------------------------------------------------------

RETURN = "        found = self.gradients(factors, ctx.options, mask)"
AUTOGRAD = "    kernel = completed(rules.operator, kernel_of(rules))"
VALUES: dict[str, tuple[Edit, Callable[[Subject], CheckResult], str, str]] = {
    "the library's convolution inside": (
        (
            "conv2d.py",
            "def conv2d(",
            "def conv2d(*a, **k):\n    return torch.conv2d(*a, **k)\n\n\ndef former(",
        ),
        values,
        "FORBIDDEN",
        "calls aten::conv",
    ),
    "an argument that is returned": (
        (
            "conv2d.py",
            "def conv2d(",
            "def conv2d(*a, **k):\n    return a[0][:]\n\n\ndef former(",
        ),
        values,
        "WRONG_CONTRACT",
        "the result shares memory with 'input'",
    ),
    "an exception in a rule": (
        ("_bilinear.py", RETURN, "        raise ValueError('no idea')\n" + RETURN),
        gradients,
        "CRASH",
        "ValueError: no idea (labs/05_torch_extension/convlab_ext/_bilinear.py:",
    ),
    "a wrong gradient": (
        ("_bilinear.py", "return (*(g if", "return (*(1.001 * g if"),
        gradients,
        "WRONG_GRADIENT",
        "'grad_input'[0, 0, 0, 0] is",
    ),
    "gradients that nobody wants": (
        (
            "_bilinear.py",
            "mask = ctx.needs_input_grad[: ctx.tensors]",
            "mask = [1] * 3",
        ),
        audited,
        "WRONG_CONTRACT",
        "although ctx.needs_input_grad says it is not wanted",
    ),
    "a call of an operator with the wrong tensors": (
        ("_bilinear.py", GRADIENTS, GRADIENTS.replace("*factors", "*factors[::-1]")),
        gradients,
        "CRASH",
        "(labs/05_torch_extension/convlab_ext/_bilinear.py:",
    ),
    "a rule that is not written": (
        ("_bilinear.py", RETURN, "        raise NotImplementedError\n" + RETURN),
        gradients,
        "NOT_IMPLEMENTED",
        "not written yet",
    ),
    "no autograd rule": (
        ("_rules.py", AUTOGRAD, "    return"),
        gradients,
        "WRONG_CONTRACT",
        "autograd has no rule for this operator",
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_numbers_notice(broken, name):
    edit, check, verdict, words = VALUES[name]
    found = numbers(broken(edit), check)
    assert (found.verdict, words in found.message) == (verdict, True), found.message


# ---- gates ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", BROKEN)
def test_a_gate_notices(broken, name):
    edit, gate, verdict, words = BROKEN[name]
    found = gates(broken(edit), gate)[gate]
    assert (found.verdict, words in found.message) == (verdict, True), found.message
    assert found.mistake == NAMED.get(name), found.diagnosis


WRONG_ON_CARD = {
    "a wrong output": (
        "conv2d.py",
        "output = convlab.conv2d(",
        "output = 2 * convlab.conv2d(",
    ),
    "a wrong gradient": ("_bilinear.py", "return (*(g if", "return (*(1.001 * g if"),
}


def test_the_gate_cuda_compares_as_on_a_card(broken, monkeypatch):
    """With the processor in its place: numbers are drawn, carried and compared."""
    monkeypatch.setattr(Jobs, "device", "cpu")
    found = gates(broken(), "cuda")["cuda"]
    assert found.verdict is Verdict.PASS, found.message
    assert (found.cases > 40, found.failed) == (True, 0)


@pytest.mark.parametrize("name", WRONG_ON_CARD)
def test_the_gate_cuda_sees(name, broken, monkeypatch):
    monkeypatch.setattr(Jobs, "device", "cpu")
    found = gates(broken(WRONG_ON_CARD[name]), "cuda")["cuda"]
    assert found.verdict is Verdict.WRONG_CONTRACT, found.message
    assert "'output'" in found.message or "'grad_input'" in found.message


def test_where_a_gpu_is_the_gate_cuda_is_not_pending(monkeypatch):
    checks = [("forward", "PASS"), ("cuda", "WRONG_CONTRACT")]
    assert matrix.of(checks)["cuda"] == "PENDING_GPU"
    monkeypatch.setattr(gpu_probe, "absent", lambda: "")
    assert matrix.of(checks)["cuda"] == "WRONG_CONTRACT"
    assert "cuda" not in matrix.of(checks[:1])  # no kernel for a card
    assert matrix.note() == ""


def test_a_slip_in_a_rule_is_told_without_words_about_the_gate(broken):
    """What it says is where it is: what a gate is about would lead away from there."""
    slip = "    if torch.is_autocast_enabled('cpu'):\n        outptu\n"
    former = f"def conv2d(*a, **k):\n{slip}    return former(*a, **k)\n\n\ndef former("
    edit = ("conv2d.py", "def conv2d(", former)
    found = gates(broken(edit), "autocast")["autocast"]
    assert found.message.endswith(": NameError: name 'outptu' is not defined")
    assert found.location.startswith(f"{SHOWN}/convlab_ext/conv2d.py:")


def test_a_second_derivative_is_told_by_its_furthest_element(broken):
    found = gates(broken(BROKEN["a wrong double backward"][0]), "gradgradcheck")
    message = found["gradgradcheck"].message
    numbers = re.search(
        r"'input'\[[\d, ]+\] is (\S+), but finite differences give (\S+)\)", message
    )
    assert float(numbers[1]) == pytest.approx(3 * float(numbers[2]), rel=1e-5), message


def test_a_crash_costs_one_gate_and_the_others_go_on(broken):
    found = gates(broken(("conv2d.py", FAKE, CRASH)), "opcheck", "vmap", "forward_ad")
    assert found["opcheck"].verdict is Verdict.CRASH
    assert "SIGABRT" in found["opcheck"].message
    assert found["opcheck"].location.startswith(f"{SHOWN}/convlab_ext/conv2d.py:")
    assert found["vmap"].verdict is found["forward_ad"].verdict is Verdict.PASS


def test_an_endless_loop_costs_one_gate_and_the_others_go_on(broken):
    folder = broken(("conv2d.py", FAKE, "        while True:\n            pass"))
    found = gates(folder, "opcheck", "vmap", limit=8)
    assert found["opcheck"].verdict is Verdict.TIMEOUT
    assert "did not return within 8 s" in found["opcheck"].message
    assert found["vmap"].verdict is Verdict.PASS


def test_a_missing_package_skips_a_gate(good, monkeypatch):
    absent = Answer("skipped", "the package onnx is not installed: pip install onnx")
    monkeypatch.setattr(Tools, "run", lambda self, names, _: {n: absent for n in names})
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(contract, "NEEDS", {"onnx": ("no_such_package",)})
    assert gates(good, "onnx")["onnx"].verdict is Verdict.SKIPPED


def test_tensors_that_lie_about_their_sizes_are_not_believed(good, monkeypatch):
    answer = Answer("returned", results=[[(Told("x", "float64", (1,)), bytes(8))]] * 99)
    monkeypatch.setattr(Tools, "run", lambda self, names, _: {n: answer for n in names})
    found = gates(good, "vmap")["vmap"]
    assert found.verdict is Verdict.WRONG_CONTRACT
    assert "has sizes [1]" in found.message


# ---- C++ -----------------------------------------------------------------------------


def built(tmp_path: Path, file: str, before: str, after: str) -> package.Package:
    """The lab with one edit of its C++, built."""
    lab = tmp_path / "labs" / "05_torch_extension"
    shutil.copytree(LAB, lab, ignore=shutil.ignore_patterns("*.so", "build", "*.ipynb"))
    for name in ("grader", "common"):
        (tmp_path / name).symlink_to(ROOT / name)
    path = lab / "csrc" / file
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    own = lab / "csrc" / "stable" / "conv2d.cpp"
    rules = lab / "convlab_ext" / "conv2d.py"
    edited = Rung("05_torch_extension/conv2d", own, step="stable", also=(rules,))
    return package.build(edited, earlier_links.kernel_links())


@pytest.fixture
def own_build(monkeypatch, tmp_path):
    """What is built of broken files stays out of the way of the right ones."""
    place = lambda rung, name="": tmp_path / "built" / (name or "conv2d")  # noqa: E731
    monkeypatch.setattr(package, "folder_of", place)
    (tmp_path / "built").mkdir()


def test_a_compile_error_is_explained_with_its_line(plain, own_build, tmp_path):
    found = built(tmp_path, "stable/conv2d.cpp", "return output;", "return outputs;")
    assert found.folder is None
    assert "'outputs' was not declared" in found.error
    assert "a typing mistake" in found.error
    assert "csrc/stable/conv2d.cpp:" in found.location


def test_strides_that_are_ignored_are_wrong_values(plain, own_build, tmp_path):
    rows = "int64_t s = 1; for (int64_t e = d + 1; e < ndim; e++) s *= sizes[e];"
    after = "{ " + rows + " view.stride[d] = s; }"
    found = built(tmp_path, "calls.h", "view.stride[d] = strides[d];", after)
    assert found.folder, found

    def views(subject: Subject) -> CheckResult:
        cases = subject.operator.cases(SEED)
        chosen = [c for c in cases if c.name in ("plain", "channels_last")]
        return forward.check(subject, chosen, "f64", SEED)

    wrong = numbers(found.folder, views)
    assert wrong.verdict is Verdict.WRONG_VALUE
    assert wrong.message.startswith("channels_last: 'output'")


def test_a_result_of_wrong_sizes_is_told_at_the_line_of_c_that_makes_it(
    plain, own_build, tmp_path
):
    """It is caught in Python, where nothing has to be mended."""
    right = "size(weight, 0), OH, OW}"
    wrong = right.replace("OW", "OH")
    found = built(tmp_path, "stable/conv2d.cpp", right, wrong)
    seen = extension_line.placed(numbers(found.folder, values), rung())
    assert re.search(r"'output' must be \([\d, ]+\) .*, got \([\d, ]+\)$", seen.message)
    assert "Tensor output = empty_like(" in line_at(seen)


def test_a_grading_tells_the_line_of_c(good, monkeypatch):
    failed = CheckResult("x", "backward", Verdict.CRASH, message=next(iter(TOLD_BY_C)))
    monkeypatch.setattr(package, "build", lambda *_: package.Package(good))
    monkeypatch.setattr(Packages, "values", lambda *_: [failed])
    found = Packages(SEED, None, print, earlier_links.kernel_links()).checked(rung())
    assert line_at(found.checks[0])


def test_a_function_of_aten_is_forbidden(plain, own_build, tmp_path):
    probe = "namespace at { void probe(); }\n"
    start = "static Tensor forward("
    call = "const conv2d_params_t p ="
    text = (LAB / "csrc" / "stable" / "conv2d.cpp").read_text()
    assert text.count(start) == 1
    found = built(
        tmp_path,
        "stable/conv2d.cpp",
        text[text.index(start) : text.index(call) + len(call)],
        probe
        + text[text.index(start) : text.index(call)]
        + "at::probe();\n    "
        + call,
    )
    assert "needs 'at::probe()', which is not in the stable ABI" in found.forbidden


@pytest.mark.parametrize("line", ['dlsym(0, "f");', 'asm("nop");', "dl\\\nopen(0);"])
def test_words_that_reach_elsewhere_are_forbidden(plain, own_build, tmp_path, line):
    start = "/* Returns gradients of input"
    found = built(tmp_path, "stable/conv2d.cpp", start, f"{line}\n{start}")
    assert "an operator may call only its kernels" in found.forbidden
