"""What the package asks for, what is pinned, and what a wheel holds."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.!]*")
PINS_AT_LEAST = 60
TRAINING = {"torch", "numpy", "accelerate", "transformers", "trl", "peft", "datasets", "bitsandbytes"}


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) >= PINS_AT_LEAST
    return {_canonical(name): Version(pin) for name, pin in (line.split("==") for line in lines)}


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_pins_are_plain_versions_sorted() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if not PIN.fullmatch(line)] == []
    assert lines == sorted(lines, key=str.lower)
    assert all(version.local is None for version in _pins().values())


def test_every_requirement_is_pinned_within_its_range() -> None:
    project, pins = _project(), _pins()
    texts = [
        *project["dependencies"],
        *(text for extra in project["optional-dependencies"].values() for text in extra),
    ]
    requirements = [Requirement(text) for text in texts]

    assert {requirement.name for requirement in requirements} >= TRAINING
    for requirement in requirements:
        pin = pins[_canonical(requirement.name)]
        assert requirement.specifier.contains(pin), f"{requirement} does not admit the pin {pin}"


def test_torch_is_pinned_and_its_range_is_wider() -> None:
    torch = next(
        Requirement(text) for text in _project()["optional-dependencies"]["train"] if text.startswith("torch")
    )

    assert _pins()["torch"] == Version("2.13.0")
    assert torch.specifier.contains("2.11.0")
    assert not torch.specifier.contains("2.10.0")


def test_the_base_install_has_no_training_library() -> None:
    assert {Requirement(text).name for text in _project()["dependencies"]} & TRAINING == set()


def test_python_and_licence() -> None:
    assert _project()["requires-python"] == ">=3.11"
    assert _project()["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_wheel_holds_recipes_their_data_and_the_tables(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120, capture_output=True)

    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()

    assert "fsdpwiz/shipped_recipes/smollm2-135m-sft.yaml" in names
    assert "fsdpwiz/shipped_recipes/data/python-docs-qa.jsonl" in names
    assert "fsdpwiz/py.typed" in names
    for tree in ("fsdpwiz/recipe/upstream/data/", "fsdpwiz/facts/catalog/", "fsdpwiz/rules/schema/"):
        assert any(name.startswith(tree) for name in names), tree
    assert not any(name.startswith(("tests/", "docs/", "scripts/")) for name in names)
