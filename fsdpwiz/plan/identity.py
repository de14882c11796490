"""What is trained on what, and how the run is started: names, paths, environment."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from fsdpwiz.facts.types import Data, Facts
from fsdpwiz.plan.choices import Choices
from fsdpwiz.plan.cluster import is_elsewhere
from fsdpwiz.plan.loading import Loading
from fsdpwiz.plan.precision import PrecisionChoice
from fsdpwiz.plan.types import DataPlan, ModelPlan

DEFAULT_TIMEOUT_S = 1800
THREADS = "OMP_NUM_THREADS"


def decide_model(
    choices: Choices, facts: Facts, loading: Loading, precision: PrecisionChoice
) -> ModelPlan | None:
    """The base model, None where the recipe names none and has no script of its own to load it."""
    if not choices.is_given("model.name_or_path") and not choices.is_given("script"):
        return None
    trust = choices.choose("model.trust_remote_code", False, by=choices.library("transformers"))
    return ModelPlan(
        name_or_path=_found_model(choices, facts),
        revision=choices.choose("model.revision", None, by=choices.library("transformers")),
        loading=loading,
        dtype=precision.dtype,
        trainable_dtype=precision.trainable_dtype,
        attn_implementation=choices.choose(
            "model.attn_implementation", None, by=choices.library("transformers")
        ),
        trust_remote_code=bool(trust),
    )


def decide_data(choices: Choices, facts: Facts) -> DataPlan | None:
    """The data, None where the recipe names none and has no script of its own to read it."""
    if not choices.is_given("data.name_or_path") and not choices.is_given("script"):
        return None
    known = facts.data.format if facts.data is not None else None
    choices.record("data.format", known, "measured", "the data's columns")
    return DataPlan(
        name_or_path=_found_data(choices, "data.name_or_path", facts.data),
        split=choices.choose("data.split", "train"),
        eval_name_or_path=_found_data(choices, "data.eval_name_or_path", facts.eval_data) or None,
        eval_split=choices.choose("data.eval_split", None),
        format=known,
    )


def _found_model(choices: Choices, facts: Facts) -> str:
    """The hub id, or the folder that was found: ranks need not run in the recipe's folder."""
    given = str(choices.choose("model.name_or_path", ""))
    model = facts.model
    return str(model.path) if model is not None and model.where == "folder" and model.path else given


def _found_data(choices: Choices, key: str, data: Data | None) -> str:
    given = str(choices.choose(key, None) or "")
    if not given or data is None or data.where == "hub" or not data.files:
        return given
    if data.where == "file":
        return str(data.files[0])
    return os.path.commonpath([file.parent for file in data.files])


def decide_launch(choices: Choices, facts: Facts, device: str, ranks_per_node: int) -> dict[str, Any]:
    """The top-level keys that say how the run is started and where it writes."""
    name = choices.choose("name", _name_of_file(choices.recipe.path), by="the recipe's file name")
    slurm = choices.given("slurm")
    if slurm is not None:
        choices.choose("slurm", None)
    return {
        "name": name,
        "process_group_timeout_s": choices.choose("process_group_timeout_s", DEFAULT_TIMEOUT_S),
        "launcher": choices.choose("launcher", "local"),
        "slurm": slurm,
        "output_dir": str(choices.choose("output_dir", "runs")),
        "script": choices.choose("script", None),
        "script_args": tuple(str(word) for word in choices.choose("script_args", ()) or ()),
        "env": _environment(choices, facts, device, ranks_per_node),
    }


def _name_of_file(path: Path | None) -> str:
    """The file's name without suffix, fit to name a folder; `last` means the latest run already."""
    stem = path.stem if path is not None else ""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._") or "run"
    return "last-run" if name == "last" else name


def _environment(choices: Choices, facts: Facts, device: str, ranks_per_node: int) -> dict[str, str]:
    """The recipe's variables, and the threads of each rank, which accelerate would set to 1."""
    given = dict(choices.given("env") or {})
    environment = {str(name): str(choices.choose(f"env.{name}", None)) for name in given}
    key = f"env.{THREADS}"
    inherited = (facts.environment or {}).get(THREADS)
    if THREADS in environment:
        return environment
    if inherited is not None:
        environment[THREADS] = choices.record(key, inherited, "measured", "the environment")
    elif facts.host is not None and facts.host.cores and not is_elsewhere(facts, device):
        threads = max(1, facts.host.cores // ranks_per_node)
        environment[THREADS] = str(choices.derive(key, threads, "cores and processes per node"))
    return environment
