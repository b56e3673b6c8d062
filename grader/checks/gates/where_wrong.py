# SPDX-License-Identifier: MIT
"""Says which results of a gate are wrong, and in which of its calls.

It is for failures that no explanation fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from grader.checks.gates.call_again import TANGENT, AgainCall
from grader.checks.gates.explained import Failed, subjects

FEWEST = 2  # calls that are wrong, and calls that are right: else it may be chance


def sentence(calls: Sequence[AgainCall], failed: Sequence[Failed | None]) -> str:
    """What the failed calls have in common; "" if they have nothing in common.

    `failed` has a call's wrong results, or None if the call is right.
    """
    found = [one for one in failed if one]
    if not found:
        return ""
    wrong = {w.named[w.index]: w for one in found for w in one.wrong}
    every = list(dict.fromkeys(found[0].wrong[0].named))
    parts = []
    if len(wrong) < len(every):
        verb = "is" if len(wrong) == 1 else "are"
        parts.append(f"only {subjects(list(wrong.values()))} {verb} wrong")
    parts.append(in_common(calls, failed))
    saved = [one.name for one in calls[0].operator.signature.saved]
    of_gradients = all(name.startswith("the tangent of") for name in wrong)
    if calls[0].kind == "tangents" and of_gradients and saved:
        names = " and ".join(f"'{name}'" for name in saved)
        parts.append(
            f"`backward` also uses {names}, which forward saves: are the tangents of "
            f"{names} right?"
        )
    return "; ".join(filter(None, parts))


def in_common(calls: Sequence[AgainCall], failed: Sequence[Failed | None]) -> str:
    """What all failed calls have and no other call has; "" if there is no such thing"""
    flags = [one is not None for one in failed]
    if min(sum(flags), len(flags) - sum(flags)) < FEWEST:
        return ""
    for words, holds in _conditions(calls):
        if [holds(call) for call in calls] == flags:
            return f"the wrong calls are exactly the calls {words}"
    return ""


def _conditions(
    calls: Sequence[AgainCall],
) -> Iterator[tuple[str, Callable[[AgainCall], bool]]]:
    """What a call may have, in words."""
    for name in calls[0].inputs:

        def batched(call: AgainCall, name: str = name) -> bool:
            return any(name in axes for axes in call.batches)

        def moving(call: AgainCall, name: str = name) -> bool:
            return f"{TANGENT}{name}" in call.tensors

        yield f"where '{name}' has an axis of the examples", batched
        yield f"where '{name}' has a tangent", moving

        def alone(call: AgainCall, name: str = name) -> bool:
            return bool(call.batches) and not any(name in a for a in call.batches)

        yield f"where '{name}' has no axis of the examples", alone

    def elsewhere(call: AgainCall) -> bool:
        return any(axis for axes in call.batches for axis in axes.values())

    def nested(call: AgainCall) -> bool:
        return len(call.batches) > 1

    yield "where an axis of the examples is not axis 0", elsewhere
    yield "where vmap is called inside of vmap", nested
