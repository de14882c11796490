"""What each rank will really get, stage by stage, worked out without torch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fsdpwiz.core.text import visible
from fsdpwiz.plan.types import Plan
from fsdpwiz.render import provenance
from fsdpwiz.render.accelerate_environment import accelerate_environment
from fsdpwiz.render.accelerate_yaml import accelerate_config
from fsdpwiz.render.environment import rank_environment
from fsdpwiz.render.fsdp_settings import SETTINGS
from fsdpwiz.render.plugin import parallelism, plugin
from fsdpwiz.render.trainer_settings import trainer_settings
from fsdpwiz.render.training_arguments import training_arguments

_VALUE_CHARACTERS = 60
_PLUGIN_VARIABLES = {
    "mixed_precision_policy": "ACCELERATE_MIXED_PRECISION",
    **{setting.plugin_field: setting.variable for setting in SETTINGS},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value of a stage: `via` hands it on to there, `plan_key` is the decision behind it."""

    name: str
    value: Any
    via: str
    plan_key: str | None
    origin: dict[str, Any] | None

    def to_json(self) -> dict[str, Any]:
        """The setting as a mapping of plain values."""
        return {
            "name": self.name,
            "value": self.value,
            "via": self.via,
            "plan_key": self.plan_key,
            "origin": self.origin,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """The stages in the order in which a setting passes them; plugin and mesh are empty without FSDP."""

    yaml: tuple[Setting, ...]
    environment: tuple[Setting, ...]
    plugin: tuple[Setting, ...]
    parallelism: tuple[Setting, ...]
    training_arguments: tuple[Setting, ...]
    trainer: tuple[Setting, ...]

    def to_json(self) -> dict[str, Any]:
        """Stage name to its settings."""
        return {name: [setting.to_json() for setting in settings] for name, _, settings in self._stages()}

    def text(self) -> str:
        """The stages as aligned columns: name, value, what hands it on, whose decision it is."""
        tables = (_table(title, settings) for _, title, settings in self._stages() if settings)
        return "\n\n".join(tables) + "\n"

    def _stages(self) -> Iterator[tuple[str, str, tuple[Setting, ...]]]:
        yield "yaml", "accelerate.yaml", self.yaml
        yield "environment", "environment of a rank", self.environment
        yield "plugin", "Accelerate's FullyShardedDataParallelPlugin", self.plugin
        yield "parallelism", "Accelerate's ParallelismConfig", self.parallelism
        yield "training_arguments", "training arguments", self.training_arguments
        yield "trainer", "what the trainer sets itself", self.trainer


def effective(plan: Plan) -> Effective:
    """The settings of every rank of `plan`."""
    return Effective(
        yaml=tuple(_yaml(plan)),
        environment=tuple(_environment(plan)),
        plugin=tuple(_plugin(plan)),
        parallelism=tuple(_parallelism(plan)),
        training_arguments=tuple(_arguments(plan)),
        trainer=tuple(_trainer(plan)),
    )


def _yaml(plan: Plan) -> Iterator[Setting]:
    for name, value in accelerate_config(plan).items():
        flat = (
            {f"{name}.{key}": held for key, held in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
        for key, held in flat.items():
            yield _setting(plan, key, held, "plan.json", provenance.key_of_yaml(key))


def _environment(plan: Plan) -> Iterator[Setting]:
    ours = rank_environment(plan)
    for name, value in {**accelerate_environment(plan), **ours}.items():
        via = "fsdpwiz" if name in ours else "accelerate.yaml"
        yield _setting(plan, name, value, via, provenance.key_of_variable(plan, name))


def _plugin(plan: Plan) -> Iterator[Setting]:
    for name, value in (plugin(plan) or {}).items():
        key = provenance.key_of_plugin_field(plan, name)
        yield _setting(plan, name, value, _PLUGIN_VARIABLES.get(name, "accelerate"), key)


def _parallelism(plan: Plan) -> Iterator[Setting]:
    for name, value in (parallelism(plan) or {}).items():
        yield _setting(plan, name, value, f"PARALLELISM_CONFIG_{name.upper()}", f"parallelism.{name}")


def _arguments(plan: Plan) -> Iterator[Setting]:
    for name, value in training_arguments(plan).items():
        yield _setting(plan, name, value, "plan.json", provenance.key_of_argument(plan, name))


def _trainer(plan: Plan) -> Iterator[Setting]:
    for name, (value, key) in trainer_settings(plan).items():
        yield _setting(plan, name, value, "plan.json", key)


def _setting(plan: Plan, name: str, value: Any, via: str, plan_key: str | None) -> Setting:
    origin = provenance.origin_of(plan, plan_key)
    return Setting(name=name, value=value, via=via, plan_key=plan_key, origin=origin)


def _table(title: str, settings: tuple[Setting, ...]) -> str:
    rows = [
        (setting.name, _shown(setting.value), setting.via, provenance.origin_text(setting.origin))
        for setting in settings
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ("  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in rows)
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _shown(value: Any) -> str:
    return visible(json.dumps(value, ensure_ascii=False, default=str), limit=_VALUE_CHARACTERS)
