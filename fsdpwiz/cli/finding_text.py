"""A finding as lines of text: severity, code, message, place, source line, remedies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fsdpwiz.core.findings import Excerpt, Finding, Fix, Quantity
from fsdpwiz.core.secrets import HIDDEN, names_secret, redact
from fsdpwiz.core.text import visible

_COLOURS = {"error": "31", "warning": "33", "info": "36"}
_SOURCE_LIMIT_BYTES = 1_000_000
_LINE_LIMIT_CHARACTERS = 160


def finding_lines(finding: Finding, *, folder: Path, colour: bool) -> list[str]:
    """The lines shown for `finding`; paths under `folder` are shown relative to it."""
    head = f"{_styled(finding.severity, _COLOURS[finding.severity], colour)} {finding.code} "
    lines = [head + _safe(finding.message)]
    lines += _place_lines(finding, folder)
    lines += [f"  {_evidence(item)}" for item in finding.evidence]
    for fix in finding.fixes:
        lines += _fix_lines(fix, colour)
    return lines


def _place_lines(finding: Finding, folder: Path) -> Iterator[str]:
    parts = []
    if finding.file:
        line = f":{finding.line}" if finding.line else ""
        parts.append(_safe(_shown_path(finding.file, folder)) + line)
    if finding.key:
        parts.append(f"`{_safe(finding.key)}`")
    parts += [f"{name} {value}" for name, value in _machine(finding) if value is not None]
    where = [f"at {' '.join(parts)}"] if parts else []
    where += ["on the command line"] if finding.on_command_line else []
    if where:
        yield f"  {' '.join(where)}"
    source = _source_line(finding)
    if source is not None:
        yield f"  {finding.line} | {_safe(source, _LINE_LIMIT_CHARACTERS)}"


def _machine(finding: Finding) -> list[tuple[str, Any]]:
    return [("host", finding.host), ("rank", finding.rank), ("GPU", finding.gpu)]


def _shown_path(file: str, folder: Path) -> str:
    path = Path(file)
    return str(path.relative_to(folder)) if path.is_absolute() and path.is_relative_to(folder) else file


def _source_line(finding: Finding) -> str | None:
    """The line the finding points at, where the file is a small regular one."""
    if not finding.file or not finding.line:
        return None
    path = Path(finding.file)
    try:
        if not path.is_file() or path.stat().st_size > _SOURCE_LIMIT_BYTES:
            return None
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    if finding.line > len(lines):
        return None
    line = lines[finding.line - 1].rstrip()
    return _without_values(line) if _names_secret(finding.key, line) else redact(line)


def _names_secret(key: str | None, line: str) -> bool:
    words = [*re.split(r"\W+", line), *(key or "").split(".")]
    return any(names_secret(word) for word in words)


def _without_values(line: str) -> str:
    name, colon, _ = line.partition(":")
    return f"{redact(name)}{colon} {HIDDEN}" if colon else HIDDEN


def _evidence(item: Quantity | Excerpt) -> str:
    if isinstance(item, Excerpt):
        line = f":{item.line}" if item.line else ""
        return _safe(f"{item.source}{line}: {item.text}", _LINE_LIMIT_CHARACTERS)
    unit = f" {item.unit}" if item.unit else ""
    source = f" ({item.source})" if item.source else ""
    return _safe(f"{item.name}: {item.value}{unit}{source}", _LINE_LIMIT_CHARACTERS)


def _fix_lines(fix: Fix, colour: bool) -> Iterator[str]:
    yield f"  {_styled('help', '32', colour)}: {_safe(fix.title)}"
    for key, value in fix.edits.items():
        yield f"    {_safe(key)}: {_safe(json.dumps(value, ensure_ascii=False, default=str))}"
    for command in fix.commands:
        yield f"    $ {_safe(command)}"


def _safe(text: str, limit: int | None = None) -> str:
    return visible(text, limit=limit)


def _styled(text: str, code: str, colour: bool) -> str:
    return f"\x1b[1;{code}m{text}\x1b[0m" if colour else text
