# SPDX-License-Identifier: MIT
"""make train: all makes of layers train alike, a wrong gradient is seen, and the
profile counts what is really called. Values only, never times.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader.course.rungs import ROOT

LAB = ROOT / "labs/05_torch_extension"
sys.path.append(str(LAB))
os.environ.setdefault("KINETO_LOG_LEVEL", "6")

from train import data, layers, loop, page, profiler, roles  # noqa: E402
from train.data import Absent  # noqa: E402
from train.layers import Layers, pytorch  # noqa: E402
from train.network import NETS, LeNet  # noqa: E402

OTHERS = ("function", "lab01", "lab05")
DTYPES = {"f32": torch.float32, "f64": torch.float64}


@pytest.fixture(scope="module", autouse=True)
def built(extension: ModuleType) -> None:
    """Lab 05's package is there, for the make lab05."""


@pytest.fixture(scope="module")
def digits() -> dict[str, data.Data]:
    found = data.digits()
    return {name: found.to("cpu", dtype) for name, dtype in DTYPES.items()}


@pytest.fixture(scope="module")
def references(digits) -> dict[tuple[str, str], loop.Run]:
    return {
        (net, name): loop.few_steps(pytorch(), digits[name], 3, kind=NETS[net])
        for net in NETS
        for name in DTYPES
    }


@pytest.fixture(scope="module")
def reference(references) -> dict[str, loop.Run]:
    return {name: references["lenet", name] for name in DTYPES}


# ---- all makes train alike -----------------------------------------------------------


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("net", NETS)
def test_the_losses_of_50_steps_are_pytorchs(net, name, dtype, digits, references):
    kind, reference = NETS[net], references[net, dtype]
    made = layers.make(name, kind)
    run = loop.few_steps(made, digits[dtype], 3, kind=kind)
    assert len(run.losses) == 50
    assert run.losses[-1] < 0.8 * run.losses[0]  # it learns
    allowed = loop.allowed(digits[dtype], reference)
    assert loop.apart(run, reference) <= allowed <= 1e-4


class Skewed(torch.autograd.Function):
    """What it is given, with a gradient that is a little too large."""

    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * 1.001


def skewed(part: str) -> Layers:
    """PyTorch's layers, but one gradient of a convolution is 1.001 times too large."""

    class Conv2d(torch.nn.Conv2d):
        def _conv_forward(self, input, weight, bias):
            tensors = {"input": input, "weight": weight, "bias": bias}
            tensors[part] = Skewed.apply(tensors[part])
            return super()._conv_forward(*tensors.values())

    return Layers("skewed", "", Conv2d)


@pytest.mark.parametrize("part", ["input", "weight", "bias"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_layer_with_a_wrong_gradient_is_seen(part, dtype, digits, reference):
    run = loop.few_steps(skewed(part), digits[dtype], 3)
    allowed = loop.allowed(digits[dtype], reference[dtype])
    assert loop.apart(run, reference[dtype]) > allowed
    said = page.verdict([reference[dtype], run], allowed)
    assert "skewed is further apart; look at its gradients" in said


def test_a_loss_that_is_no_number_is_infinitely_far_apart(digits, reference):
    run = loop.few_steps(pytorch(), digits["f32"], 3)
    assert loop.apart(run, reference["f32"]) == 0
    run.losses[7] = float("nan")
    assert loop.apart(run, reference["f32"]) == float("inf")


def test_the_accuracies_at_the_end_are_within_half_a_per_cent(digits):
    makes = [layers.make(name, LeNet) for name in ("pytorch", *OTHERS)]
    runs = [loop.start(make, digits["f32"], 0, epochs=8) for make in makes]
    order = [run.layers.name for run in loop.train(runs, digits["f32"])]
    assert order[:4] == ["pytorch", *OTHERS] and order[4:8] == [*OTHERS, "pytorch"]
    reached = [run.accuracies[-1] for run in runs]
    assert min(reached) > 0.9
    assert max(reached) - min(reached) <= 0.005


def test_every_make_starts_with_the_weights_of_the_seed(digits):
    runs = [
        loop.start(layers.make(name, LeNet), digits["f64"], seed, 1)
        for seed in (0, 1)
        for name in ("pytorch", *OTHERS)
    ]
    first = [dict(run.network.state_dict()) for run in runs]
    for weights in first[1:4]:
        torch.testing.assert_close(weights, first[0], rtol=0, atol=0)
    assert not torch.equal(first[4]["conv1.weight"], first[0]["conv1.weight"])


def test_an_epoch_shows_every_image_once_in_an_order_of_its_own():
    def order(seed, epoch):
        return torch.cat(loop.batches(300, seed, epoch)).tolist()

    assert sorted(order(0, 0)) == list(range(300))
    assert order(0, 0) == order(0, 0)
    assert len({tuple(order(s, e)) for s in range(3) for e in range(3)}) == 9


# ---- a make that is not there --------------------------------------------------------


def test_a_make_that_is_not_written_yet_is_left_out_with_a_sentence(monkeypatch):
    def unwritten(*_, **__):
        raise NotImplementedError

    empty = Layers("lab01", "", unwritten)
    monkeypatch.setitem(layers.MAKES, "lab01", lambda: empty)
    with pytest.raises(Absent, match=r"lab01 is left out: .* not written yet"):
        layers.make("lab01", LeNet)


def test_an_operator_that_is_not_built_is_a_sentence(monkeypatch):
    import convlab_ext

    monkeypatch.delitem(vars(convlab_ext), "linear")
    monkeypatch.setitem(
        convlab_ext._absent, "linear", "convlab_ext.linear is not built"
    )
    with pytest.raises(Absent, match=r"lab05 is left out.*linear is not built"):
        layers.make("lab05", LeNet)


# ---- data ----------------------------------------------------------------------------


def test_digits_are_split_the_same_way_for_every_seed(digits):
    one, other = data.digits(), data.digits()
    assert torch.equal(one.test.labels, other.test.labels)
    assert len(one.train) == 1437 and len(one.test) == 360
    assert one.train.images.shape[1:] == (1, 8, 8)
    assert one.train.images.min() == -1 and one.train.images.max() == 1
    assert (torch.bincount(one.test.labels) > 20).all()


def write_idx(file: Path, values: np.ndarray) -> None:
    sizes = np.array(values.shape, ">i4").tobytes()
    head = bytes([0, 0, 8, values.ndim])
    file.write_bytes(gzip.compress(head + sizes + values.astype(np.uint8).tobytes()))


def test_fashion_reads_the_files_of_mnist(tmp_path):
    for part, count in (("train", 6), ("t10k", 2)):
        images = np.arange(count * 12).reshape(count, 3, 4)
        write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", images)
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", np.arange(count))
    found = data.fashion(tmp_path)
    assert found.train.images.shape == (6, 1, 3, 4)
    assert found.test.labels.tolist() == [0, 1]
    whole = torch.arange(72.0, dtype=torch.float64) / 71 * 2 - 1
    torch.testing.assert_close(found.train.images.flatten(), whole)


def test_data_that_is_not_there_is_a_sentence_with_the_remedy(tmp_path, monkeypatch):
    with pytest.raises(Absent, match="apt-get install dataset-fashion-mnist"):
        data.fashion(tmp_path / "nowhere")
    monkeypatch.setitem(sys.modules, "torchvision.datasets", None)
    with pytest.raises(Absent, match="pip install torchvision"):
        data.load("mnist", tmp_path)


def test_a_failed_download_is_a_sentence(tmp_path, monkeypatch):
    def fetch(*_, **__):
        raise OSError("no route to host\nand more")

    module = type(sys)("torchvision.datasets")
    monkeypatch.setattr(module, "MNIST", fetch, raising=False)
    monkeypatch.setitem(sys.modules, "torchvision.datasets", module)
    with pytest.raises(Absent, match=r"could not be downloaded \(no route to host\)"):
        data.load("mnist", tmp_path)


# ---- the profile ---------------------------------------------------------------------


class Counting(TorchDispatchMode):
    """Counts operators where they reach a kernel: another witness than the profiler."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.calls[function._schema.name] += 1
        return function(*arguments, **(named or {}))


@pytest.fixture(scope="module")
def profiles(digits, tmp_path_factory) -> dict[str, roles.Profile]:
    folder = tmp_path_factory.mktemp("traces")
    runs = [
        loop.start(layers.make(name, LeNet), digits["f32"], 0, 1)
        for name in ("pytorch", *OTHERS)
    ]
    found = profiler.profiles(runs, digits["f32"].train, folder, 2)
    assert all("forward" not in vars(run.network.conv1) for run in runs)  # as before
    return {profile.name: profile for profile in found}


def called(profile: roles.Profile, role: str, operator: str) -> int:
    """How often a step calls an operator for this."""
    row = profile.operators[role].get(operator)
    return round(row.calls) if row else 0


@pytest.mark.parametrize("name", ["pytorch", *OTHERS])
def test_the_profile_counts_what_reaches_the_kernels(name, digits, profiles):
    run = loop.start(layers.make(name, LeNet), digits["f32"], 0, 1)
    split = digits["f32"].train
    counting = Counting()
    with counting:
        loop.step(run, split.images[:64], split.labels[:64])
    found = Counter()
    for role in roles.ROLES:
        for operator in profiles[name].operators[role]:
            found[operator] += called(profiles[name], role, operator)
    checked = [
        operator
        for operator in found
        if re.search(r"convolution_backward|convlab|addmm|im2col|col2im|bmm", operator)
    ]
    assert checked
    for operator in checked:
        assert found[operator] == counting.calls[operator], operator


def test_the_classic_version_goes_through_a_layer_twice(profiles):
    calls = {
        name: called(
            profiles[name], "convolution backward", "aten::convolution_backward"
        )
        for name in profiles
    }
    # two layers; the first needs no gradient of its input, which are the images
    assert calls == {"pytorch": 2, "function": 3, "lab01": 0, "lab05": 0}
    ours = profiles["lab05"].operators
    for way, operator in (("forward", "conv2d"), ("backward", "conv2d_backward")):
        rows = ours[f"convolution {way}"]
        found = {name: row.calls for name, row in rows.items() if "conv" in name}
        assert found == {f"convlab::{operator}": 2}
    for profile in profiles.values():
        assert sum(row.total for row in profile.roles.values()) < profile.step


def test_every_make_leaves_a_trace_for_chrome(profiles):
    for name, profile in profiles.items():
        events = json.loads(profile.trace.read_text())["traceEvents"]
        found = Counter(event.get("name") for event in events)
        assert found["convolution forward"] == 2 * roles.PROFILED, name


def test_an_operator_that_is_passed_on_by_itself_is_one_call(digits, tmp_path):
    run = loop.start(pytorch(), digits["f32"], 0, 1)
    trace = tmp_path / "trace.json"
    with torch.autocast("cpu", dtype=torch.bfloat16):  # calls aten::conv2d again
        found = profiler.profile(run, digits["f32"].train, trace)
    rows = found.operators["convolution forward"]
    assert rows["aten::conv2d"].calls == 2
    assert rows["aten::conv2d"].total < found.roles["convolution forward"].total
    assert "aten::to" in rows


# ---- the command ---------------------------------------------------------------------


def command(folder: Path, **words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, LAB / "train"],
        cwd=ROOT,
        env=dict(os.environ, CONVLAB_BUILD=str(folder), OMP_NUM_THREADS="1", **words),
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_make_train_writes_its_page_and_picture(tmp_path):
    done = command(tmp_path, EPOCHS="3", VARIANTS="function,pytorch")
    assert done.returncode == 0, done.stderr
    assert "all are within" in done.stdout
    written = (tmp_path / "train/train.md").read_text()
    assert "Made by `make train EPOCHS=3 VARIANTS=function,pytorch` on" in written
    rows = re.findall(r"^\| (pytorch|function) \|.* (\d+\.\d+) % \|", written, re.M)
    assert [row[0] for row in rows] == ["pytorch", "function"]
    assert (tmp_path / "train/train.png").read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"VARIANTS": "lab02"}, "there are pytorch, function, lab01, lab05"),
        ({"TO": "/proc/none"}, "/proc/none"),
        ({"DEVICE": "tpu"}, "DEVICE= is 'tpu', expected cpu or cuda")
        if data.FASHION.exists()
        else ({"DATA": "fashion"}, "apt-get install dataset-fashion-mnist"),
    ],
)
def test_an_option_that_cannot_be_met_is_one_sentence(option, words, tmp_path):
    done = command(tmp_path, **option)
    assert done.returncode != 0
    assert words in done.stderr and "Traceback" not in done.stderr
