# SPDX-License-Identifier: MIT
"""Whether a value has the shape that a JSON schema asks for.

Only the words that results.schema.json uses to say which parts there are, and of which
type: importing jsonschema takes longer than grading a small file.
"""

from __future__ import annotations

from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def fits(value: Any, schema: dict[str, Any], whole: dict[str, Any]) -> bool:
    """Whether a value is as `schema` says, a part of the schema `whole`."""
    if "$ref" in schema:
        return fits(value, whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and not _is(value, schema["type"]):
        return False
    if isinstance(value, list):
        items = schema.get("items", {})
        return all(fits(item, items, whole) for item in value)
    if isinstance(value, dict):
        parts, rest = schema.get("properties", {}), schema.get("additionalProperties")
        return all(name in value for name in schema.get("required", ())) and all(
            fits(item, parts.get(name, rest or {}), whole)
            for name, item in value.items()
        )
    return True


def _is(value: Any, names: str | list[str]) -> bool:
    """Whether a value is of one of these types; a truth value is no number."""
    wanted = [names] if isinstance(names, str) else names
    if isinstance(value, bool):
        return "boolean" in wanted
    return any(isinstance(value, TYPES[name]) for name in wanted)
