# SPDX-License-Identifier: MIT
"""convlab's operators as operators of PyTorch.

    import convlab_ext

    y = convlab_ext.conv2d(x, weight, bias, stride=2)    # serves torch.func as well
    y = torch.ops.convlab.conv2d(x, weight, bias, stride=2)    # as PyTorch calls it
    convlab_ext.parts()    # what this build has; __version__ is a string
    layer = convlab_ext.Conv2d(3, 8, 3)    # torch.nn's, with ours inside
    with convlab_ext.direct(): ...    # conv2d without Winograd (direct.py)

Each operator is a library of its own, _conv2d.abi3.so; one that is not built is a name
that raises a sentence when it is used. CONVLAB_NOW=lltm in the environment compiles one
at this point instead (just_in_time.py).
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convlab_ext import _level

_level.verify()  # before PyTorch is loaded, and a library

import torch  # noqa: E402
import torch.fx  # noqa: E402

from convlab_ext._refusals import dtypes  # noqa: E402
from convlab_ext.direct import direct as direct  # noqa: E402
from convlab_ext.direct import from_environment  # noqa: E402

if TYPE_CHECKING:  # what a checker of types sees; _load binds the functions
    from convlab_ext.add import add as add
    from convlab_ext.conv2d import conv2d as conv2d
    from convlab_ext.depthwise_conv2d import depthwise_conv2d as depthwise_conv2d
    from convlab_ext.gelu import gelu as gelu
    from convlab_ext.layer_norm import layer_norm as layer_norm
    from convlab_ext.linear import linear as linear
    from convlab_ext.lltm import lltm as lltm
    from convlab_ext.matmul import matmul as matmul
    from convlab_ext.modules import GELU as GELU
    from convlab_ext.modules import LLTM as LLTM
    from convlab_ext.modules import Conv2d as Conv2d
    from convlab_ext.modules import DepthwiseConv2d as DepthwiseConv2d
    from convlab_ext.modules import LayerNorm as LayerNorm
    from convlab_ext.modules import Linear as Linear
    from convlab_ext.modules import SubmConv3d as SubmConv3d
    from convlab_ext.subm_conv3d import subm_conv3d as subm_conv3d
    from convlab_ext.unfold import unfold as unfold

__version__ = "1.0"

HERE = Path(__file__).resolve().parent
OPERATORS = (
    "add",
    "matmul",
    "linear",
    "unfold",
    "conv2d",
    "depthwise_conv2d",
    "gelu",
    "layer_norm",
    "lltm",
    "subm_conv3d",
)
MODULES = {  # and what each of them calls
    "Conv2d": "conv2d",
    "DepthwiseConv2d": "depthwise_conv2d",
    "Linear": "linear",
    "GELU": "gelu",
    "LayerNorm": "layer_norm",
    "LLTM": "lltm",
    "SubmConv3d": "subm_conv3d",
}
NAMESPACE = "convlab"

_absent: dict[str, str] = {}


def _load(operator: str) -> None:
    """Load an operator's library, then give it its rules."""
    file = HERE / f"_{operator}.abi3.so"
    now = operator in os.environ.get("CONVLAB_NOW", "").replace(",", " ").split()
    if not now and not file.exists():
        _absent[operator] = (
            f"convlab_ext.{operator} is not built: make build LAB=05 (or, in "
            "labs/05_torch_extension, pip install --no-build-isolation -e .)"
        )
        return
    if now:
        importlib.import_module("convlab_ext.just_in_time").load(operator)
    else:
        torch.ops.load_library(file)
    module = importlib.import_module(f"convlab_ext.{operator}")
    module.rules(NAMESPACE)
    globals()[operator] = getattr(module, operator)


def __getattr__(name: str) -> Any:
    # not an AttributeError: `from convlab_ext import conv2d` would take the file
    # conv2d.py in its place, and say "cannot import name" of Conv2d
    if (operator := MODULES.get(name, name)) in _absent:
        raise ImportError(_absent[operator])
    if name in MODULES:
        return getattr(importlib.import_module("convlab_ext.modules"), name)
    raise AttributeError(f"module 'convlab_ext' has no attribute {name!r}")


def parts() -> str:
    """One sentence: the operators of this build, with devices and dtypes."""
    there = [name for name in OPERATORS if name not in _absent]
    if not there:
        return "convlab_ext has no operator yet: make build LAB=05"
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    cuda = [name for name in there if has(f"{NAMESPACE}::{name}", "CUDA")]
    words = f"convlab_ext has {', '.join(there)} on the CPU ({dtypes('cpu')})"
    on_cuda = f"{', '.join(cuda)} on CUDA ({dtypes('cuda')})"
    words += f" and {on_cuda}" if cuda else " and nothing on CUDA"
    return words + (f"; {', '.join(_absent)} not built" if _absent else "")


for _operator in OPERATORS:
    _load(_operator)
    if _operator not in _absent:
        torch.fx.wrap(_operator)  # one node of a graph: fx cannot follow its sizes
from_environment()
