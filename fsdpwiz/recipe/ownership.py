"""One setting, one place: upstream keys whose meaning another key of the recipe has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fsdpwiz.methods.method import methods
from fsdpwiz.recipe.upstream import METHOD

_OWNERS = Path(__file__).parent / "upstream" / "data" / "owners.json"
_ACCUMULATION = "gradient_accumulation_steps"
_CHECKPOINTING = (
    "gradient_checkpointing",
    "gradient_checkpointing_kwargs",
    "activation_checkpointing_kwargs",
)


def owned(section: str) -> Mapping[str, Any]:
    """The keys of `section` that another key owns: name to {"owner", maybe "carry"}."""
    return _owners().get(METHOD if section in methods() else section, {})


def owner_detail(section: str, name: str, value: Any) -> dict[str, Any]:
    """The particulars of a problem S004: the owner, and as `edits` the same wish said there, if it can be."""
    entry = owned(section)[name]
    detail: dict[str, Any] = {"owner": entry["owner"]}
    carry = entry.get("carry")
    if carry == "value" and value is not None:
        detail["edits"] = {f"{section}.{name}": None, entry["owner"]: value}
    elif isinstance(carry, dict) and isinstance(value, bool) and (said := carry.get(str(value).lower())):
        detail["edits"] = {f"{section}.{name}": None, entry["owner"]: said}
    return detail


def conditionally_owned(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys of the whole recipe that only another given key takes over, each with its owner."""
    for method in methods():
        section = given.get(method)
        for name in section if isinstance(section, Mapping) else ():
            if name == _ACCUMULATION and given.get("global_batch_size") is not None:
                yield f"{method}.{name}", "global_batch_size"
            elif name in _CHECKPOINTING and not ("fsdp" in given and given["fsdp"] is None):
                yield f"{method}.{name}", "fsdp.activation_checkpointing"
    cluster = given.get("cluster")
    if isinstance(cluster, Mapping):
        wrong, right = ("processes_per_node", "gpus_per_node")
        if cluster.get("device") == "cpu":
            wrong, right = right, wrong
        if cluster.get(wrong) is not None:
            yield f"cluster.{wrong}", f"cluster.{right}"


@cache
def _owners() -> dict[str, dict[str, Any]]:
    document: dict[str, dict[str, Any]] = json.loads(_OWNERS.read_text(encoding="utf-8"))
    return document
