"""The method's upstream trainer, with what a run folder needs of it mixed in."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from fsdpwiz.methods.method import methods
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train import checkpoints, precision, process_group, starting, stored, world
from fsdpwiz.train.events import Events
from fsdpwiz.train.metrics import Metrics
from fsdpwiz.train.notices import Notices
from fsdpwiz.train.precision_report import PrecisionReport
from fsdpwiz.train.saving import Saver


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One attempt of a run on one rank."""

    plan: Plan
    folder: RunFolder
    attempt: int
    events: Events
    metrics: Metrics
    notices: Notices


def trainer_class(session: Session) -> type:
    """The plan's upstream trainer class with `Recorded` before it in its line of ancestors."""
    upstream = imported(methods()[session.plan.method].trainer_class)
    return type(upstream.__name__, (Recorded, upstream), {"session": session})


def imported(dotted_path: str) -> Any:
    """The object at "package.Name"."""
    module, _, name = dotted_path.rpartition(".")
    return getattr(importlib.import_module(module), name)


class Recorded:
    """Phases, step times and complete checkpoints; the training itself is upstream's own."""

    session: Session
    saver: Saver
    starts_from: Path | None = None
    """A checkpoint to take the weights of, which does not say at which step it was taken."""

    def _prepare_dataset(self, *args: Any, **kwargs: Any) -> Any:
        with self.session.events.phase("data"):
            return super()._prepare_dataset(*args, **kwargs)  # type: ignore[misc]

    def get_batch_samples(self, epoch_iterator: Iterator[Any], *args: Any, **kwargs: Any) -> Any:
        timed = self.session.metrics.clock.batches(epoch_iterator)
        return super().get_batch_samples(timed, *args, **kwargs)  # type: ignore[misc]

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        self.session.metrics.note(logs)
        super().log(logs, *args, **kwargs)  # type: ignore[misc]

    def _maybe_log_save_evaluate(self, *args: Any, **kwargs: Any) -> None:
        super()._maybe_log_save_evaluate(*args, **kwargs)  # type: ignore[misc]
        state, control = self.state, self.control  # type: ignore[attr-defined]
        self.session.metrics.finish(
            state.global_step,
            getattr(self, "_total_train_tokens", None),
            # The trainer comes here once more when an epoch or the training has ended.
            again=control.should_training_stop or float(state.epoch or 0.0).is_integer(),
        )

    def _evaluate(self, *args: Any, **kwargs: Any) -> Any:
        with self.session.events.phase("evaluate"):
            return super()._evaluate(*args, **kwargs)  # type: ignore[misc]

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        begin_s = time.perf_counter()
        with self.session.events.phase("save"):
            self.saver.save(lambda: super(Recorded, self)._save_checkpoint(*args, **kwargs))  # type: ignore[misc]
        self.session.metrics.clock.add_save_stall(time.perf_counter() - begin_s)

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        if not self.saver.writes_shards:
            super()._save_optimizer_and_scheduler(output_dir)  # type: ignore[misc]
        elif self.args.should_save:  # type: ignore[attr-defined]
            self.saver.save_scheduler(Path(output_dir))

    def _finalize_training(self, *args: Any, **kwargs: Any) -> Any:
        if self.saver.busy:
            begin_s = time.perf_counter()
            with self.session.events.phase("save"):
                self.saver.finish()
            self.session.metrics.clock.add_save_stall(time.perf_counter() - begin_s)
        self.saver.close()
        return super()._finalize_training(*args, **kwargs)  # type: ignore[misc]

    def _load_from_checkpoint(self, checkpoint: Any, *args: Any, **kwargs: Any) -> None:
        with stored.opening(checkpoint):
            if starting.converts(checkpoint, self.session.plan):
                self._convert_model(Path(checkpoint))
            else:
                super()._load_from_checkpoint(checkpoint, *args, **kwargs)  # type: ignore[misc]
        precision.cast_trainable(self.model, self.session.plan.model.trainable_dtype)  # type: ignore[attr-defined]

    def _load_optimizer_and_scheduler(self, checkpoint: Any) -> None:
        with stored.opening(checkpoint):
            if starting.converts(checkpoint, self.session.plan):
                self._convert_optimizer(Path(checkpoint))
            else:
                super()._load_optimizer_and_scheduler(checkpoint)  # type: ignore[misc]

    def _prepare_for_training(self, *args: Any, **kwargs: Any) -> Any:
        prepared = super()._prepare_for_training(*args, **kwargs)  # type: ignore[misc]
        if self.starts_from is not None:
            with stored.opening(self.starts_from):
                self._convert_model(self.starts_from)
                self._convert_optimizer(self.starts_from)
        return prepared

    def _convert_model(self, checkpoint: Path) -> None:
        starting.convert_model(self.model, checkpoint, self.session.plan)  # type: ignore[attr-defined]

    def _convert_optimizer(self, checkpoint: Path) -> None:
        starting.convert_optimizer(
            self.model,  # type: ignore[attr-defined]
            self.optimizer,  # type: ignore[attr-defined]
            self.lr_scheduler,  # type: ignore[attr-defined]
            checkpoint,
            notice=self.session.notices.add,
        )

    def _load_scaler(self, checkpoint: Any) -> None:
        with stored.opening(checkpoint):
            super()._load_scaler(checkpoint)  # type: ignore[misc]

    def _load_rng_state(self, checkpoint: Any) -> None:
        with stored.opening(checkpoint):
            super()._load_rng_state(checkpoint)  # type: ignore[misc]

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        """Nothing where the checkpoint was the last one: upstream would take one more step."""
        state = self.state  # type: ignore[attr-defined]
        if state.global_step >= state.max_steps:
            self.control.should_training_stop = True  # type: ignore[attr-defined]
            return
        super()._run_epoch(*args, **kwargs)  # type: ignore[misc]

    def _load_best_model(self) -> None:
        best = self.state.best_model_checkpoint  # type: ignore[attr-defined]
        stored.check(Path(best))
        with stored.opening(best):
            if starting.converts(best, self.session.plan):
                self._convert_model(Path(best))
            else:
                super()._load_best_model()  # type: ignore[misc]
        precision.cast_trainable(self.model, self.session.plan.model.trainable_dtype)  # type: ignore[attr-defined]

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """None for a checkpoint: it would stand beside the checkpoints and speak of none."""

    def _init_training_state(self, *args: Any, **kwargs: Any) -> Any:
        progress = super()._init_training_state(*args, **kwargs)  # type: ignore[misc]
        state = self.state  # type: ignore[attr-defined]
        best = checkpoints.best(self.session.folder, state.best_global_step)
        state.best_model_checkpoint = None if best is None else str(best)
        return progress


class Progress(TrainerCallback):
    """Notes what only a callback is told: the first step is near, a step is done."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.trainer: Any = None
        self.load: Any = None

    def on_train_begin(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
        precision.undo_upcast(self.trainer.model, self._session.plan)
        world.check(self.trainer, self._session.plan, self.load)
        path = self._session.folder.attempt(self._session.attempt).precision
        self._precision = PrecisionReport(self.trainer, self._session.plan, path)
        self._precision.prepared()
        process_group.set_timeout(self._session.plan.process_group_timeout_s)
        self.trainer.saver = Saver(self.trainer, self._session)
        self._session.events.end("prepare")
        self._session.events.begin("train", total_steps=state.max_steps)
        self._session.metrics.clock.restart()

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        self._precision.before_step()
        self._session.metrics.clock.begin_optimizer()

    def on_optimizer_step(self, *_: Any, **kwargs: Any) -> None:
        self._session.metrics.clock.end_optimizer()
        self._precision.after_step()
        self._session.metrics.learning_rate = float(kwargs["optimizer"].param_groups[0]["lr"])

    def on_step_end(self, _args: Any, state: Any, *_: Any, **__: Any) -> None:
        self._session.metrics.clock.end_step()
        self._session.events.step(state.global_step)

    def on_train_end(self, *_: Any, **__: Any) -> None:
        self._session.events.end("train")
