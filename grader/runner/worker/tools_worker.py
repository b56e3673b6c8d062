# SPDX-License-Identifier: MIT
"""Runs lab 05's gates: this worker may start compilers, and sees no right answer.

    tools_worker.py ROOT CONTRACT REQUEST EVENTS CALLS

The file REQUEST says which gates to run on which tensors. Every step is a line of JSON
in the descriptor EVENTS, as supervisor/gate_events.py reads it. Tensors go through the
socket CALLS. In a marked gate each call of a kernel goes there too
(toolchain/extension/wrappers.h). The process has run a student's code, so all of this
is only its claim.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import json
import os
import re
import struct
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

LONGEST = 600  # characters of a sentence
SELDOM = 50_000  # objects between two searches for garbage: few are cyclic


def main(arguments: list[str]) -> None:
    """Import, read the request, run it."""
    root, contract, file, events, calls = arguments
    sys.path[:0] = [root, contract]
    faulthandler.enable()
    warnings.simplefilter("ignore")
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    gc.disable()  # nearly all that importing makes is there to stay
    import torch

    gc.freeze()
    gc.set_threshold(SELDOM)
    gc.enable()
    torch.set_num_threads(1)
    with os.fdopen(int(events), "w", buffering=1) as out:

        def tell(**words: Any) -> None:
            out.write(json.dumps(words) + "\n")

        tell(event="ready")
        request = torch.load(file, weights_only=True)
        serve(request, tell, int(calls))
        tell(event="end")


def serve(request: dict[str, Any], tell: Callable[..., None], calls: int) -> None:
    """Run every job of every gate."""
    from grader.runner.worker.gates import compiled, cuda, registered, transforms
    from grader.runner.worker.gates.bound import ASKS, Bound, Broken

    gates: dict[str, Callable[..., Any]] = {
        "errors": registered.errors,
        "opcheck": registered.opcheck,
        "mask": registered.output_mask,
        "vmap": transforms.vmap,
        "torch_func": transforms.torch_func,
        "forward_ad": transforms.forward_mode,
        "gradgradcheck": transforms.gradgradcheck,
        "autocast": compiled.autocast,
        "export": compiled.exports,
        "onnx": compiled.onnx,
        "compile": compiled.compiles,
        "compile_backward": compiled.compiles_backward,
        "cuda": cuda.on_card,
    }
    sys.path.insert(0, request["package"])
    path = f"{request['package']}/convlab_ext/"
    tell(event="begin", gate="import", job=0)
    try:
        bound = Bound(importlib.import_module("convlab_ext"), request["operator"])
    except BaseException as error:
        tell(event="done", gate="import", job=0, **failure_words(error, path))
        return
    if request["header"]:
        compiled.include(request["header"])
    for gate in request["gates"]:
        os.environ.pop(ASKS, None)
        if gate["marked"]:
            os.environ[ASKS] = str(calls)
        for number, job in enumerate(gate["jobs"]):
            tell(event="begin", gate=gate["name"], job=number)
            run = gates[gate["kind"]]
            try:
                found = run(bound, job)
                sent = [send(calls, name, tensor) for name, tensor in found]
                said: dict[str, Any] = {"kind": "returned", "results": sent}
            except BaseException as error:
                said = failure_words(error, path)
                known = error.results if isinstance(error, Broken) else []
                said["results"] = [send(calls, name, tensor) for name, tensor in known]
            tell(event="done", gate=gate["name"], job=number, **said)
            if said["kind"] != "returned":
                break


def send(calls: int, name: str, tensor: Any) -> list[Any]:
    """Send a tensor's numbers in a row; returns its name, dtype and sizes."""
    import torch

    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"'{name}' is a {type(tensor).__name__}, expected a Tensor")
    kinds = {torch.bfloat16: 1, torch.float32: 2, torch.float64: 3}  # dtype_t
    dense = tensor.detach().contiguous().cpu()
    numbers = dense if dense.dtype in kinds else torch.empty(0)  # wrong anyway
    data = struct.pack("<32sii", b"=", 0, 1)
    data += struct.pack("<9q", 1, kinds[numbers.dtype], 1, numbers.numel(), *[0] * 5)
    left = memoryview(data + numbers.flatten().view(torch.uint8).numpy().tobytes())
    while left:
        left = left[os.write(calls, left) :]
    os.read(calls, 1)  # it has come
    return [name, str(dense.dtype).removeprefix("torch."), list(dense.shape)]


def failure_words(error: BaseException, path: str) -> dict[str, Any]:
    """An exception as a kind, a sentence, and the student's line."""
    from grader.runner.worker.gates.bound import Borrowed, Broken, Skipped
    from grader.runner.worker.line_values import none_in_line, sizes_in_line
    from grader.runner.worker.student_package import advice

    kinds = {Broken: "broken", Borrowed: "borrowed", Skipped: "skipped"}
    kind = next((k for t, k in kinds.items() if isinstance(error, t)), "raised")
    causes = list(behind(error))
    own = next((e for e in reversed(causes) if raised_in(e, path)), None)
    if isinstance(error, SyntaxError) and str(error.filename).startswith(path):
        where = f"{error.filename}:{error.lineno}"
    else:
        places = [place for e in causes if (place := line_of(e, path))]
        where = places[-1] if places else ""
    text = plain(error) or "no message"
    if isinstance(own, NotImplementedError) or "not written yet" in text:
        kind = "unwritten"
        text = unwritten(own) or text
    if kind == "raised" and own and not isinstance(own, RuntimeError):
        kind = "slip"  # of the pen: Python's own words say all there is to say
    of_opcheck = type(error.__cause__).__name__ == "OpCheckError"  # says what it may be
    if own and (
        kind == "slip" or (own is not error and (kind == "raised" or of_opcheck))
    ):
        text = f"{type(own).__name__}: {plain(own)}{none_in_line(own, path)}"
    elif kind == "raised":
        words = advice(error)
        text = f"{type(error).__name__}: {text}"
        said = textwrap.shorten(text, 300, placeholder=" ...")
        text = f"{words} (PyTorch says: {said})" if words else text
    if kind in ("raised", "slip") and where and len(text) < LONGEST:
        file, _, line = where.rpartition(":")
        theirs = (e for e in reversed(causes) if line_of(e, path) == where)
        text += sizes_in_line(next(theirs, error), file, int(line))
    return {"kind": kind, "message": text, "location": where}


def unwritten(error: BaseException | None) -> str:
    """Which function to write where, if an error without a word of its own tells it."""
    from grader.runner.worker.line_values import words_of

    frames = traceback.extract_tb(error.__traceback__) if error else []
    if error is None or not frames or words_of(error):
        return ""
    file = "/".join(frames[-1].filename.split("/")[-2:])
    return f"not written yet: write `{frames[-1].name}` in {file}"


def behind(error: BaseException) -> Iterator[BaseException]:
    """An exception, and what it came from, down to the first."""
    seen: set[int] = set()
    now: BaseException | None = error
    while now is not None and id(now) not in seen:
        yield now
        seen.add(id(now))
        now = now.__cause__ or now.__context__


def plain(error: BaseException) -> str:
    """Its words in one line, without colours."""
    from grader.runner.worker.line_values import words_of

    words = re.sub(r"\x1b?\[\d+m", "", words_of(error))
    if type(error).__module__ == "torch._dynamo.exc":  # not the lines of torch.compile
        words = re.split(r"Traceback:|For more details about this", words)[0]
    return textwrap.shorten(words, LONGEST, placeholder=" ...")


def line_of(error: BaseException, path: str) -> str:
    """The student's line that it went through last; "" if it did not."""
    from grader.runner.worker.student_errors import line_behind

    frame = line_behind(error, path.rstrip("/"))
    return f"{frame.filename}:{frame.lineno}" if frame else ""


def raised_in(error: BaseException, path: str) -> bool:
    """Whether a line of the student's raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename.startswith(path)


if __name__ == "__main__":
    main(sys.argv[1:])
