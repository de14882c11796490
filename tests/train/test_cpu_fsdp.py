"""The one module that knows what Accelerate lacks on a CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def test_another_version_of_accelerate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerate = pytest.importorskip("accelerate")
    from fsdpwiz.train import cpu_fsdp

    before = accelerate.state.AcceleratorState.__init__
    monkeypatch.setattr(accelerate, "__version__", "1.16.0")
    with pytest.raises(
        RuntimeError, match=r"written for Accelerate 1\.15\.x, here is 1\.16\.0: run `pip install"
    ):
        cpu_fsdp.enable()
    assert accelerate.state.AcceleratorState.__init__ is before


@pytest.mark.slow
def test_upstream_still_needs_it_and_enabling_twice_is_once() -> None:
    """Without it: a world of one alone (no FSDP); with it: FSDP, whatever how often it is called."""
    code = """
import os, sys
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
os.environ.update(ACCELERATE_USE_CPU="true", ACCELERATE_USE_FSDP="true")
os.environ.update(FSDP_VERSION="2", FSDP_OFFLOAD_PARAMS="true")
from fsdpwiz.train import cpu_fsdp
if sys.argv[1] == "with":
    cpu_fsdp.enable(); cpu_fsdp.enable(timeout_s=7)
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
plugin = getattr(accelerator.state, "fsdp_plugin", None)
print(accelerator.distributed_type.value, plugin and plugin.cpu_offload.pin_memory)
import torch.distributed as dist
from torch.distributed.distributed_c10d import _get_default_group
import torch
print(_get_default_group()._get_backend(torch.device("cpu")).options._timeout.total_seconds())
"""

    def state(how: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code, how], cwd=REPOSITORY, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.split()

    assert state("without") == ["MULTI_CPU", "None", "1800.0"]
    assert state("with") == ["FSDP", "False", "7.0"]
