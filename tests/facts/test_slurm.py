import pytest

from fsdpwiz.facts.slurm import read_slurm


@pytest.mark.parametrize(
    ("commands", "present"), [((), False), (("sbatch",), False), (("sbatch", "sinfo"), True)]
)
def test_presence_by_commands(tmp_path, commands, present):
    for name in commands:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert read_slurm({"PATH": str(tmp_path)}).present is present
