# SPDX-License-Identifier: MIT
"""The networks of make bench NET= do with lab 05's layers what they do with PyTorch's:
forward, training, compilers and exporters (torch.fx: test_extension_tracers.py).

What PyTorch compiles or exports for a long time is a network with few channels.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor
from torch.export import Dim, export
from torch.utils.checkpoint import checkpoint

from grader.course.rungs import ROOT
from tests.labs.extension import FOLDER, LAB
from tests.labs.small_networks import (
    NAMES,
    few,
    gradients,
    images,
    ours,
    score,
    torchs,
)

EXACT = 1e-9  # two right trainings in float64 are nearer than this
CALLS = 2000
GROWTH = 512 << 10  # bytes; 1,600 calls that keep a small tensor each keep more

each_network = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def nets(extension: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package of networks, which lab 05 has in its own folder, can be imported."""
    monkeypatch.syspath_prepend(str(LAB))


@pytest.fixture
def few_channels(nets: None):
    """See `few`."""
    with few():
        yield


# ---- values --------------------------------------------------------------------------


@each_network
@pytest.mark.parametrize(
    ("dtype", "share"), [(torch.float32, 1e-4), (torch.float64, 1e-11)]
)
def test_values_and_gradients_are_pytorchs(name: str, dtype: torch.dtype, share: float):
    """Each as near as this share of its largest element.

    In float32 a ReLU near 0 may let a gradient through or not: only the values.
    """
    results = []
    for make in (ours, torchs):
        network = make(name, dtype).eval()  # a batch norm of few numbers magnifies
        answers = network(images(2, dtype))
        found = gradients(network, score(answers)) if share < 1e-6 else []
        results.append([answers, *found])
    for one, right in zip(*results):
        near = share * right.abs().max().item()
        torch.testing.assert_close(one, right, rtol=0, atol=near)


@pytest.mark.usefixtures("few_channels")
@each_network
def test_twenty_steps_have_pytorchs_losses(name: str):
    losses = []
    x = images(4, torch.float64)
    for make in (ours, torchs):
        network = make(name, torch.float64)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(20):
            optimizer.zero_grad()
            loss = score(network(x))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[:20] == pytest.approx(losses[20:], abs=EXACT, rel=EXACT)
    assert losses[19] < 0.8 * losses[0], "it learns"


# ---- programs that are made of a network ---------------------------------------------


@pytest.mark.usefixtures("few_channels")
@pytest.mark.parametrize(
    ("name", "backend"),
    [("mobilenet", "inductor"), ("resnet18", "aot_eager"), ("unet", "aot_eager")],
)
def test_forward_and_backward_compile_as_one_graph(name: str, backend: str):
    torch._dynamo.reset()
    network, x = ours(name), images(2)
    compiled = torch.compile(network, fullgraph=True, backend=backend)
    losses = [score(made(x)) for made in (compiled, network)]
    torch.testing.assert_close(losses[0], losses[1])
    found, expected = (gradients(network, loss) for loss in losses)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


@each_network
def test_an_exported_network_takes_another_batch(name: str):
    network = ours(name).eval()
    batch = {0: Dim("N", min=1, max=64)}
    program = export(network, (images(2),), dynamic_shapes=(batch,))
    called = {str(node.target) for node in program.graph.nodes}
    assert "convlab.conv2d.default" in called
    x = images(3)
    with torch.no_grad():
        torch.testing.assert_close(program.module()(x), network(x))


@pytest.mark.usefixtures("few_channels")
@each_network
def test_onnx_runtime_computes_the_same_for_another_batch(name: str, tmp_path: Path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from convlab_ext import onnx

    network, file = ours(name).eval(), tmp_path / "network.onnx"
    program = torch.onnx.export(
        network,
        (images(2),),
        dynamo=True,
        opset_version=18,
        dynamic_shapes=({0: Dim("N", min=1, max=64)},),
        custom_translation_table=onnx.table(),
        verbose=False,
    )
    program.save(str(file))
    cpu = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(str(file), providers=cpu)
    x = images(3)
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    expected = network(x).detach()
    torch.testing.assert_close(torch.from_numpy(found), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:FutureWarning")
@each_network
def test_jit_trace_computes_the_same(name: str):
    network = ours(name).eval()
    with torch.no_grad():
        traced = torch.jit.trace(network, images(2))
        torch.testing.assert_close(traced(images(3)), network(images(3)))


# ---- training ------------------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [False, True])
@each_network
def test_a_checkpoint_has_the_same_gradients(name: str, reentrant: bool):
    network, x = ours(name), images(2).requires_grad_()
    found = []
    for answers in (network(x), checkpoint(network, x, use_reentrant=reentrant)):
        network.zero_grad()
        score(answers).backward()
        found.append([parameter.grad for parameter in network.parameters()])
    torch.testing.assert_close(found[1], found[0])


@each_network
def test_autocast_trains_nearly_the_same(name: str):
    network, x = ours(name), images(4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        answers, theirs = network(x), torchs(name)(x)
        loss = score(answers)
    assert answers.dtype == theirs.dtype == torch.bfloat16
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, score(network(x)), rtol=0.05, atol=0.05)
    for gradient, parameter in zip(gradients(network, loss), network.parameters()):
        assert gradient.dtype == parameter.dtype
        assert gradient.isfinite().all()


@pytest.mark.usefixtures("few_channels")
@each_network
def test_vmap_of_grad_gives_the_gradients_of_each_sample(name: str):
    network, x = ours(name, torch.float64).eval(), images(3, torch.float64)
    parameters = dict(network.named_parameters())

    def loss(parameters: dict[str, Tensor], image: Tensor) -> Tensor:
        call = torch.func.functional_call
        return score(call(network, parameters, (image[None],)))

    each = torch.func.vmap(torch.func.grad(loss), (None, 0))
    found = list(each(parameters, x).values())
    one_by_one = [gradients(network, score(network(image[None]))) for image in x]
    expected = [torch.stack(parts) for parts in zip(*one_by_one)]
    torch.testing.assert_close(found, expected)


TWO_PROCESSES = """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tests.labs.small_networks import few, images, ours, score

rank, meeting, to, name = int(sys.argv[1]), *sys.argv[2:]
where = f"file://{meeting}"
dist.init_process_group("gloo", init_method=where, rank=rank, world_size=2)
torch.set_num_threads(1)
with few():
    network = ours(name, torch.float64).eval()
x = images(4, torch.float64)
parallel = DistributedDataParallel(network)
score(parallel(x[2 * rank : 2 * rank + 2])).backward()
torch.optim.SGD(parallel.parameters(), lr=0.1).step()
if rank == 0:
    torch.save(network.state_dict(), to)
dist.destroy_process_group()
"""


@pytest.mark.usefixtures("few_channels")
def test_a_step_on_two_processes_is_the_step_of_one(tmp_path: Path):
    """DistributedDataParallel on gloo, each process with half of the batch."""
    path = os.pathsep.join(map(str, (ROOT, FOLDER, LAB)))
    environment = {**os.environ, "PYTHONPATH": path, "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, "-c", TWO_PROCESSES]
    files = [str(tmp_path / "meeting"), str(tmp_path / "state.pt")]
    processes = [
        subprocess.Popen(
            [*command, str(rank), *files, "mobilenet"],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=120)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], said
    network = ours("mobilenet", torch.float64).eval()
    score(network(images(4, torch.float64))).backward()
    torch.optim.SGD(network.parameters(), lr=0.1).step()
    torch.testing.assert_close(torch.load(files[1]), dict(network.state_dict()))


@pytest.mark.usefixtures("few_channels")
def test_two_thousand_training_steps_leave_nothing_behind():
    network, x = ours("mobilenet"), images(1)
    before = 0
    for call in range(CALLS):
        if call == CALLS // 5:
            before = resident()
        network.zero_grad()
        score(network(x)).backward()
    assert resident() - before < GROWTH


def resident() -> int:
    """Bytes of this process that are in memory, without garbage."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
