"""Which checkpoint a run starts from, and how the trainer takes it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding
from fsdpwiz.plan.resume import state_dict_type
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.checkpoints import manifest_of
from fsdpwiz.train import stored
from fsdpwiz.train.export.checkpoint import Checkpoint, open_checkpoint
from fsdpwiz.train.export.ranks import Ranks
from fsdpwiz.train.starting.optimizer import AnewError, fill_optimizer
from fsdpwiz.train.starting.problems import starts_anew, unfit
from fsdpwiz.train.starting.weights import MisfitError, fill_model

STATE_FILE, SCHEDULER_FILE = "trainer_state.json", "scheduler.pt"


def start_folder(plan: Plan, given: str) -> Path:
    """The checkpoint's folder that the recipe's `resume_from_checkpoint` names; a run's is its latest one.

    Raises FsdpwizError (I036) where this run cannot start from it.
    """
    key = f"{plan.method}.resume_from_checkpoint"
    if plan.world.distributed_type != "FSDP2":
        raise unfit(
            Path(given), "only a run under FSDP2 can; leave the key out, or use `fsdp.version: 2`", key
        )
    folder = _opened(Path(given), key).folder
    if goes_on(folder):
        stored.check(folder)
    return folder


def goes_on(checkpoint: Path) -> bool:
    """Whether the checkpoint says at which step it was taken: else only its weights and optimizer are."""
    return (checkpoint / STATE_FILE).is_file()


def converts(checkpoint: Any, plan: Plan) -> bool:
    """Whether `checkpoint` is laid out otherwise than this plan's own, so that it is read by name."""
    if plan.world.distributed_type != "FSDP2":
        return False
    manifest = manifest_of(Path(str(checkpoint))) or {}
    layout = (manifest.get("distributed_type"), manifest.get("state_dict_type"))
    return layout != ("FSDP2", state_dict_type(plan))


def train(trainer: Any, checkpoint: Path | None) -> None:
    """Train from `checkpoint`; from the first step on where it does not say how far it had come."""
    if checkpoint is not None and not goes_on(checkpoint):
        trainer.starts_from = checkpoint
        checkpoint = None
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))


def convert_model(model: Any, checkpoint: Path, plan: Plan) -> None:
    """Fill the prepared `model`; FsdpwizError (I036) on every rank where the files are not of this model."""

    def fill() -> None:
        try:
            files = _opened(checkpoint, None).weights
            fill_model(model, files, adapter_only=plan.peft is not None)
        except MisfitError as error:
            raise unfit(checkpoint, f"{error}; name a checkpoint of this very model") from error

    Ranks.here(_device(model)).agreed(fill)


def convert_optimizer(
    model: Any, optimizer: Any, scheduler: Any, checkpoint: Path, notice: Callable[[Finding], None]
) -> None:
    """Fill the optimizer's state, or tell `notice` (I037) why it starts anew; the schedule goes on."""

    def fill() -> str | None:
        try:
            fill_optimizer(model, optimizer, checkpoint)
        except AnewError as error:
            return str(error)
        except FsdpwizError as error:
            raise stored.unsound(checkpoint, stored.reason_of(error.__cause__ or error)) from error
        return None

    reason = Ranks.here(_device(model)).agreed(fill)
    if reason is not None:
        notice(starts_anew(checkpoint, reason))
    if goes_on(checkpoint) and (checkpoint / SCHEDULER_FILE).is_file():
        _go_on(scheduler, optimizer, checkpoint / SCHEDULER_FILE)


def _go_on(scheduler: Any, optimizer: Any, path: Path) -> None:
    state = torch.load(path, map_location="cpu", weights_only=True)
    if len(state.get("base_lrs", ())) == len(optimizer.param_groups):
        scheduler.load_state_dict(state)
        for group, rate in zip(optimizer.param_groups, scheduler.get_last_lr(), strict=True):
            group["lr"] = rate


def _opened(source: Path, key: str | None) -> Checkpoint:
    try:
        return open_checkpoint(source)
    except FsdpwizError as error:
        raise unfit(source, _reason(error), key) from error


def _reason(error: FsdpwizError) -> str:
    """What a source that cannot be read says, without its own beginning and without advice to trust it."""
    if isinstance(error.__cause__, pickle.UnpicklingError):
        return stored.reason_of(error.__cause__)
    message = error.findings[0].message
    return message.partition(" cannot be exported: ")[2] or message


def _device(model: Any) -> torch.device:
    kind = next(model.parameters()).device_mesh.device_type
    return torch.device("cuda", torch.cuda.current_device()) if kind == "cuda" else torch.device(kind)
