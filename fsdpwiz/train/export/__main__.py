"""`python -m fsdpwiz.train.export SOURCE --out FOLDER`: the child process of `fsdpwiz export`."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fsdpwiz.core import exit_codes
from fsdpwiz.core.errors import FsdpwizError

DTYPES = ("float32", "bfloat16", "float16")


def main(arguments: Sequence[str] | None = None) -> int:
    """Export one checkpoint; the result or the findings go to stdout, upstream's talk to stderr."""
    given = _parser().parse_args(arguments)
    with contextlib.redirect_stdout(sys.stderr):
        document, code = _exported(given)
    if given.json:
        print(json.dumps({"schema": 1, **document}))  # noqa: T201
    else:
        print(_text(document))  # noqa: T201
    return code


def _exported(given: argparse.Namespace) -> tuple[dict[str, Any], int]:
    from fsdpwiz.train.export.offline import Request, export_checkpoint

    request = Request(
        source=given.source,
        target=given.out,
        model=given.model,
        dtype=given.dtype,
        adapter=given.adapter,
        force=given.force,
    )
    try:
        return {**export_checkpoint(request).to_json(), "findings": []}, exit_codes.OK
    except FsdpwizError as error:
        return {
            "model": None,
            "findings": [finding.to_json() for finding in error.findings],
        }, exit_codes.FOUND


def _text(document: dict[str, Any]) -> str:
    findings = document["findings"]
    return "\n".join(f"{item['code']} {item['message']}" for item in findings) or str(document["model"])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fsdpwiz.train.export", description=__doc__)
    parser.add_argument("source", type=Path, metavar="SOURCE", help="run folder or checkpoint folder")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the model goes")
    parser.add_argument(
        "--adapter", type=Path, metavar="FOLDER", help="where a LoRA checkpoint's adapter goes"
    )
    parser.add_argument("--model", metavar="NAME", help="base model, where the checkpoint does not say it")
    parser.add_argument(
        "--dtype", metavar="DTYPE", help="float32, bfloat16 or float16; else the base model's"
    )
    parser.add_argument("--force", action="store_true", help="replace what is at FOLDER")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return parser


if __name__ == "__main__":
    sys.exit(main())
