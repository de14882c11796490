"""The `peft` section: given keys, and the defaults that decide the adapter's shape."""

from __future__ import annotations

from typing import Any

from fsdpwiz.plan.choices import OURS, Choices

PINNED = (
    "r",
    "lora_alpha",
    "lora_dropout",
    "bias",
    "target_modules",
    "modules_to_save",
    "use_dora",
    "use_rslora",
)


def decide_peft(choices: Choices) -> dict[str, Any] | None:
    """The pinned `peft` section, None where the whole model is trained."""
    given = dict(choices.given("peft") or {})
    if not given:
        choices.record("peft", None, "default", OURS)
        return None
    pinned = {name: choices.choose(f"peft.{name}", None, null_is_value=True) for name in given}
    for name in PINNED:
        default = choices.upstream_default("peft", name)
        if name not in pinned and default is not None:
            pinned[name] = choices.record(f"peft.{name}", default[0], "default", default[1])
    if pinned.get("task_type") is None:
        pinned["task_type"] = choices.record("peft.task_type", "CAUSAL_LM", "default", OURS)
    return pinned
