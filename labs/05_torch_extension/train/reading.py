# SPDX-License-Identifier: MIT
"""What a profile says, in words. Every number and every claim is looked up in it: a
sentence whose condition was not measured is not written.
"""

from __future__ import annotations

from collections.abc import Sequence

from train.profiler import Profile

CONV, BACK = "convolution forward", "convolution backward"
NAMED = 4  # operators that a sentence lists


def reading(profiles: Sequence[Profile], plain: dict[str, float]) -> list[str]:
    """Paragraphs about the profiles; `plain` is a step's microseconds without one."""
    by_name = {profile.name: profile for profile in profiles}
    said = [_steps(profiles), _shares(profiles)]
    pytorch = by_name.get("pytorch")
    if pytorch:
        for name, about in (("function", _function), ("lab01", _lab01)):
            if name in by_name:
                said.append(about(by_name[name], pytorch))
    if "lab05" in by_name:
        said.append(_lab05(by_name["lab05"], pytorch))
    said.append(_cost(profiles, plain))
    return [paragraph for paragraph in said if paragraph]


def calls(profile: Profile, role: str, operator: str) -> int:
    """How often a step calls an operator for this."""
    row = profile.operators[role].get(operator)
    return round(row.calls) if row else 0


def more_often(
    profile: Profile, than: Profile, role: str
) -> list[tuple[str, int, int]]:
    """Operators that one calls more often than the other: name, calls, the other's."""
    found = [
        (name, calls(profile, role, name), calls(than, role, name))
        for name in profile.operators[role]
    ]
    return sorted((f for f in found if f[1] > f[2]), key=lambda f: (f[2] - f[1], f[0]))


def listed(found: Sequence[tuple[str, int, int]]) -> str:
    """`aten::sum` 2 times instead of 0, ..."""
    words = [f"`{name}` {here} instead of {there}" for name, here, there in found]
    rest = f" and {len(words) - NAMED} more names" if len(words) > NAMED else ""
    return ", ".join(words[:NAMED]) + rest


def _ms(microseconds: float) -> str:
    return f"{microseconds / 1000:.2f} ms"


def _steps(profiles: Sequence[Profile]) -> str:
    """How long a step is, and how many calls it has."""
    first, *others = sorted(profiles, key=lambda profile: profile.step)
    said = (
        f"The shortest step is that of `{first.name}`: {_ms(first.step)}, in which "
        f"{first.calls:.0f} operators are called."
    )
    for other in others:
        said += (
            f" A step of `{other.name}` takes {other.step / first.step:.2f} times as "
            f"long and calls {other.calls:.0f}."
        )
    return said


def _shares(profiles: Sequence[Profile]) -> str:
    """Where the largest part of each step goes."""
    said = []
    for profile in profiles:
        role = max(profile.roles, key=lambda name: profile.roles[name].total)
        share = profile.share(profile.roles[role].total)
        said.append(f"{role} with {share:.0f} % of a step of `{profile.name}`")
    return f"The largest of the four kinds of work is {', '.join(said)}."


def _function(function: Profile, pytorch: Profile) -> str:
    """Why the classic student version calls more."""
    there, here = pytorch.roles[BACK], function.roles[BACK]
    if here.calls <= there.calls:
        return (
            f"For the backward of its convolutions `function` calls {here.calls:.0f} "
            f"operators, `pytorch` {there.calls:.0f}: here the Function costs no calls."
        )
    more = more_often(function, pytorch, BACK)
    said = (
        f"For the backward of its convolutions a step of `function` calls "
        f"{here.calls:.0f} operators, where `pytorch` calls {there.calls:.0f}: "
        f"{listed(more)}."
    )
    name = "aten::convolution_backward"
    twice, once = calls(function, BACK, name), calls(pytorch, BACK, name)
    if twice > once:
        time = function.operators[BACK][name].total, pytorch.operators[BACK][name].total
        said += (
            " autograd's own formula asks for all gradients of a layer in one call of "
            f"`{name}`, by an output_mask; conv2d_input and conv2d_weight are a call "
            "each, so a layer that needs both gradients is gone through twice. That is "
            f"{twice} calls instead of {once}, and {_ms(time[0])} instead of "
            f"{_ms(time[1])}."
        )
    if calls(function, BACK, "aten::sum") > calls(pytorch, BACK, "aten::sum"):
        said += (
            " The bias's gradient, another entry of that mask, is an `aten::sum` of "
            "its own here."
        )
    dummies = [n for n in ("aten::new_empty", "aten::expand") if n in dict_of(more)]
    if dummies:
        said += (
            f" And {' and '.join(f'`{n}`' for n in dummies)} make the stand-in for the "
            "tensor whose gradient is wanted: conv2d_input and conv2d_weight know only "
            "its size."
        )
    return said


def dict_of(found: Sequence[tuple[str, int, int]]) -> dict[str, int]:
    """By name."""
    return {name: here for name, here, _ in found}


def _lab01(lab01: Profile, pytorch: Profile) -> str:
    """A convolution put together of smaller operators."""
    said = "`lab01` puts a convolution together of smaller operators: "
    said += " and ".join(
        f"{lab01.roles[role].calls:.0f} calls {role.split()[1]} "
        f"({pytorch.roles[role].calls:.0f} in `pytorch`)"
        for role in (CONV, BACK)
    )
    often = max(lab01.operators[CONV].items(), key=lambda item: item[1].calls)
    slow = max(lab01.operators[CONV].items(), key=lambda item: item[1].own)
    return said + (
        f". Forward it calls `{often[0]}` most often, {often[1].calls:.0f} times; most "
        f"time of its own takes `{slow[0]}`, {_ms(slow[1].own)}."
    )


def _lab05(lab05: Profile, pytorch: Profile | None) -> str:
    """One call for each layer and direction."""
    said = []
    for role in lab05.roles:
        rows = lab05.operators[role]
        ours = [name for name in rows if name.startswith("convlab::")]
        if not ours:
            continue
        times = ", ".join(f"`{name}` {rows[name].calls:.0f} times" for name in ours)
        rest = lab05.roles[role].calls - sum(rows[name].calls for name in ours)
        beside = f"{rest:.0f} others" if rest else "nothing else"
        there = (
            f" (`pytorch`: {pytorch.roles[role].calls:.0f} calls)" if pytorch else ""
        )
        said.append(f"{role}: {times} and {beside}{there}")
    return f"`lab05` calls, {'; '.join(said)}." if said else ""


def _cost(profiles: Sequence[Profile], plain: dict[str, float]) -> str:
    """What the profiler itself adds."""
    said = [
        f"`{profile.name}` {_ms(plain[profile.name])}"
        for profile in profiles
        if profile.name in plain
    ]
    if not said:
        return ""
    return (
        "The profiler writes every call down, so many small calls look worse than they "
        "are. In the fastest epoch of the training, without it, a step took "
        f"{', '.join(said)}."
    )
