# SPDX-License-Identifier: MIT
"""`make bench NET=`: same networks, whole tables, every layer seen; no time.

With images of 64 x 64: smaller ones leave batch norm a single number of each channel.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from grader.bench import layer_times, network_table, networks, request
from grader.bench.request import Wanted
from grader.checks.speed import timing
from grader.commands import bench, cli
from grader.errors import GraderError
from grader.toolchain import isa
from tests.labs import extension

NETS = ("resnet18", "mobilenet", "unet")
each_net = pytest.mark.parametrize("net", NETS)
FEW = Wanted("resnet18", "NET=resnet18", 1, cases=("1",), parts=("forward",))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """convlab_ext as the tests build it, and small images."""
    extension.package()
    monkeypatch.setattr(networks, "SIZE", 64)


@pytest.fixture
def short(tools, monkeypatch, tmp_path):
    """Few rounds, and tables elsewhere."""
    monkeypatch.setattr(networks.package, "in_place", lambda *_: [])
    monkeypatch.setattr(networks, "BUDGET", 0.01)
    monkeypatch.setattr(networks, "WATCHED", 0.0)
    monkeypatch.setattr(timing, "ROUNDS", 2)
    monkeypatch.setattr(timing, "ROUNDS_SLOW", 2)
    for module in (request, networks):
        monkeypatch.setattr(module, "folder", lambda: tmp_path)


def sides(net: str, part: str) -> dict[str, networks.Network]:
    data = networks.Data(1, 1)
    makes = network_table.MAKES
    return {m: networks.Network(net, m, part, data, 1) for m in makes}


# ---- the networks --------------------------------------------------------------------


def test_the_command_offers_every_network():
    assert networks.names() == NETS
    assert all(net in bench.NET.meaning for net in NETS)


@each_net
@pytest.mark.parametrize("part", network_table.PARTS)
def test_our_layers_give_pytorchs_outputs_and_gradients(net, part):
    error, gradients = networks._errors(sides(net, part))
    assert 0 < error < network_table.WRONG
    if part == "step":
        assert 0 < gradients < network_table.WRONG_GRADIENT


@each_net
def test_every_convolution_and_product_is_ours_on_our_side(net):
    theirs, ours = sides(net, "forward").values()
    kinds = [
        {type(m).__module__ for m in side.network.modules() if hasattr(m, "weight")}
        for side in (theirs, ours)
    ]
    assert not any(kind.startswith("convlab_ext") for kind in kinds[0])
    assert kinds[1] <= {"convlab_ext.modules", "torch.nn.modules.batchnorm"}
    assert ours.network.state_dict().keys() == theirs.network.state_dict().keys()


@pytest.mark.parametrize("part", network_table.PARTS)
def test_a_wrong_layer_has_no_time(short, part, monkeypatch, capsys):
    class Skewed(networks.Network):
        def __init__(self, net, make, *more):
            super().__init__(net, make, *more)
            if make == "lab05":
                with torch.no_grad():
                    self.network.linear.weight.mul_(1.01)

    monkeypatch.setattr(networks, "Network", Skewed)
    assert networks.bench("resnet18", replace(FEW, parts=(part,))) == 1
    (row,) = table(capsys.readouterr().out)
    assert "WRONG_VALUE" in row


# ---- where the time goes -------------------------------------------------------------


@each_net
def test_every_layer_is_seen_in_both_directions(net):
    side = sides(net, "step")["lab05"]
    watch = layer_times.Watch()
    with watch.around(side.network):
        scores = side.network(side.images)
        forward = watch.take()
        scores.sum().backward()
    backward = watch.take()
    leaves = [m for m in side.network.modules() if not any(m.children())]
    convolutions = [m for m in leaves if isinstance(m, torch.nn.Conv2d)]
    assert forward.keys() == backward.keys()
    assert all(seconds > 0 for seconds in (*forward.values(), *backward.values()))
    strange = {layer.kind for layer in forward} - {*layer_times.KINDS.values()}
    assert all(kind.startswith(("conv ", "depthwise ")) for kind in strange)
    first = convolutions[0]
    words = f"{first.in_channels} -> {first.out_channels} at 64x64"
    assert words in {layer.sizes for layer in forward}
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in leaves)


def test_layers_are_named_by_what_they_are():
    images = torch.zeros(1, 8, 6, 5)
    conv = torch.nn.Conv2d(8, 8, (3, 1), stride=2)
    depthwise = torch.nn.Conv2d(8, 8, 3, groups=8)
    layers = [layer_times.layer_of(m, images) for m in (conv, depthwise)]
    assert layers[0] == layer_times.Layer("conv 3x1, stride 2", "8 -> 8 at 6x5")
    assert layers[1] == layer_times.Layer("depthwise 3x3", "8 -> 8 at 6x5")
    ours = networks.loaded("linear").Linear(8, 2)
    assert layer_times.layer_of(ours, images[..., 0, 0]).kind == "linear"


# ---- the command ---------------------------------------------------------------------


def table(said: str) -> list[str]:
    """The rows of the first table."""
    lines = said.partition("## Where the time goes")[0].splitlines()
    return [line for line in lines if line.startswith("| ")][2:]


def test_a_run_tells_how_far_it_is_and_writes_its_table(short, tmp_path, capsys):
    assert networks.bench("resnet18", replace(FEW, parts=())) == 0
    said = capsys.readouterr().out
    begun = [
        said.index(f"resnet18, 1 image, {part}: P") for part in ("forward", "step")
    ]
    assert begun == sorted(begun) and begun[1] < said.index("# resnet18")
    rows = table(said)
    start = [f"| 1 | {part} | 1 | {isa.name()} |" for part in ("forward", "step")]
    assert [row[: len(s)] for row, s in zip(rows, start)] == start and len(rows) == 2
    assert "Made by `make bench NET=resnet18 SEED=1`" in said
    file = tmp_path / f"networks_resnet18{isa.suffix()}.json"
    (first, second) = json.loads(file.read_text())["rows"]
    assert first["gradient_error"] is None and second["gradient_error"] > 0
    assert file.with_suffix(".md").read_text().splitlines() == said.splitlines()[
        -1:
    ] or (file.with_suffix(".md").read_text() in said)
    spent = network_table.by_kind(network_table.Row(**second))
    for make in network_table.MAKES:
        whole = sum(times[make] for times in spent.values())
        assert whole == pytest.approx(second["watched"][make])


def test_rows_that_were_not_asked_for_are_kept_if_the_machine_is_the_same(
    short, capsys, tmp_path
):
    networks.bench("resnet18", FEW)
    capsys.readouterr()
    networks.bench("resnet18", replace(FEW, cases=("2",)))
    rows = table(capsys.readouterr().out)[-2:]
    assert [row.split("|")[1].strip() for row in rows] == ["1", "2"]
    file = tmp_path / f"networks_resnet18{isa.suffix()}.json"
    other = json.loads(file.read_text())
    other["environment"]["cpu"] = "another one"
    file.write_text(json.dumps(other))
    networks.bench("resnet18", FEW)
    assert len(json.loads(file.read_text())["rows"]) == 1


@pytest.mark.parametrize(
    ("net", "words", "sentence"),
    [
        ("vgg", {}, "NET=vgg: expected one of resnet18, mobilenet, unet"),
        (
            "unet",
            {"parts": ("backward",)},
            "PARTS=backward: for a network, expected forward",
        ),
        (
            "unet",
            {"cases": ("0",)},
            "CASES=0: for a network, expected numbers of images",
        ),
        (
            "unet",
            {"cases": ("r28",)},
            "CASES=r28: for a network, expected numbers of images",
        ),
    ],
)
def test_a_word_that_no_network_knows_is_told(net, words, sentence):
    with pytest.raises(GraderError, match=sentence):
        networks.bench(net, replace(FEW, **{"cases": (), "parts": (), **words}))


def test_an_operator_that_is_not_written_yet_is_told(short, monkeypatch):
    def unwritten(*_):
        raise NotImplementedError

    monkeypatch.setattr(networks.loaded(), "conv2d", unwritten)
    with pytest.raises(GraderError, match=r"resnet18 cannot run .* make grade LAB=05"):
        networks.bench("resnet18", FEW)


def test_what_is_built_is_not_loaded_before(short, monkeypatch):
    """Else a run would time the library of the run before."""
    order = []
    monkeypatch.setattr(
        networks.package, "in_place", lambda *_: order.append("b") or []
    )
    monkeypatch.setattr(networks, "loaded", lambda *_: order.append("loaded"))
    monkeypatch.setattr(networks, "_rows", lambda *_: [])
    networks.bench("resnet18", FEW)
    assert order == ["b", "loaded"]


def test_a_network_and_a_task_are_not_asked_for_together(capsys):
    assert cli.main(["bench", "NET=unet", "02_naive_c"]) == cli.USAGE_ERROR
    assert "leave out T= and LAB=" in capsys.readouterr().err
