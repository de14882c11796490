"""What a check, a preflight or a diagnosis has to say: one shape for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]
Safety = Literal["safe", "unsafe", "manual"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number behind a claim, with its unit and where it was read."""

    name: str
    value: Any
    unit: str | None = None
    source: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "value": self.value, "unit": self.unit, "source": self.source}


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A line of a file behind a claim."""

    source: str
    line: int | None
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"source": self.source, "line": self.line, "text": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A remedy as data: edits of the recipe (dotted key to value; None unsets) and commands."""

    title: str
    edits: Mapping[str, Any] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    safety: Safety = "manual"
    effect: Mapping[str, int] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "edits": dict(self.edits),
            "commands": list(self.commands),
            "safety": self.safety,
            "effect": dict(self.effect) if self.effect is not None else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong or worth knowing, where it is, and what to do about it.

    `on_command_line`: it is about a value given there, so it has neither file nor line.
    """

    code: str
    name: str
    severity: Severity
    message: str
    confidence: float = 1.0
    file: str | None = None
    line: int | None = None
    key: str | None = None
    host: str | None = None
    rank: int | None = None
    gpu: int | None = None
    evidence: tuple[Quantity | Excerpt, ...] = ()
    fixes: tuple[Fix, ...] = ()
    on_command_line: bool = False

    def to_json(self) -> dict[str, Any]:
        """The flat mapping that every JSON document of the command line uses."""
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity,
            "message": self.message,
            "confidence": self.confidence,
            "file": self.file,
            "line": self.line,
            "key": self.key,
            "host": self.host,
            "rank": self.rank,
            "gpu": self.gpu,
            "evidence": [item.to_json() for item in self.evidence],
            "fixes": [fix.to_json() for fix in self.fixes],
        }
