"""A measurement's table with the machine, the date and the versions it was taken with."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    "fsdpwiz",
    "torch",
    "accelerate",
    "transformers",
    "trl",
    "peft",
    "datasets",
    "typer",
    "rich",
    "pydantic",
)


def write_result(name: str, table: str) -> Path:
    """Put `table` at the end of results/NAME.md, under a heading with the date."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.md"
    before = path.read_text(encoding="utf-8") if path.exists() else f"# {name.capitalize()}\n"
    path.write_text(f"{before}\n## {time.strftime('%Y-%m-%d')}\n\n{machine()}\n\n{table}\n", encoding="utf-8")
    return path


def machine() -> str:
    """Processor, cores, memory, cards and versions, in two lines."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    hardware = f"{processor()}, {os.cpu_count()} cores, {memory_gb:.0f} GB, {cards()}"
    return f"{hardware}; Python {platform.python_version()}  \n{versions()}"


def processor() -> str:
    """The processor's own name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def cards() -> str:
    """The GPUs that nvidia-smi lists."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.split(
            "\n"
        )
    except (OSError, subprocess.SubprocessError):
        return "no GPU"
    return ", ".join(name for name in found if name) or "no GPU"


def versions() -> str:
    """Installed versions of what was measured."""
    return ", ".join(f"{package} {_version(package)}" for package in PACKAGES)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
