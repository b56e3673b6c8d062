# SPDX-License-Identifier: MIT
"""What a reader might write into the notebooks' exercises: right, and wrong."""

from __future__ import annotations

ANSWERS = {
    "exercise-input": (
        "def grad_input(g, w):\n    return slide(g, w.flip(0), padding=len(w) - 1)",
        "def grad_input(g, w):\n    return slide(g, w, padding=len(w) - 1)",
    ),
    "exercise-kernel": (
        "def grad_kernel(g, x):\n    return slide(x, g)",
        "def grad_kernel(g, x):\n    return slide(x, g.flip(0))",
    ),
    "exercise-stride": (
        "def spread_out(g, stride, length):\n    out = torch.zeros(length)\n"
        "    out[: len(g) * stride : stride] = g\n    return out",
        "def spread_out(g, stride, length):\n    out = torch.zeros(length)\n"
        "    out[: len(g)] = g\n    return out",
    ),
    "exercise-whole": (
        "def grad_input_whole(g, w, length, stride, padding):\n"
        "    dense = spread_out(g, stride, length + 2 * padding - len(w) + 1)\n"
        "    return grad_input(dense, w)[padding : padding + length]",
        "def grad_input_whole(g, w, length, stride, padding):\n"
        "    dense = spread_out(g, stride, length + 2 * padding - len(w) + 1)\n"
        "    return grad_input(dense, w)[:length]",
    ),
    "exercise-bias": (
        "def grad_bias(g):\n    return g.sum((0, 2, 3))",
        "def grad_bias(g):\n    return g.mean((0, 2, 3))",
    ),
    "exercise-strides": (
        "def strides():\n    return {'y.T': (1, 4), 'y[:, 1:]': (4, 1), "
        "'y[::2]': (8, 1), 'y.T[::2, 1:]': (2, 4)}",
        "def strides():\n    return {'y.T': (3, 1), 'y[:, 1:]': (3, 1), "
        "'y[::2]': (2, 1), 'y.T[::2, 1:]': (1, 2)}",
    ),
    "exercise-reach": (
        'reach = """\n#include "tensor.h"\nint64_t reach(const tensor_t *t)\n{\n'
        "    int64_t sum = 0;\n    for (int32_t d = 0; d < t->ndim; d++)\n"
        '        sum += (t->size[d] - 1) * t->stride[d];\n    return sum;\n}"""',
        'reach = """\n#include "tensor.h"\nint64_t reach(const tensor_t *t)\n{\n'
        '    return tensor_numel(t) - 1;\n}"""',
    ),
    "exercise-columns": (
        "def column_bytes(IC, IH, IW, K, stride, padding):\n"
        "    OH, OW = ((i + 2 * padding - K) // stride + 1 for i in (IH, IW))\n"
        "    return 4 * IC * K * K * OH * OW",
        "def column_bytes(IC, IH, IW, K, stride, padding):\n"
        "    return 4 * IC * K * K * (IH // stride) * (IW // stride)",
    ),
    "exercise-block": (
        "def best_block(registers):\n"
        "    sizes = [(MR, NV) for MR in range(1, 32) for NV in range(1, 32)]\n"
        "    fits = [s for s in sizes if s[0] * s[1] + s[1] + 1 <= registers]\n"
        "    return min(fits, key=lambda s: (s[0] + s[1]) / (s[0] * s[1]))",
        "def best_block(registers):\n    return registers // 4, 3",
    ),
    "exercise-tile": (
        "def tile(x, w):\n    return AT @ ((G @ w @ G.T) * (BT @ x @ BT.T)) @ AT.T",
        "def tile(x, w):\n    return AT @ ((G @ w.T @ G.T) * (BT @ x @ BT.T)) @ AT.T",
    ),
    "exercise-sectors": (
        "def sectors(start, step, width):\n"
        "    ends = [start + t * step for t in range(32)]\n"
        "    pairs = [range(e // 32, (e + width - 1) // 32 + 1) for e in ends]\n"
        "    return len(set().union(*pairs))",
        "def sectors(start, step, width):\n    return 32 * step // 32 or 1",
    ),
    "exercise-traffic": (
        "def traffic(M, N, K, BM, BN):\n"
        "    return 4 * (M * N * K // BM + M * N * K // BN + M * N)",
        "def traffic(M, N, K, BM, BN):\n    return 4 * (M * K + K * N + M * N)",
    ),
    "exercise-wavefronts": (
        "def wavefronts(start, step):\n    few = step & -step if step % 32 else 32\n"
        "    return few if step else 1",
        "def wavefronts(start, step):\n    return step & -step",
    ),
    "exercise-address": (
        "def address(t, index):\n"
        "    steps = sum(i * s for i, s in zip(index, t.stride()))\n"
        "    start = t.untyped_storage().data_ptr()\n"
        "    return start + (t.storage_offset() + steps) * t.element_size()",
        "def address(t, index):\n"
        "    steps = sum(i * s for i, s in zip(index, t.stride()))\n"
        "    return t.untyped_storage().data_ptr() + steps * t.element_size()",
    ),
    "exercise-route": (
        "def route(keys, rows):\n"
        "    return [f for k, f in rows if k in keys and f != 'fallthrough']",
        "def route(keys, rows):\n    return [f for k, f in rows if k in keys][:1]",
    ),
    "exercise-reuse": (
        "def reuse(TM, TN):\n    return TM * TN / (TM + TN)",
        "def reuse(TM, TN):\n    return TM * TN / 2",
    ),
}
