# SPDX-License-Identifier: MIT
"""A whole result file made up for tests: every verdict, speeds and a machine."""

from __future__ import annotations

import math
from typing import Any

from signatures import SIGNATURES

from grader.course.bands import Band
from grader.verdicts import Verdict

LABS = (
    "01_python_function",
    "02_naive_c",
    "03_im2col_cpu",
    "04_cuda_kernels",
    "05_torch_extension",
)
IDEAS = (
    "definition",
    "loop_order",
    "im2col_gemm",
    "cache_blocking",
    "register_block",
    "vectors",
    "packed",
    "prefetch",
    "winograd",
    "fused_bias",
    "threads",
    "dispatch",
)
CROWDED = "03_im2col_cpu/matmul"  # all its files are about as fast
LONG = ("03_im2col_cpu/conv2d", CROWDED)
MACHINE = {
    "fma_gflops": 75.1,
    "multiply_add_gflops": 9.8,
    "bandwidth": [
        {"bytes": 24 << 10, "gbs": 200.0},
        {"bytes": 1 << 20, "gbs": 96.4},
        {"bytes": 16 << 20, "gbs": 31.0},
        {"bytes": 256 << 20, "gbs": 11.2},
    ],
    "flags": "-O3 -march=native -fno-math-errno -ffp-contract=fast -fopenmp",
    "caches": {"l1d": 48 << 10, "l2": 2 << 20, "l3": 33 << 20},
    "cores": 2,
    "moved": 0.012,
}


def check(
    name: str, direction: str, verdict: str = "PASS", dtype: str = "f32", **more: Any
) -> dict[str, Any]:
    """A check's entry."""
    return {
        "name": name,
        "direction": direction,
        "verdict": verdict,
        "dtype": dtype,
        "cases": 32,
        "failed": 0 if verdict == "PASS" else 3,
        "self_reported": False,
        "message": "",
        "diagnosis": None,
        "mistake": None,
        "location": None,
        "replay": None,
        **more,
    }


def passing() -> list[dict[str, Any]]:
    """The checks of a file in C that is right."""
    return [
        check("forward", "forward", dtype="f32"),
        check("forward", "forward", dtype="f64"),
        check("no_memory", "forward", dtype="f64"),
        check("gradient", "backward", dtype="f32"),
        check("gradient", "backward", dtype="f64"),
        check("no_memory", "backward", dtype="f64"),
        check("gradcheck", "backward", dtype="f64"),
    ]


def speed(step: int, direction: str, **more: Any) -> dict[str, Any]:
    """A speed entry: each step of the ladder is faster than the one before."""
    ratio = 0.03 * math.exp(0.36 * step) * (1.0 if direction == "forward" else 0.85)
    gflops = 38.0 * ratio
    band = Band("r28", 0.1, 0.5, worth=1.5)
    earned = band.earned(ratio * 1.02)
    return {
        "case": "r28",
        "direction": direction,
        "verdict": "PASS",
        "ratio": ratio,
        "low": ratio * 0.975,
        "high": ratio * 1.02,
        "baseline": "pytorch/oneDNN",
        "ms": 27.0 / gflops,
        "gflops": gflops,
        "percent_of_peak": 100 * gflops / 75.1,
        "gbs": gflops / 57,
        "intensity": 57.0 if direction == "forward" else 49.0,
        "of": "pytorch",
        "share": ratio,
        "share_low": ratio * 0.975,
        "share_high": ratio * 1.02,
        "floor": band.floor,
        "full": band.full,
        "earned": earned,
        "message": "",
        "points": earned * band.worth,
        "points_of": band.worth,
        "pairs": 41,
        "dropped": 3,
        **more,
    }


def rung(task: str, step: int, **more: Any) -> dict[str, Any]:
    """A file's entry; right, if nothing else is said."""
    name = f"{task}/{step:02d}_{IDEAS[step]}"
    suffix = ".py" if task.startswith("01") else ".c"
    return {
        "id": name,
        "file": f"labs/{name}{suffix}",
        "sha256": "0" * 64,
        "uses": {},
        "checks": passing(),
        "speed": [],
        **more,
    }


def task(name: str, rungs: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A task's entry."""
    rest = {"points": 4.0, "pending": 0.0, "of": 4.0, "core": True, "seed": 7}
    return {"id": name, **rest, "rungs": rungs, **more}


def whole(tasks: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The file around the tasks."""
    core = [entry for entry in tasks if entry["core"]]
    return {
        "schema": 1,
        "seed": 7,
        "date": "2026-11-21T19:30:00+00:00",
        "environment": {
            "cpu": "Example Processor @ 2.50GHz",
            "compiler": "cc (Debian 12.2.0-14) 12.2.0",
            "torch": "2.15.0",
            "python": "3.11.7",
            "cuda": None,
            "sandbox": "bwrap",
            "threads": 1,
            "machine": MACHINE,
        },
        "points": sum(entry["points"] for entry in core),
        "pending": sum(entry["pending"] for entry in core),
        "of": sum(entry["of"] for entry in core),
        "extra": sum(e["points"] for e in tasks if not e["core"]),
        "tasks": tasks,
        **more,
    }


def every_verdict(task_id: str) -> dict[str, Any]:
    """One task with a file for each verdict, each of them with something to say."""
    rungs = []
    for step, verdict in enumerate(v for v in Verdict if v is not Verdict.PASS):
        entry = rung(task_id, step % len(IDEAS))
        entry["id"] = f"{task_id}/{step:02d}_{verdict.lower()}"
        entry["file"] = f"labs/{entry['id']}.c"
        entry["checks"] = [
            check("forward", "forward", dtype="f32"),
            check(
                "gradient",
                "backward",
                verdict,
                message=f"all_options: this is what {verdict} says",
                location=f"{entry['file']}:12",
                replay=f"make debug T={entry['id']} CASE=all_options SEED=7",
            ),
        ]
        rungs.append(entry)
    return task(task_id, rungs, points=2.0, pending=1.0)


STEPS = 4  # files of an ordinary ladder


def course() -> dict[str, Any]:
    """All labs and operators, with speeds in labs 02 to 04 and two long ladders."""
    tasks = []
    for lab in LABS:
        for place, operator in enumerate(SIGNATURES):
            name = f"{lab}/{operator}"
            if name == "02_naive_c/layer_norm":
                tasks.append(every_verdict(name))
                continue
            count = len(IDEAS) if name in LONG else STEPS
            rungs = [rung(name, step) for step in range(count)]
            if lab[:2] in ("02", "03", "04"):
                for step, entry in enumerate(rungs):
                    works = 0.08 * 2.3**place
                    more = {"intensity": works} if count == STEPS else {}
                    if name == CROWDED:
                        more = {"gflops": 30 + 0.2 * step}
                    entry["speed"] = [
                        speed(step * 11 // (count - 1), "forward", **more),
                        speed(step * 11 // (count - 1), "backward", **more),
                    ]
            tasks.append(task(name, rungs, core=place < 4))
    return whole(tasks)
