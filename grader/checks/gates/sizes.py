# SPDX-License-Identifier: MIT
"""Names mistakes in the sizes of results that a message tells: `fake`, and C++."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from grader.checks import named_mistakes as names
from grader.checks.gates import changed_calls
from grader.checks.gates.call_again import AgainCall
from grader.operators import Operator

Named = tuple[str, str]  # the mistake and a sentence
Rule = Callable[[str, Operator, AgainCall | None], Named | None]
VALUE = r"\[[^]]*\]|\([^)]*\)|[\w.]+"  # sizes, strides or a dtype
SIZES = r"[\[(]([\d, ]*)[\])]"


def _fake(message: str, operator: Operator, call: AgainCall | None) -> Named | None:
    """What the fake kernel gives in place of what the kernel gives."""
    found = re.search(
        rf"(?:result (\d+): )?the fake kernel gave (sizes|dtype|strides) ({VALUE}), "
        rf"but the kernel gave ({VALUE})",
        message,
    )
    if not found:
        return None
    which = f"result {found[1]}" if found[1] else "the result"
    told = f"`fake` gives {which} the {found[2]} {found[3]}, the kernel {found[4]}"
    if found[2] != "sizes":
        strides = found[2] == "strides"
        return names.FAKE_STRIDES_WRONG if strides else names.FAKE_DTYPE_WRONG, told
    fake, kernel = whole_numbers(found[3]), whole_numbers(found[4])
    if sorted(fake) == sorted(kernel):
        return names.FAKE_AXES_EXCHANGED, f"{told}: the same sizes in another order"
    which_result = int(found[1] or 0)
    for change in changed_calls.of_options(call, operator) if call else ():
        made = (change.results(call) if call else None) or []
        if fake in [list(one.shape) for one in made[which_result : which_result + 1]]:
            because = change.trait.clause.removeprefix("these numbers result if ")
            sentence = f"{told}. The sizes {fake} result if {because}"
            return names.FAKE_SIZES_FROM_OTHER_OPTION, sentence
    if len(fake) == len(kernel):
        off = [k for k, (a, b) in enumerate(zip(fake, kernel)) if a != b]
        listed = ", ".join(map(str, off))
        told += f": axis {listed} is wrong" if len(off) == 1 else ""
    return names.FAKE_SIZES_WRONG, told


def _compiled(message: str, _: Operator, __: AgainCall | None) -> Named | None:
    """What a compiled graph says of a real result: its sizes are not the fake ones."""
    found = re.findall(
        r"expected size (\d+)==(\d+), stride (\d+)==(\d+) at dim=(\d+)", message
    )
    called = re.search(r"Error in op: torch\.ops\.convlab\.(\w+)", message)
    if not found or not called:
        return None
    sizes = [(real, fake, axis) for real, fake, *_, axis in found if real != fake]
    if not sizes:
        real, fake, axis = found[0][2:]
        told = f"the stride of axis {axis} is {real}, but `fake` gives {fake}"
        return names.FAKE_STRIDES_WRONG, f"in a result of {called[1]}, {told}"
    told = ", ".join(f"axis {axis} has the size {real}" for real, _, axis in sizes)
    gives = " and ".join(fake for _, fake, _ in sizes)
    sentence = f"in a result of {called[1]}, {told}, but `fake` gives {gives}"
    same = sorted(real for real, *_ in sizes) == sorted(fake for _, fake, _ in sizes)
    return names.FAKE_AXES_EXCHANGED if same else names.FAKE_SIZES_WRONG, sentence


def _made(message: str, operator: Operator, call: AgainCall | None) -> Named | None:
    """A result that C++ makes with other sizes."""
    signature = operator.signature
    results = [one.name for one in (*signature.outputs, *signature.saved)]
    results += [f"grad_{name}" for name in signature.gradients]
    found = re.search(
        rf"'({'|'.join(results)})' must be {SIZES}[^;]*?, got {SIZES}", message
    )
    if not found:
        return None
    name, right, wrong = found[1], whole_numbers(found[2]), whole_numbers(found[3])
    sentence = f"'{name}' is made with the sizes ({found[3]}), expected ({found[2]})"
    if sorted(right) == sorted(wrong):
        return names.AXES_EXCHANGED, f"{sentence}: the same sizes in another order"
    off = [(a, b) for a, b in zip(wrong, right) if a != b]
    if call is not None and not call.batches and len(right) == len(wrong):
        places = [_place(call, size) for size in off[0]]
        if all(places):
            got, due = places
            sentence += f". {off[0][0]} is {got}, and {off[0][1]} is {due}"
    return names.RESULT_SIZES_WRONG, sentence


def _place(call: AgainCall, size: int) -> str:
    """The only axis of an input with this size; "" if there is none or several."""
    found = [
        f"the size of axis {axis} of '{name}'"
        for name in call.inputs
        if name in call.tensors
        for axis, one in enumerate(call.tensors[name].shape)
        if one == size
    ]
    return found[0] if len(found) == 1 else ""


def whole_numbers(text: str) -> list[int]:
    """The whole numbers in a text."""
    return [int(number) for number in re.findall(r"-?\d+", text)]


RULES: Sequence[Rule] = (_fake, _compiled, _made)
