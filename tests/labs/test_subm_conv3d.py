# SPDX-License-Identifier: MIT
"""subm_conv3d of lab 05 where its points matter: dense values, far points, threads."""

from __future__ import annotations

import statistics
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor

from tests import PROGRAMS, ROOT

LADDER = ROOT / "labs/03_im2col_cpu/subm_conv3d"
FAR = (1 << 31) - 1
BOX = {"plane": (2, 1, 9, 12), "volume": (2, 5, 6, 7)}
KERNEL = {"plane": (1, 3, 5), "volume": (3, 3, 1)}


def points(box: tuple[int, ...], P: int) -> Tensor:
    """(P, 4) places of a box, no two equal."""
    random = torch.Generator().manual_seed(P)
    chosen = torch.randperm(torch.Size(box).numel(), generator=random)[:P]
    return torch.stack(torch.unravel_index(chosen, box), dim=1).int()


def tensors(kind: str, P: int, IC: int = 3, OC: int = 4) -> list[Tensor]:
    """Features, coordinates, weight and bias."""
    random = torch.Generator().manual_seed(5)
    features = torch.randn(P, IC, generator=random, dtype=torch.float64)
    weight = torch.randn(OC, IC, *KERNEL[kind], generator=random, dtype=torch.float64)
    bias = torch.randn(OC, generator=random, dtype=torch.float64)
    return [features, points(BOX[kind], P), weight, bias]


@pytest.mark.parametrize("kind", BOX)
def test_it_is_the_dense_convolution_read_at_the_points(
    extension: ModuleType, kind: str
):
    features, coordinates, weight, bias = tensors(kind, 40)
    n, z, y, x = coordinates.long().unbind(1)
    volume = features.new_zeros(*BOX[kind], features.shape[1])
    volume[n, z, y, x] = features
    padding = [size // 2 for size in KERNEL[kind]]
    dense = torch.nn.functional.conv3d(
        volume.movedim(-1, 1), weight, bias, padding=padding
    )
    ours = extension.subm_conv3d(features, coordinates, weight, bias)
    torch.testing.assert_close(ours, dense[n, :, z, y, x])


def test_the_order_of_the_points_changes_no_bit(extension: ModuleType):
    features, coordinates, weight, bias = tensors("volume", 60)
    order = torch.randperm(60)
    ours = extension.subm_conv3d(features, coordinates, weight, bias)
    other = extension.subm_conv3d(features[order], coordinates[order], weight, bias)
    assert torch.equal(other, ours[order])


def test_no_neighbour_lies_beyond_the_largest_coordinate(extension: ModuleType):
    """In 32 bits the largest number plus one is the smallest."""
    ends = torch.tensor([[0, 0, 0, FAR], [0, 0, 0, -FAR - 1], [0, 0, 0, FAR - 1]])
    ones = torch.ones(3, 1), ends.int(), torch.ones(1, 1, 1, 1, 3)
    assert extension.subm_conv3d(*ones).flatten().tolist() == [2, 1, 2]


def test_an_equal_point_is_refused_with_both_rows(extension: ModuleType):
    features, coordinates, weight, _ = tensors("volume", 5)
    coordinates[4] = coordinates[1]
    with pytest.raises(RuntimeError, match=r"twice, in rows 1 and 4"):
        extension.subm_conv3d(features, coordinates, weight)


def test_without_points_there_are_gradients_of_zeros(extension: ModuleType):
    leaves = [t.requires_grad_(t.is_floating_point()) for t in tensors("volume", 0)]
    output = extension.subm_conv3d(*leaves)
    assert output.shape == (0, 4)
    output.sum().backward()
    assert all(not t.grad.any() for t in leaves if t.grad is not None)
    assert leaves[2].grad is not None


def test_rulebook_and_count_have_room_for_all_and_zeros_behind(extension: ModuleType):
    features, coordinates, weight, _ = tensors("plane", 30)
    found = torch.ops.convlab.subm_conv3d(
        features, coordinates, weight, None, [1, 1, 1]
    )
    _, rulebook, count = found
    assert rulebook.shape == (15, 30, 2)
    assert rulebook.dtype == torch.int32 and count.dtype == torch.int64
    assert count[7] == 30  # at the centre each point reads itself
    assert torch.equal(rulebook[7, :, 0], rulebook[7, :, 1])
    assert torch.equal(count, count.flip(0))  # who is read from one side reads back
    left = torch.arange(30) >= count[:, None]
    assert not rulebook[left].any()


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(extension: ModuleType, threads: int):
    given = [t.float() if t.dtype == torch.float64 else t for t in large()]
    before = torch.get_num_threads()
    found = []
    try:
        for count in (1, threads):
            torch.set_num_threads(count)
            found.append(results(extension, given))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, other) for one, other in zip(*found))


def large() -> list[Tensor]:
    """More channels than a vector has lanes."""
    return tensors("volume", 300, IC=37, OC=45)


def results(extension: ModuleType, given: list[Tensor]) -> list[Tensor]:
    """Output and all gradients."""
    leaves = [t.detach().requires_grad_(t.is_floating_point()) for t in given]
    output = extension.subm_conv3d(*leaves)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    grad = torch.linspace(-1, 1, output.numel()).reshape(output.shape)
    return [output, *torch.autograd.grad(output, wanted, grad)]


def test_the_module_has_the_parameters_of_a_dense_one(extension: ModuleType):
    torch.manual_seed(3)
    dense = torch.nn.Conv3d(3, 4, (3, 1, 5), dilation=2)
    torch.manual_seed(3)
    ours = extension.SubmConv3d(3, 4, (3, 1, 5), dilation=2)
    assert {k: v.shape for k, v in ours.state_dict().items()} == {
        k: v.shape for k, v in dense.state_dict().items()
    }
    assert torch.equal(ours.weight, dense.weight)
    assert extension.SubmConv3d(3, 4, 3, bias=False).bias is None
    features, coordinates, *_ = tensors("volume", 20)
    ours.load_state_dict(dense.state_dict())
    assert ours(features.float(), coordinates).shape == (20, 4)


@pytest.mark.parametrize("rung", ["00_hash_table", "01_half_searches"])
def test_no_set_of_points_fills_neighbouring_slots(rung: str, tmp_path: Path):
    """Points with equal low bits, or one table apart: a search reads about one slot."""
    program, file = tmp_path / "probes", LADDER / f"{rung}.c"
    flags = ["-std=c11", "-O1", "-fopenmp", f"-I{ROOT / 'common'}", f'-DRUNG="{file}"']
    source = PROGRAMS / "subm_conv3d/probes.c"
    subprocess.run(["cc", *flags, source, "-o", program, "-lm"], check=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    found: dict[str, list[float]] = {}
    for name, slots in (line.split() for line in lines.splitlines()):
        found.setdefault(name, []).append(float(slots))
    assert len(found) == 5
    assert {n: s for n, s in found.items() if statistics.median(s) > 2} == {}
