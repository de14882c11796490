"""What can be wrong with a checkpoint to start from: I036 it cannot be taken, I037 its optimizer cannot."""

from __future__ import annotations

from pathlib import Path

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding
from fsdpwiz.core.text import visible

_REASON_CHARACTERS = 300


def unfit(checkpoint: Path, reason: str, key: str | None = None) -> FsdpwizError:
    """I036: this run cannot start from the checkpoint; `key` is the recipe's that names it."""
    return FsdpwizError(
        Finding(
            code="I036",
            name="start-checkpoint-unfit",
            severity="error",
            key=key,
            message=(
                f"The run cannot start from `{visible(str(checkpoint))}`: "
                f"{visible(reason, limit=_REASON_CHARACTERS)}"
            ),
            file=str(checkpoint),
        )
    )


def starts_anew(checkpoint: Path, reason: str) -> Finding:
    """I037: the weights were taken, the optimizer's state could not be."""
    return Finding(
        code="I037",
        name="optimizer-starts-anew",
        severity="warning",
        message=(
            f"The weights of `{visible(checkpoint.name)}` were taken and the optimizer starts anew: "
            f"{visible(reason, limit=_REASON_CHARACTERS)}; its moments are zero, so "
            "let the learning rate warm up again (`warmup_steps`)"
        ),
        file=str(checkpoint),
    )
