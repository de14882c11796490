"""The error file of a rank: torchelastic's format, and what we know besides."""

from __future__ import annotations

import json
import os
import time
import traceback
from pathlib import Path
from typing import Any

from fsdpwiz.core.atomic import write_text
from fsdpwiz.core.errors import FsdpwizError

_LIMIT_CHARACTERS = 100_000


def write_failure(path: Path, rank: int, error: BaseException) -> None:
    """Write `error` to `path`, and where torchelastic looks for it, so that its summary shows it.

    The shape is {"message": {"message", "extraInfo": {"py_callstack", "timestamp"}}, "rank",
    "time", "finding"}; `finding` is null unless the error is one that a user can act on. "time"
    has fractions of a second, so the first of several failed ranks can be told.
    """
    text = json.dumps(failure(rank, error), indent=2)
    write_text(path, text)
    elastic = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if elastic:
        Path(elastic).write_text(text, encoding="utf-8")


def failure(rank: int, error: BaseException) -> dict[str, Any]:
    """The document of an error file."""
    now = time.time()
    callstack = "".join(traceback.format_exception(error))
    findings = error.findings if isinstance(error, FsdpwizError) else ()
    return {
        "message": {
            "message": f"{type(error).__name__}: {error}"[:_LIMIT_CHARACTERS],
            "extraInfo": {"py_callstack": callstack[-_LIMIT_CHARACTERS:], "timestamp": str(int(now))},
        },
        "rank": rank,
        "time": now,
        "finding": findings[0].to_json() if findings else None,
    }
