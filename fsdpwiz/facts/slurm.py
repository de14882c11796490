"""Whether Slurm is here."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from fsdpwiz.facts.types import Slurm

_COMMANDS = ("sbatch", "sinfo")


def read_slurm(environ: Mapping[str, str]) -> Slurm:
    """Whether the commands that submit and that describe the cluster are on the path of `environ`."""
    path = environ.get("PATH", "")
    return Slurm(source="measured", present=all(shutil.which(command, path=path) for command in _COMMANDS))
