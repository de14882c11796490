"""The shipped catalogue of model families: one file each in catalog/models, found by scan.

A family file has `family`, `model_type` (config.json's), `architectures` (class name to the block
classes that FSDP wraps, which are the class's `_no_split_modules`) and `models` (hub id to `config`,
the published config.json, and `chat_template`, whether its tokenizer has one).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CataloguedModel:
    """One hub model of the catalogue."""

    config: Mapping[str, Any]
    chat_template: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One family; the first of `architectures` is what `AutoModelForCausalLM` makes of `model_type`."""

    name: str
    model_type: str
    architectures: Mapping[str, tuple[str, ...]]
    models: Mapping[str, CataloguedModel]


@cache
def families() -> tuple[Family, ...]:
    """All shipped families, by file name."""
    folder = files("fsdpwiz.facts") / "catalog" / "models"
    entries = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".json")), key=lambda entry: entry.name
    )
    return tuple(_family(json.loads(entry.read_text(encoding="utf-8"))) for entry in entries)


def _family(document: dict[str, Any]) -> Family:
    return Family(
        name=document["family"],
        model_type=document["model_type"],
        architectures={name: tuple(classes) for name, classes in document["architectures"].items()},
        models={
            name: CataloguedModel(config=entry["config"], chat_template=entry["chat_template"])
            for name, entry in document["models"].items()
        },
    )


def catalogued_model(hub_id: str) -> CataloguedModel | None:
    """The catalogue's entry of a hub id; like the hub, without regard to case."""
    wanted = hub_id.lower()
    return next(
        (entry for family in families() for name, entry in family.models.items() if name.lower() == wanted),
        None,
    )


def architecture_of(config: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...] | None]:
    """The causal language model class of a config.json and its layer classes, None where not known.

    The model type decides, as for `AutoModelForCausalLM`; `architectures` only names the class of
    a family the catalogue lacks.
    """
    by_type = next((family for family in families() if family.model_type == config.get("model_type")), None)
    if by_type is not None:
        return next(iter(by_type.architectures.items()))
    named = config.get("architectures")
    if not isinstance(named, list) or not named or not isinstance(named[0], str):
        return None, None
    name = named[0]
    return name, next(
        (known.architectures[name] for known in families() if name in known.architectures), None
    )
