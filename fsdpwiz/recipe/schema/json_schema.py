"""The JSON Schema of a whole recipe, made from the models that check it."""

from __future__ import annotations

from typing import Any

from fsdpwiz.recipe.schema.annotation import is_text_list, section_of, text_map
from fsdpwiz.recipe.schema.part import AsText, Part
from fsdpwiz.recipe.schema.settings import Settings
from fsdpwiz.recipe.schema.upstream_section import UpstreamSection
from fsdpwiz.recipe.upstream import versions

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TEXT = ["string", "number", "boolean"]


def recipe_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) with descriptions and upstream's defaults; no unknown key at any depth."""
    schema = Settings.model_json_schema()
    for name, definition in schema["$defs"].items():
        definition["title"] = name.removesuffix("Section").lower()
    _finish(schema, Settings, schema["$defs"])
    libraries = ", ".join(f"{package} {number}" for package, number in sorted(versions().items()))
    head = {"$schema": DIALECT, "title": "fsdpwiz recipe", "$comment": f"Upstream keys of {libraries}"}
    return head | {key: value for key, value in schema.items() if key not in ("title", "description")}


def _finish(schema: dict[str, Any], model: type[Part], definitions: dict[str, Any]) -> None:
    if issubclass(model, UpstreamSection):
        schema.pop("description", None)
    for name, field in model.model_fields.items():
        entry = schema["properties"][name]
        entry.pop("title", None)
        entry["description"] = field.description
        inner, mark = section_of(field), text_map(field)
        if not issubclass(model, UpstreamSection):
            entry.pop("default", None)
            _allow_null(entry)
        if is_text_list(field):
            entry["anyOf"][0]["items"] = {"type": _TEXT}
        if mark is not None:
            _free_text(entry, mark)
        if inner is not None:
            _finish(definitions[inner.__name__], inner, definitions)


def _allow_null(entry: dict[str, Any]) -> None:
    """Each key of ours may be null, which reads as absent."""
    kinds = entry.get("anyOf")
    if kinds is not None:
        if {"type": "null"} not in kinds:
            kinds.append({"type": "null"})
        return
    described = {"description": entry.pop("description")} if "description" in entry else {}
    bare = dict(entry)
    entry.clear()
    entry |= described | {"anyOf": [bare, {"type": "null"}]}


def _free_text(entry: dict[str, Any], mark: AsText) -> None:
    """Values that are taken as the text they are written as may be written as numbers too."""
    kinds = [*(_TEXT if mark.any_scalar else ["string"]), *(["null"] if mark.unset_by_null else [])]
    free: dict[str, Any] = {"type": "object", "additionalProperties": {"type": kinds}}
    if mark.key_pattern is not None:
        free["propertyNames"] = {"pattern": f"^{mark.key_pattern}$"}
    entry["anyOf"] = [free, {"type": "null"}]
