"""The base model: from a folder, from the hub's cache, else from the shipped catalogue."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from fsdpwiz.facts.local_path import find_local, is_hub_id
from fsdpwiz.facts.model.catalogue import architecture_of, catalogued_model
from fsdpwiz.facts.model.config import read_config
from fsdpwiz.facts.model.embedding import embedding_fault
from fsdpwiz.facts.model.hub_cache import cache_folder, find_snapshot
from fsdpwiz.facts.model.known_types import is_known_type
from fsdpwiz.facts.model.tokenizer import has_chat_template, has_tokenizer, tokenizer_problem
from fsdpwiz.facts.model.weights import read_weights
from fsdpwiz.facts.one_line import one_line
from fsdpwiz.facts.types import Model
from fsdpwiz.facts.unknown import UnknownFact


def read_model(
    name_or_path: str, *, revision: str | None, base_folders: Sequence[Path], environ: Mapping[str, str]
) -> Model:
    """What is known of a model named as in a recipe; nothing is fetched and no weight is read.

    Raises UnknownFact for a hub id of which neither the cache nor the catalogue knows anything.
    """
    folder = find_local(name_or_path, base_folders)
    if folder is not None and (folder.is_dir() or not is_hub_id(name_or_path)):
        return _from_folder(folder)
    snapshot = find_snapshot(name_or_path, revision, environ) if is_hub_id(name_or_path) else None
    if snapshot is not None and (snapshot / "config.json").is_file():
        return _from_cache(snapshot)
    return _from_catalogue(name_or_path, environ)


def _from_folder(folder: Path) -> Model:
    missing = _why_no_folder(folder)
    if missing is not None:
        return Model(
            source="measured",
            where="folder",
            path=folder,
            architecture=None,
            layer_classes=None,
            config={},
            has_weights=False,
            problem=missing,
        )
    config, config_problem = read_config(folder / "config.json")
    weights = read_weights(folder)
    architecture, layer_classes = architecture_of(config)
    return Model(
        source="measured",
        where="folder",
        path=folder,
        architecture=architecture,
        layer_classes=layer_classes,
        config=config,
        has_weights=weights.present,
        weight_bytes=weights.size_bytes,
        tokenizer=has_tokenizer(folder),
        tokenizer_problem=tokenizer_problem(folder),
        chat_template=has_chat_template(folder),
        problem=config_problem or weights.problem or embedding_fault(config, weights.shapes),
        known_type=is_known_type(config.get("model_type")),
    )


def _why_no_folder(folder: Path) -> str | None:
    if not folder.exists():
        return "no such folder"
    if not folder.is_dir():
        return "not a folder"
    return None if os.access(folder, os.R_OK | os.X_OK) else "not readable for this user"


def _from_cache(snapshot: Path) -> Model:
    """Files that are not in the cache are not missing, only not fetched yet."""
    config, problem = read_config(snapshot / "config.json")
    weights = read_weights(snapshot)
    whole = weights.present and weights.problem is None
    architecture, layer_classes = architecture_of(config)
    return Model(
        source="measured",
        where="cache",
        path=snapshot,
        architecture=architecture,
        layer_classes=layer_classes,
        config=config,
        has_weights=True if whole else None,
        weight_bytes=weights.size_bytes if whole else None,
        tokenizer=has_tokenizer(snapshot) or None,
        tokenizer_problem=tokenizer_problem(snapshot),
        chat_template=has_chat_template(snapshot) or None,
        problem=problem or (embedding_fault(config, weights.shapes) if whole else None),
        known_type=is_known_type(config.get("model_type")),
    )


def _from_catalogue(hub_id: str, environ: Mapping[str, str]) -> Model:
    entry = catalogued_model(hub_id)
    if entry is None:
        shown, cache = one_line(hub_id, limit=120), cache_folder(environ)
        raise UnknownFact(f"`{shown}` is in neither the hub's cache ({cache}) nor the catalogue")
    architecture, layer_classes = architecture_of(entry.config)
    return Model(
        source="catalogued",
        where="catalogue",
        path=None,
        architecture=architecture,
        layer_classes=layer_classes,
        config=entry.config,
        has_weights=None,
        tokenizer=True,
        chat_template=entry.chat_template,
    )
