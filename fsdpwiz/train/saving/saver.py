"""The saves of a training: upstream's small files, the shards beside the steps, and the seal upon them."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from fsdpwiz.core.findings import Finding
from fsdpwiz.train import checkpoints
from fsdpwiz.train.checksums import Checksums
from fsdpwiz.train.process_group import barrier
from fsdpwiz.train.saving.checkpointer import Checkpointer, takes
from fsdpwiz.train.saving.space import shortage

if TYPE_CHECKING:
    from fsdpwiz.train.trainer import Session

SCHEDULER_FILE = "scheduler.pt"


class Saver:
    """Saves as the plan says; building one is collective, and so is every call.

    A checkpoint that cannot be written is a finding (P016), and the training goes on.
    """

    def __init__(self, trainer: Any, session: Session) -> None:
        self._trainer = trainer
        self._session = session
        self._plan = session.plan
        self._folder = session.folder
        self._companions = session.folder.checkpoints / f"{checkpoints.WRITING_PREFIX}companions"
        self._described = False
        self._writing: int | None = None
        self._needed_bytes = 0
        self.writes_shards = takes(self._plan)
        stalled = session.metrics.clock.add_stall_within_step
        self._checkpointer = Checkpointer(self._plan, stalled) if self.writes_shards else None
        if trainer.args.save_strategy != "no":
            self._expect()

    def _expect(self) -> None:
        """What the first save would need besides is made ready before it."""
        self._describe()
        if self._checkpointer is not None and self._plan.checkpoint.mode == "async":
            self._checkpointer.expect(self._trainer.optimizer)

    def save(self, upstream: Callable[[], None]) -> None:
        """Save the state of now; with `checkpoint.mode: async` its shards follow beside the next step."""
        self.finish()
        step = self._trainer.state.global_step
        if self._lacks_space(step):
            return
        self._describe()
        upstream()
        best = self._note_best()
        self._writing = step
        if self._checkpointer is None:
            self._seal_together(step, best)
            return
        self._checkpointer.begin(
            checkpoints.writing(self._folder, step),
            self._trainer.model,
            self._trainer.optimizer,
            adapter_only=self._plan.peft is not None,
            complete=lambda sums: self._seal(step, best, sums),
        )
        if self._plan.checkpoint.mode != "async":
            self.finish()

    def finish(self) -> None:
        """Return when no checkpoint is being written any more."""
        step, self._writing = self._writing, None
        if step is None or self._checkpointer is None:
            return
        try:
            self._checkpointer.wait()
        except Exception as error:
            self._session.notices.add(_not_written(step, str(error) or type(error).__name__))
            self._discard(step)

    @property
    def busy(self) -> bool:
        """Whether a checkpoint may still be being written; the same on every rank."""
        return self._writing is not None

    def close(self) -> None:
        """Finish, and leave nothing beside the checkpoints."""
        self.finish()
        if self._trainer.state.is_world_process_zero:
            shutil.rmtree(self._companions, ignore_errors=True)

    def save_scheduler(self, folder: Path) -> None:
        """The scheduler's state, as upstream saves it."""
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(self._trainer.lr_scheduler.state_dict(), folder / SCHEDULER_FILE)

    def _seal_together(self, step: int, best: Path | None) -> None:
        barrier()
        if self._trainer.state.is_world_process_zero:
            self._seal(step, best, {})
        barrier()

    def _seal(self, step: int, best: Path | None, sums: Checksums) -> None:
        checkpoints.seal(
            self._folder, step, plan=self._plan, companions=self._companions, best=best, known=sums
        )
        checkpoints.rotate(self._folder, self._plan.training.get("save_total_limit"), best)

    def _note_best(self) -> Path | None:
        """Upstream asks the disk while other ranks write to it, and its ranks may get different answers."""
        state = self._trainer.state
        best = checkpoints.best(self._folder, state.best_global_step, writing=state.global_step)
        state.best_model_checkpoint = None if best is None else str(best)
        return best

    def _describe(self) -> None:
        if not self._described and self._trainer.state.is_world_process_zero:
            model = self._trainer.accelerator.unwrap_model(self._trainer.model)
            checkpoints.describe(self._companions, model, self._trainer.processing_class)
        self._described = True

    def _lacks_space(self, step: int) -> bool:
        lacking = shortage(self._folder.checkpoints, self._trainer, self._plan)
        if lacking is not None:
            self._session.notices.add(_not_written(step, lacking))
        return lacking is not None

    def _discard(self, step: int) -> None:
        barrier()
        if self._trainer.state.is_world_process_zero:
            with contextlib.suppress(OSError):
                checkpoints.discard(self._folder, step)
        barrier()


def _not_written(step: int, reason: str) -> Finding:
    return Finding(
        code="P016",
        name="checkpoint-not-written",
        severity="warning",
        key="checkpoint.mode",
        message=(
            f"the checkpoint of step {step} was not written: {reason}; the training goes on, and the "
            "complete checkpoints before it are untouched"
        ),
    )
