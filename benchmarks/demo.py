"""The demo's model, which the benchmarks take tokenizer and weights from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def demo_model() -> str:
    """Its folder; fetched where it is not there yet."""
    command = [sys.executable, str(ROOT / "scripts" / "demo_model.py")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]
