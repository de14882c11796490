"""What can end an export, as findings: P003 disk, P011 not verified, P012 push, P013 source, P014 target."""

from __future__ import annotations

from pathlib import Path

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding, Quantity
from fsdpwiz.core.text import visible
from fsdpwiz.core.units import format_bytes

TEXT_LIMIT = 300


def not_verified(message: str, *, file: Path | None = None, rank: int | None = None) -> FsdpwizError:
    """P011: the exported files are not the trained model."""
    return FsdpwizError(
        Finding(
            code="P011",
            name="export-not-verified",
            severity="error",
            message=f"The exported model was not verified and is not kept: {message}",
            file=str(file) if file else None,
            rank=rank,
        )
    )


def no_space(folder: Path, *, needed_bytes: int, free_bytes: int) -> FsdpwizError:
    """P003: the file system cannot hold the export; nothing was written."""
    return FsdpwizError(
        Finding(
            code="P003",
            name="disk-space",
            severity="error",
            message=(
                f"The export needs {format_bytes(needed_bytes)} and `{visible(str(folder))}` has "
                f"{format_bytes(free_bytes)} free, 67 MB of it in reserve: nothing was written; free some or "
                "choose another folder"
            ),
            file=str(folder),
            evidence=(
                Quantity(name="needed_bytes", value=needed_bytes, unit="B", source="tensor shapes"),
                Quantity(name="free_bytes", value=free_bytes, unit="B", source="statvfs"),
            ),
        )
    )


def not_pushed(repository: str, reason: str, model: Path) -> Finding:
    """P012: the verified model is there, its upload is not."""
    return Finding(
        code="P012",
        name="push-failed",
        severity="error",
        message=(
            f"The push to `{visible(repository)}` failed: {visible(reason, limit=TEXT_LIMIT)}; the verified "
            f"model stays in `{visible(str(model))}`, push it with `hf upload`"
        ),
        file=str(model),
    )


def bad_source(source: Path, reason: str) -> FsdpwizError:
    """P013: the checkpoint cannot be read, or is not one that can be exported."""
    return FsdpwizError(
        Finding(
            code="P013",
            name="checkpoint-not-exportable",
            severity="error",
            message=f"`{visible(str(source))}` cannot be exported: {visible(reason, limit=TEXT_LIMIT)}",
            file=str(source),
        )
    )


def target_exists(target: Path) -> FsdpwizError:
    """P014: the folder to write is there already."""
    return FsdpwizError(
        Finding(
            code="P014",
            name="export-target-exists",
            severity="error",
            message=f"`{visible(str(target))}` exists: choose another folder with `--out`, or give `--force`",
            file=str(target),
        )
    )
