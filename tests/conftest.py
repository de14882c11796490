"""What all tests share: the command line called in process, and a machine that is always the same."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.cli.main import main


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command wrote and how it ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The document on stdout, which must be the only thing there."""
        document: dict[str, Any] = json.loads(self.stdout)
        return document

    @property
    def codes(self) -> list[str]:
        """The codes of the document's findings."""
        return [finding["code"] for finding in self.json["findings"]]


Invoke = Callable[..., Outcome]


@pytest.fixture
def invoke(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Invoke:
    """Call the command line in process, with nobody's site file and an empty home folder."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("FSDPWIZ_SITE", raising=False)
    monkeypatch.delenv("_FSDPWIZ_COMPLETE", raising=False)

    def call(*arguments: object) -> Outcome:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the files under tests/golden anew instead of comparing with them."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `gpu` are skipped where there is no GPU."""
    if not any(item.get_closest_marker("gpu") for item in items) or _has_gpu():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU here"))


def _has_gpu() -> bool:
    return os.path.exists("/dev/nvidia0")  # noqa: PTH110
