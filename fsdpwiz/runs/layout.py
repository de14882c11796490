"""The run folder's file names; nothing else in the package knows one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CHECKPOINT_PREFIX = "step-"
CHECKPOINT_MANIFEST = "fsdpwiz.json"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The files of one launch of a run."""

    root: Path
    number: int

    @property
    def folder(self) -> Path:
        return self.root / "attempts" / str(self.number)

    def launch(self, node_rank: int | str) -> Path:
        """Records of one launcher; `node_rank` is "submit" for the command that submits."""
        return self.folder / f"launch-{node_rank}.jsonl"

    def launcher_log(self, node_rank: int) -> Path:
        return self.folder / f"launcher-{node_rank}.log"

    def rank_log(self, rank: int) -> Path:
        return self.folder / f"rank-{rank}.log"

    def events(self, rank: int) -> Path:
        return self.folder / f"events-{rank}.jsonl"

    def error(self, rank: int) -> Path:
        return self.folder / f"error-{rank}.json"

    def stack(self, rank: int) -> Path:
        return self.folder / f"stack-{rank}.txt"

    @property
    def findings(self) -> Path:
        """What rank 0 noticed while the training went on."""
        return self.folder / "findings.jsonl"

    @property
    def precision(self) -> Path:
        """Which dtypes rank 0 found at the first step, beside the planned ones."""
        return self.folder / "precision.json"

    @property
    def export(self) -> Path:
        """What rank 0 exported, how it was verified, where it was pushed to."""
        return self.folder / "export.json"

    @property
    def flight_recorder(self) -> Path:
        return self.folder / "fr"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run: OUTPUT_DIR/NAME/YYYYmmdd-HHMMSS."""

    root: Path

    @property
    def recipe(self) -> Path:
        return self.root / "recipe.yaml"

    @property
    def recipe_fixed(self) -> Path:
        return self.root / "recipe.fixed.yaml"

    @property
    def source(self) -> Path:
        return self.root / "source.json"

    @property
    def plan(self) -> Path:
        return self.root / "plan.json"

    @property
    def accelerate(self) -> Path:
        return self.root / "accelerate.yaml"

    @property
    def sbatch(self) -> Path:
        return self.root / "job.sbatch"

    @property
    def command(self) -> Path:
        return self.root / "command.txt"

    @property
    def versions(self) -> Path:
        return self.root / "versions.json"

    @property
    def estimate(self) -> Path:
        return self.root / "estimate.json"

    @property
    def findings(self) -> Path:
        return self.root / "findings.json"

    @property
    def status(self) -> Path:
        return self.root / "status.json"

    @property
    def metrics(self) -> Path:
        return self.root / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    def checkpoint(self, step: int) -> Path:
        return self.checkpoints / f"{CHECKPOINT_PREFIX}{step}"

    @property
    def model(self) -> Path:
        return self.root / "model"

    @property
    def adapter(self) -> Path:
        return self.root / "adapter"

    @property
    def diagnosis(self) -> Path:
        return self.root / "diagnosis.json"

    @property
    def attempts(self) -> Path:
        return self.root / "attempts"

    def attempt(self, number: int) -> Attempt:
        return Attempt(self.root, number)
