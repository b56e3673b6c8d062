# SPDX-License-Identifier: MIT
"""Refuses constructs that cusim does not run, with a sentence that says what to use.

If such a construct compiled but did something else, a student would lose much time. The
words are searched for only in the student's files.
"""

from __future__ import annotations

from cusim.edits import Edits
from cusim.tokens import Tokens

_TEXTURE = (
    "texture and surface memory is not run by cusim. Read the array through a "
    "const float *__restrict__ pointer, which loads through the same cache"
)
_CLUSTER = (
    "thread block clusters are not run by cusim. Let each block work on its own "
    "shared memory and exchange through global memory"
)
_GRID = (
    "waiting for the whole grid is not run by cusim. End the kernel there, and launch "
    "a second kernel for the rest"
)
_TMA = (
    "the tensor memory accelerator (TMA) is not run by cusim. Copy the tile with plain "
    "loads, or with the cp.async wrappers of ptx.h"
)
_WGMMA = (
    "wgmma is not run by cusim: use nvcuda::wmma, or the mma.sync wrappers of ptx.h"
)

_WORDS = {
    **dict.fromkeys(
        (
            "cudaTextureObject_t",
            "cudaSurfaceObject_t",
            "cudaCreateTextureObject",
            "cudaCreateSurfaceObject",
            "cudaBindTexture",
            "cudaBindTexture2D",
            "cudaBindTextureToArray",
            "cudaTextureDesc",
            "textureReference",
        ),
        _TEXTURE,
    ),
    **dict.fromkeys(
        (
            "__cluster_dims__",
            "this_cluster",
            "cluster_group",
            "__cluster_barrier_arrive",
            "cudaLaunchKernelEx",
            "cudaLaunchKernelExC",
        ),
        _CLUSTER,
    ),
    **dict.fromkeys(
        (
            "this_grid",
            "grid_group",
            "this_multi_grid",
            "multi_grid_group",
            "cudaLaunchCooperativeKernel",
            "cudaLaunchCooperativeKernelMultiDevice",
        ),
        _GRID,
    ),
    **dict.fromkeys(("CUtensorMap", "cuTensorMapEncodeTiled", "CUtensorMap_st"), _TMA),
    **dict.fromkeys(
        ("cudaGraphLaunch", "cudaGraphCreate", "cudaStreamBeginCapture"),
        "CUDA graphs are not run by cusim: launch the kernels one after the other",
    ),
}

# functions whose names a student's own function may have as well: with a bracket only
_READS = tuple(
    f"{kind}{shape}{suffix}"
    for kind in ("tex", "surf")
    for shape in ("1D", "2D", "3D", "Cubemap", "1DLayered", "2DLayered")
    for suffix in ("", "fetch", "Lod", "Grad", "gather", "read", "write")
)

_CUDA = {
    "barrier": "use __syncthreads(), or the cp.async wrappers of ptx.h with a wait",
    "pipeline": "use the cp.async wrappers of ptx.h, with their commit and wait",
    "memcpy_async": "use the cp.async wrappers of ptx.h, with their commit and wait",
    "atomic": "use atomicAdd and its kin with __threadfence()",
    "atomic_ref": "use atomicAdd and its kin with __threadfence()",
    "binary_semaphore": "use atomicCAS",
    "counting_semaphore": "use atomicCAS",
    "latch": "use __syncthreads()",
}

_ASM = ("asm", "__asm__", "__asm")


def refuse_words(tokens: Tokens, edits: Edits) -> None:
    """Refuse every construct of the file that has a name of its own."""
    for i, token in enumerate(tokens.all):
        if token.kind != "word":
            continue
        text = token.text
        if text in _WORDS:
            edits.refuse(token, f"'{text}': {_WORDS[text]}")
        elif text in _ASM:
            edits.refuse(token, _asm(tokens, i))
        elif _is_texture(tokens, i):
            edits.refuse(token, f"'{text}': {_TEXTURE}")
        elif text in _CUDA and _is_in_cuda(tokens, i):
            edits.refuse(token, f"cuda::{text} is not run by cusim: {_CUDA[text]}")


def _asm(tokens: Tokens, i: int) -> str:
    """Which wrapper stands for this piece of assembly."""
    code = ""
    while i < len(tokens.all) and tokens.all[i].text != ";":
        if tokens.all[i].kind == "string":
            code += tokens.all[i].text
        i += 1
    start = "inline PTX is not run by cusim: "
    if "wgmma" in code:
        return start + _WGMMA
    if "cp.async.bulk" in code or "mbarrier" in code or "tensormap" in code:
        return start + _TMA
    for word in ("mma.sync", "ldmatrix", "cp.async"):
        if word in code:
            return (
                f"{start}for {word} use the wrapper in ptx.h, which nvcc compiles as "
                "well"
            )
    return f"{start}use a CUDA function (ptx.h has mma.sync, ldmatrix, cp.async)"


def _is_texture(tokens: Tokens, i: int) -> bool:
    """`texture<float, 1> name`, or a read of one; a member may have such a name."""
    if tokens.is_text(i - 1, ".", "->", "::"):
        return False
    if tokens.all[i].text in _READS:
        return tokens.is_text(i + 1, "(", "<")
    return tokens.is_text(i, "texture", "surface") and tokens.is_text(i + 1, "<")


def _is_in_cuda(tokens: Tokens, i: int) -> bool:
    if not tokens.is_text(i - 1, "::"):
        return False
    return tokens.is_text(i - 2, "cuda", "ptx", "experimental")
