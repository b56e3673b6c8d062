# SPDX-License-Identifier: MIT
"""Lab 05 on a GPU that is not there: stream, device guard, launch check, the build.

Step (c)'s bridge runs with C functions of ours in the place of PyTorch's
(tests/programs/extension/bridge.cpp): they pretend a card and tell what is asked of it.
Where that cannot be, the source is read. Each of these checks is tried on a source
without what it asks for. The same on a real card is below, and needs one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from torch.utils import cpp_extension

from grader.course.rungs import ROOT, Rung
from grader.toolchain.extension import kernels
from grader.toolchain.symbols import symbols
from tests import output_of
from tests.conftest import needs_gpu, needs_nvcc
from tests.labs.extension import FOLDER
from tests.labs.extension_build import build, environment

LAB = ROOT / "labs" / "05_torch_extension"
STABLE = (LAB / "csrc" / "stable" / "bridge.h").read_text()
ATEN = (LAB / "csrc" / "aten" / "bridge.h").read_text()


def without_comments(text: str) -> str:
    """C++ as the compiler sees it."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


# ---- step (c): what the bridge asks of a card ----------------------------------------


def events(bridge: str, folder: Path) -> str:
    """What a call on the pretended card 3 does, with this text as the bridge."""
    for file in LAB.glob("csrc/*.h"):
        shutil.copy(file, folder)
    (folder / "stable").mkdir()
    (folder / "stable" / "bridge.h").write_text(bridge)
    program = folder / "bridge"
    includes = [folder, ROOT / "common", *cpp_extension.include_paths()]
    libraries = cpp_extension.library_paths()
    command = ["c++", "-std=c++20", "-O0", "-DTORCH_TARGET_VERSION=0x020b000000000000"]
    command += ["-DCONVLAB_CUDA", "-DUSE_CUDA", *(f"-I{path}" for path in includes)]
    command += [str(ROOT / "tests/programs/extension/bridge.cpp"), "-o", str(program)]
    command += [f"-L{path}" for path in libraries]
    command += [f"-Wl,-rpath,{path}" for path in libraries]
    subprocess.run([*command, "-ltorch_cpu", "-lc10", "-ldl"], check=True, timeout=120)
    return output_of([program], seconds=60)


def test_a_call_sets_the_card_takes_its_stream_and_has_its_scratch_there(tmp_path):
    assert events(STABLE, tmp_path).splitlines() == [
        "2 elements on card 3, with card 0 set",  # input
        "2 elements on card 3, with card 0 set",  # output
        "kernel: device CUDA, card 3 is set, stream of card 3",
        "views: CUDA",
        "100 elements on card 3, with card 3 set",  # scratch
        "afterwards: card 0 is set",
    ]


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("guard_.emplace(index);", "card 0 is set, stream of card 3"),
        ("ctx->stream = static_cast<CUstream_st *>(stream);", "stream of card -1"),
        ("ctx->device = DEVICE_CUDA;", None),
    ],
)
def test_a_bridge_without_guard_stream_or_device_is_seen(line, seen, tmp_path):
    assert STABLE.count(line) == 1
    lacking = STABLE.replace(line, "(void)index;")
    if seen is None:  # no kernel of the CPU is there to be called
        with pytest.raises(AssertionError):
            events(lacking, tmp_path)
    else:
        assert seen in events(lacking, tmp_path)


# ---- step (b): the source of its bridge ----------------------------------------------

ASKED = {
    "sets the device guard": r"guard_\.emplace\(where\.device\(\)\);",
    "takes the current stream": r"c10::cuda::getCurrentCUDAStream\(where\.get_device",
    "gives the kernel the stream": r"ctx->stream = stream\.stream\(\);",
    "says which device": r"ctx->device = DEVICE_CUDA;",
    "has scratch memory on the card": r"where_\.options\(\)\.dtype\(at::kByte\)",
}


def lacks(bridge: str) -> list[str]:
    """What the constructor of a call does not do with a tensor on a card."""
    text = without_comments(bridge)
    return [what for what, pattern in ASKED.items() if not re.search(pattern, text)]


def test_the_bridge_of_step_b_sets_the_card_and_takes_its_stream():
    assert lacks(ATEN) == []


@pytest.mark.parametrize("what", ASKED)
def test_a_bridge_of_step_b_that_forgets_one_is_seen(what):
    line = re.compile(rf"^.*{ASKED[what]}.*$", re.M)
    assert lacks(line.sub("", ATEN)) == [what]
    assert lacks(line.sub(lambda match: f"// {match[0]}", ATEN)) == [what]


# ---- the kernels ---------------------------------------------------------------------


def named_by_lab_05() -> list[Rung]:
    """The rungs of lab 04 that lab.toml may take, and those that they use."""
    found: dict[str, Rung] = {}
    for entry in tomllib.loads((LAB / "lab.toml").read_text())["ladder"].values():
        wanted = [entry["kernels"]["cuda"]]
        while wanted:
            target = wanted.pop()
            for rung in kernels._candidates(target):
                if rung.id not in found:
                    found[rung.id] = rung
                    uses = (use.target for use in rung.uses)
                    wanted += [target for target in uses if target]
    return list(found.values())


def unchecked(text: str) -> list[str]:
    """Launches that are not on the stream of the call, or not followed by a check."""
    launch = re.compile(r"<<<([^;]*?)>>>[^;]*;\s*([^;]*;)", re.S)
    return [
        " ".join(arguments.split())
        for arguments, after in launch.findall(without_comments(text))
        if not arguments.endswith("ctx->stream")
        or after != "CUDA_TRY(ctx, cudaGetLastError());"
    ]


def test_every_launch_of_a_rung_that_lab_05_links_is_checked():
    rungs = named_by_lab_05()
    assert len(rungs) > 15
    assert {
        rung.id: bad for rung in rungs if (bad := unchecked(rung.file.read_text()))
    } == {}


def test_a_launch_without_its_check_or_its_stream_is_seen():
    for rung in named_by_lab_05():
        text = rung.file.read_text()
        launches = len(re.findall(r"<<<", without_comments(text)))
        assert launches or rung.uses, rung.id
        for edit in (
            text.replace("CUDA_TRY(ctx, cudaGetLastError());", "return STATUS_OK;"),
            text.replace("ctx->stream>>>", "0>>>"),
        ):
            assert len(unchecked(edit)) == launches, rung.id


def test_no_header_of_pytorch_is_in_a_cuda_source():
    """nvcc takes minutes for them, and the kernels would fit one PyTorch alone."""
    sources = [*ROOT.glob("labs/*/**/*.cu"), *ROOT.glob("common/*.h")]
    assert len(sources) > 30
    theirs = re.compile(r'#\s*include\s*[<"](torch|ATen|c10)/')
    assert [file for file in sources if theirs.search(file.read_text())] == []
    assert list(LAB.glob("csrc/**/*.cu*")) == []


# ---- the build, and a card if there is one -------------------------------------------

PACKAGE = FOLDER.with_name("tests_cuda")


@pytest.fixture(scope="module")
def said_by_setup(tools) -> str:
    """unfold, whose rungs exist in half too, built with CUDA; the words of setup.py."""
    return build(PACKAGE, OPERATORS="unfold", CUDA="1")


def run(program: str) -> str:
    """A program that imports what was built with CUDA; returns what it prints."""
    command = [sys.executable, "-c", f"import torch, convlab_ext\n{program}"]
    variables = environment() | {"PYTHONPATH": str(PACKAGE)}
    return output_of(command, env=variables, seconds=300).strip()


@needs_nvcc
def test_a_library_with_cuda_is_built_and_imported_without_a_gpu(said_by_setup):
    assert re.search(r"built with CUDA: nvcc \d+\.\d+, torch's CUDA", said_by_setup)
    for direction in ("forward", "backward"):
        served = f"unfold {direction} on cuda: 04_cuda_kernels/unfold/00_gather"
        assert served in said_by_setup
    words = run(
        "x = torch.randn(2, 3, 6, 5)\n"
        "mine = convlab_ext.unfold(x, 2)\n"
        "assert torch.equal(mine, torch.nn.functional.unfold(x, 2))\n"
        "print(convlab_ext.parts())"
    )
    assert words.startswith(
        "convlab_ext has unfold on the CPU (float32 or float64) and "
    )
    assert "unfold on CUDA (float16, float32 or float64); add" in words
    assert "\n" not in words


@needs_nvcc
def test_it_has_every_dtype_of_its_rungs_and_one_runtime_with_pytorch(said_by_setup):
    library = PACKAGE / "convlab_ext" / "_unfold.abi3.so"
    listed = subprocess.run(["nm", library], capture_output=True, text=True).stdout
    for dtype in ("f16", "f32", "f64"):
        assert f" t unfold_forward_cuda_{dtype}\n" in listed
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True)
    assert re.search(r"NEEDED.*libcudart\.so", dynamic.stdout)
    assert "aoti_torch_get_current_cuda_stream" in symbols(library)[1]
    assert "aoti_torch_create_device_guard" in symbols(library)[1]


@needs_gpu
def test_on_a_card_values_are_those_of_the_processor(said_by_setup):
    run(
        "for dtype in (torch.float16, torch.float32, torch.float64):\n"
        "    x = torch.randn(2, 3, 9, 8).to(dtype)\n"
        "    mine = convlab_ext.unfold(x.cuda(), (3, 2), 1, (1, 0), 2)\n"
        "    right = torch.nn.functional.unfold(x.cuda(), (3, 2), 1, (1, 0), 2)\n"
        "    assert torch.equal(mine, right)"
    )


@needs_gpu
def test_on_a_card_a_call_waits_for_its_stream_and_no_other(said_by_setup):
    """The input is written late, on a stream of its own."""
    run(
        "x = torch.zeros(1, 64, 64, 64, device='cuda')\n"
        "convlab_ext.unfold(x, 3)\n"
        "torch.cuda.synchronize()\n"
        "with torch.cuda.stream(torch.cuda.Stream()):\n"
        "    torch.cuda._sleep(500_000_000)\n"
        "    x.fill_(1)\n"
        "    columns = convlab_ext.unfold(x, 3)\n"
        "torch.cuda.synchronize()\n"
        "assert columns.eq(1).all()"
    )


@needs_gpu
def test_on_a_second_card_the_kernel_runs_there(said_by_setup):
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("needs a second GPU: there is one")
    run(
        "x = torch.randn(1, 2, 5, 5, device='cuda:1')\n"
        "mine = convlab_ext.unfold(x, 2)\n"
        "assert mine.device.index == 1 and torch.cuda.current_device() == 0\n"
        "assert torch.equal(mine, torch.nn.functional.unfold(x, 2))"
    )
