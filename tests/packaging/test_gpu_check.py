"""The check for one GPU, every line of it on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.scripts import load_script

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_it_passes_on_a_cpu(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(ROOT / "scripts" / "gpu_check.py"),
        "--device",
        "cpu",
        "--work",
        str(tmp_path / "w"),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, env=environment
    )

    steps = len(load_script("gpu_check").STEPS_IN_ORDER)
    assert f"{steps}/{steps} " in result.stdout, result.stdout + result.stderr
    assert "all passed" in result.stdout


def test_a_missing_gpu_fails_at_the_first_step(tmp_path: Path) -> None:
    if Path("/dev/nvidia0").exists():
        pytest.skip("there is a GPU here")
    command = [sys.executable, str(ROOT / "scripts" / "gpu_check.py"), "--work", str(tmp_path / "w")]

    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert result.returncode == 1
    assert "1/8 facts: FAILED\nNVML" in result.stdout
