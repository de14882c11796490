"""The part of JSON Schema (draft 2020-12) that the recipe's schema uses, as a validator."""

from __future__ import annotations

import re
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
_ANNOTATIONS = {"$schema", "$defs", "$comment", "title", "description", "default"}
_ASSERTIONS = {
    *("$ref", "anyOf", "type", "enum", "const", "items"),
    *("pattern", "minLength", "minimum", "exclusiveMinimum", "maximum"),
    *("properties", "additionalProperties", "propertyNames"),
}


def is_valid(schema: Any, value: Any, root: dict[str, Any]) -> bool:
    """Whether `value` meets `schema`; fails on a keyword that it does not know."""
    if isinstance(schema, bool):
        return schema
    unknown = set(schema) - _ANNOTATIONS - _ASSERTIONS
    assert not unknown, unknown
    if "$ref" in schema and not is_valid(root["$defs"][schema["$ref"].rpartition("/")[2]], value, root):
        return False
    if "anyOf" in schema and not any(is_valid(option, value, root) for option in schema["anyOf"]):
        return False
    return _kind(schema, value) and _scalar(schema, value) and _inside(schema, value, root)


def _kind(schema: dict[str, Any], value: Any) -> bool:
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not kinds:
        return True
    if isinstance(value, bool):
        return "boolean" in kinds
    whole = isinstance(value, float) and value.is_integer() and "integer" in kinds
    return whole or any(isinstance(value, _TYPES[kind]) for kind in kinds)


def _scalar(schema: dict[str, Any], value: Any) -> bool:
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        return False
    if "const" in schema and not _same(value, schema["const"]):
        return False
    if isinstance(value, str):
        return bool(re.search(schema.get("pattern", ""), value)) and len(value) >= schema.get("minLength", 0)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return True
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    return bool(
        low <= value <= high and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
    )


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _inside(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> bool:
    if isinstance(value, list) and "items" in schema:
        return all(is_valid(schema["items"], item, root) for item in value)
    if not isinstance(value, dict):
        return True
    named = schema.get("properties", {})
    rest = schema.get("additionalProperties", True)
    names = schema.get("propertyNames", True)
    return all(
        is_valid(named.get(key, rest), inner, root) and is_valid(names, key, root)
        for key, inner in value.items()
    )
