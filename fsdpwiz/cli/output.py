"""The only module that prints: data on stdout, notes and findings on stderr, JSON alone on stdout."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TextIO

from fsdpwiz.cli.finding_text import finding_lines
from fsdpwiz.core.findings import Finding
from fsdpwiz.core.text import visible

Stream = Literal["stdout", "stderr"]


class Output:
    """Where everything a person or a script sees goes through; one per process, `out`.

    `json`: the command was asked for JSON, so only `document` may write to stdout.
    `quiet`: no notes. `verbose`: details too. `debug`: tracebacks are wanted.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self, *, json: bool = False) -> None:
        """Forget the options of an earlier command."""
        self.json = json
        self.quiet = False
        self.verbose = False
        self.debug = False

    def document(self, document: Mapping[str, Any]) -> None:
        """One JSON document on stdout; "schema": 1 is put in front."""
        text = json.dumps({"schema": 1, **document}, ensure_ascii=False, indent=2, default=str)
        self._write("stdout", text.encode("utf-8", "backslashreplace").decode("utf-8"))

    def data(self, text: str) -> None:
        """What the command was asked for, as text on stdout (nothing with --json)."""
        if not self.json:
            self._write("stdout", visible(text))

    def text(self, text: str) -> None:
        """What is text whatever was asked for (help), on stdout."""
        self._write("stdout", visible(text))

    def note(self, text: str) -> None:
        """What happens meanwhile, on stderr (nothing with --quiet)."""
        if not self.quiet:
            self._write("stderr", visible(text))

    def detail(self, text: str) -> None:
        """What only -v shows, on stderr."""
        if self.verbose:
            self._write("stderr", visible(text))

    def warn(self, text: str) -> None:
        """What must be seen even with --quiet, on stderr."""
        self._write("stderr", visible(text))

    def findings(self, findings: Iterable[Finding], *, to: Stream = "stderr") -> None:
        """Findings for a person, with the source line and what to do (nothing with --json).

        --quiet leaves errors only.
        """
        if self.json:
            return
        colour = self.coloured(to)
        for finding in findings:
            if self.quiet and finding.severity != "error":
                continue
            self._write(to, "\n".join(finding_lines(finding, folder=Path.cwd(), colour=colour)))

    def coloured(self, to: Stream = "stderr") -> bool:
        """Whether `to` is a terminal that may be sent colours."""
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return self.interactive(to)

    def interactive(self, to: Stream = "stderr") -> bool:
        """Whether `to` is a terminal."""
        stream = _stream(to)
        return hasattr(stream, "isatty") and stream.isatty()

    def traceback(self, text: str) -> None:
        """A traceback, asked for by --debug."""
        self._write("stderr", visible(text))

    def _write(self, to: Stream, text: str) -> None:
        """Raises OSError where stdout cannot take the text, its reader being gone excepted."""
        try:
            _write_line(_stream(to), text)
        except (BrokenPipeError, ValueError):
            discard(to)
        except OSError:
            discard(to)
            if to == "stdout":
                self.json = False  # what is wrong can only be said on stderr now
                raise


def _write_line(stream: TextIO, text: str) -> None:
    try:
        stream.write(f"{text}\n")
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(f"{text}\n".encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def open_closed_streams() -> None:
    """Let what was closed before this process began (`>&-`) lead nowhere.

    Otherwise the next file that is opened would get its number, and what is printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _stream(to: Stream) -> TextIO:
    return sys.stdout if to == "stdout" else sys.stderr


def discard(to: Stream) -> None:
    """Send all further writes to `to` nowhere: its reader has gone, which is no fault of the command."""
    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  lives as long as the process
    if to == "stdout":
        sys.stdout = nowhere
    else:
        sys.stderr = nowhere


out = Output()
