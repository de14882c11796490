"""The units that FSDP wraps: the classes of the model's blocks."""

from __future__ import annotations

from fsdpwiz.facts.types import Facts
from fsdpwiz.plan.choices import SOURCES, Choices

KEY = "fsdp.transformer_layer_cls_to_wrap"


def decide_units(choices: Choices, facts: Facts, auto_wrap_policy: str) -> tuple[str, ...]:
    """Wrapped class names; none under another policy than TRANSFORMER_BASED_WRAP.

    Where no class is known it is left to the model's own `_no_split_modules`.
    """
    if auto_wrap_policy != "TRANSFORMER_BASED_WRAP":
        choices.derive("units", (), f"fsdp.auto_wrap_policy {auto_wrap_policy}")
        return ()
    units = _given_units(choices)
    if units:
        choices.choose(KEY, None)
        choices.carry("units", units, KEY)
        return units
    known = facts.model.layer_classes if facts.model is not None else None
    if facts.model is not None and known:
        choices.record(KEY, known, SOURCES[facts.model.source], "the model's config.json")
        choices.carry("units", known, KEY)
        return tuple(known)
    choices.record(KEY, None, "default", f"{choices.library('accelerate')}: the model's _no_split_modules")
    choices.carry("units", (), KEY)
    return ()


def _given_units(choices: Choices) -> tuple[str, ...]:
    names = str(choices.given(KEY) or "").split(",")
    return tuple(name.strip() for name in names if name.strip())
