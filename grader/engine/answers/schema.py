# SPDX-License-Identifier: MIT
"""Finds where a value differs from the shape in a JSON schema.

It knows only the words that results.schema.json uses for parts and types. It exists
because importing jsonschema takes longer than grading a small file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grader.course.foreign import short

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
SHOWN = 40  # characters of a value that is told


def misfit(value: Any, schema: dict[str, Any]) -> str:
    """The first part that is not as the schema says, "" if all is; for example
    "tasks[3].rungs[0].checks[7].name is 'x', expected one of build, forward".
    """
    return next(_misfits(value, schema, schema["$defs"], ""), "")


def _misfits(
    value: Any, schema: dict[str, Any], parts: dict[str, Any], where: str
) -> Iterator[str]:
    if "$ref" in schema:
        schema = parts[schema["$ref"].rpartition("/")[2]]
    if wanted := _wanted(value, schema):
        yield f"{where or 'the file'} is {_shown(value)}, expected {wanted}"
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _misfits(item, schema.get("items", {}), parts, f"{where}[{i}]")
    elif isinstance(value, dict):
        properties, rest = (
            schema.get("properties", {}),
            schema.get("additionalProperties"),
        )
        place = f"{where}." if where else ""
        for name, item in value.items():
            part = properties.get(name, rest or {})
            yield from _misfits(item, part, parts, f"{place}{name}")
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{place}{name} is missing"


def _wanted(value: Any, schema: dict[str, Any]) -> str:
    """What the schema asks for in place of this value itself; "" if it has it."""
    if "const" in schema and value != schema["const"]:
        return repr(schema["const"])
    if "enum" in schema and value not in schema["enum"]:
        return f"one of {', '.join(schema['enum'])}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(kinds) if kinds and not _is(value, kinds) else ""


def _is(value: Any, kinds: list[str]) -> bool:
    """Whether a value is of one of these types; a truth value is no number."""
    if isinstance(value, bool):
        return "boolean" in kinds
    return any(isinstance(value, TYPES[kind]) for kind in kinds)


def _shown(value: Any) -> str:
    return short(repr(value), SHOWN)
