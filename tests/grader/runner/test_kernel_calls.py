# SPDX-License-Identifier: MIT
"""The calls of kernels that lab 05's gates tell: decoded as wrappers.h sends them."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from signatures import SIGNATURES

from grader.checks.gates import factor
from grader.runner.supervisor import kernel_calls
from grader.runner.supervisor.gate_events import Malformed
from grader.runner.supervisor.kernel_calls import (
    BYTES,
    RESULT,
    Incoming,
    KernelCall,
    Sent,
    TooLarge,
)
from grader.runner.supervisor.tools_session import Tools

F16, F64 = 0, 3
NUMBERS = Sent(F64, (2, 1), struct.pack("<2d", 1.0, 2.0))


def head(name: str, inputs: int, outputs: int) -> bytes:
    return struct.pack("<32sii", name.encode(), inputs, outputs)


def words(*values: int) -> bytes:
    return struct.pack("<9q", *values, *[0] * (9 - len(values)))


CALL = head("gelu_forward", 2, 1) + words(1, F64, 2, 2, 1) + NUMBERS.data
CALL += words(0) + words(1, F64, 2, 2, 1) + NUMBERS.data


def test_a_call_comes_in_parts():
    incoming = Incoming()
    for i in range(len(CALL) - 1):
        assert incoming.add(CALL[i : i + 1]) is None
    call = incoming.add(CALL[-1:])
    assert call == KernelCall("gelu_forward", (NUMBERS, None), (NUMBERS,))
    assert incoming.add(CALL) == call  # the next one begins anew


@pytest.mark.parametrize(
    "sent",
    [
        CALL + b"x",
        head("gelu_forward", -1, 1),
        head("gelu_forward", 1, 1 << 30),
        head("gelu_forward", 1, 0) + words(1, 6, 1, 1),
        head("gelu_forward", 1, 0) + words(1, -1, 1, 1),
        head("gelu_forward", 1, 0) + words(1, F64, 7),
        head("gelu_forward", 1, 0) + words(1, F64, 1, -1),
    ],
)
def test_another_form_is_refused(sent):
    with pytest.raises(Malformed):
        Incoming().add(sent)


@pytest.mark.parametrize(
    "sent",
    [
        head(RESULT, 0, 1) + words(1, F64, 1, (2 << 20) + 1),
        head("gelu_forward", 1, 0) + words(1, F64, 2, 1 << 20, 1 << 62),
        b"\0" * (1 << 25),
    ],
)
def test_tensors_that_are_too_large_pass_a_limit(monkeypatch, tmp_path, sent):
    tools = Tools(tmp_path, tmp_path)
    alive = []

    def start(events: int, calls: int, _: object) -> None:
        alive.append(os.dup(events))
        os.write(events, b'{"event": "begin", "gate": "vmap"}\n')
        with socket.socket(fileno=os.dup(calls)) as theirs:
            theirs.settimeout(0)
            with contextlib.suppress(OSError):
                theirs.sendall(sent)
        tools._kept, tools._held = [], 0

    monkeypatch.setattr(tools, "_start", start)
    monkeypatch.setattr(tools, "_look", lambda: None)
    monkeypatch.setattr(kernel_calls, "MOST", 1 << 16)
    found = tools.run(["vmap"], lambda *_: None)["vmap"]
    os.close(alive[0])
    assert found.kind == "limit" and "more than" in found.message


def test_the_limit_of_a_result_is_told():
    with pytest.raises(TooLarge, match="one result, has more than 16 MiB of tensors"):
        Incoming().add(head(RESULT, 0, 1) + words(1, F64, 1, (2 << 20) + 1))


@settings(max_examples=2000, deadline=None)
@given(
    st.binary(max_size=300)
    | st.tuples(
        st.integers(-2, 20),
        st.integers(-2, 20),
        st.lists(st.integers(-3, 9)),
        st.binary(),
    ).map(
        lambda drawn: (
            head("add_forward", drawn[0], drawn[1])
            + b"".join(words(1, one, abs(one), 1, 2) for one in drawn[2])
            + drawn[3]
        )
    )
)
def test_any_bytes_are_a_call_or_refused_or_wait(sent):
    try:
        found = Incoming().add(sent)
    except (Malformed, TooLarge):
        return
    assert found is None or isinstance(found.name, str)


SENT = st.none() | st.builds(
    lambda dtype, sizes: Sent(dtype, sizes, bytes(BYTES[dtype] * math.prod(sizes))),
    st.integers(0, 5),
    st.lists(st.integers(0, 3), max_size=6).map(tuple),
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([*SIGNATURES, "", "x"]),
    st.sampled_from(["forward", "backward", ""]),
    st.lists(SENT, max_size=6).map(tuple),
    st.lists(SENT, max_size=6).map(tuple),
    st.sampled_from([*SIGNATURES]),
)
def test_any_call_gets_an_answer(name, direction, inputs, outputs, operator):
    call = KernelCall(f"{name}_{direction}", inputs, outputs)
    for backward in (True, False):
        assert isinstance(
            factor.answer(call, operator, backward=backward, by=2.0), bytes
        )


def test_numbers_of_another_dtype_go_back_as_they_came():
    half = Sent(F16, (1,), b"ab")
    call = KernelCall("linear_forward", (half, half, half), (half,))
    assert factor.answer(call, "linear", backward=False, by=2.0) == b"ab"


def numbers(sizes: tuple[int, ...], *values: float) -> Sent:
    return Sent(F64, sizes, struct.pack(f"<{len(values)}d", *values))


PAIR, BIAS = numbers((2,), 1, 2), numbers((2,), 10, 20)
IMAGE = numbers((1, 2, 1, 1), 13, 25)  # of the products 3 and 5, and the bias


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "marked"),
    [
        ("add_forward", (PAIR, PAIR), (numbers((2,), 4, 6),), (7, 10)),
        ("add_backward", (PAIR,), (PAIR, PAIR), (1, 2, 2, 4)),
        ("conv2d_forward", (None, None, BIAS), (IMAGE,), (16, 30)),
        ("conv2d_forward", (None, None, None), (IMAGE,), (26, 50)),
        ("conv2d_backward", (None,) * 3, (PAIR, PAIR, PAIR), (2, 4, 2, 4, 1, 2)),
        ("layer_norm_forward", (PAIR,), (PAIR, PAIR), (2, 4, 2, 4)),
    ],
)
def test_the_factor_is_in_what_depends_on_the_marked_input(
    name, inputs, outputs, marked
):
    """By 2: of add what `other` brings, of a convolution all but the bias; of
    gradients those of the inputs that the factor meets.
    """
    operator, _, direction = name.rpartition("_")
    call = KernelCall(name, inputs, outputs)
    answer = factor.answer(call, operator, backward=direction == "backward", by=2.0)
    assert struct.unpack(f"<{len(marked)}d", answer) == marked
