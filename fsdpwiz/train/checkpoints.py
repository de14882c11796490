"""Checkpoints: what the Trainer wrote, completed and renamed to step-N.

A folder named step-N is always complete. It is written as checkpoint-N, and renamed once every
rank has written its part and config, tokenizer and manifest stand beside the weights. The manifest lists
every file with its size and checksum.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from fsdpwiz.core.atomic import write_text
from fsdpwiz.plan.resume import state_dict_type
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.checkpoints import complete_checkpoints
from fsdpwiz.runs.layout import CHECKPOINT_MANIFEST, RunFolder
from fsdpwiz.train.checksums import Checksums, listed

WRITING_PREFIX = "checkpoint-"
_STATE = "trainer_state.json"


def manifest(plan: Plan, step: int) -> dict[str, Any]:
    """What a checkpoint's fsdpwiz.json says of the run that wrote it."""
    return {
        "schema": 1,
        "step": step,
        "world_size": plan.world.world_size,
        "distributed_type": plan.world.distributed_type,
        "state_dict_type": state_dict_type(plan),
        "precision": plan.precision,
        "method": plan.method,
        "model": {"name_or_path": plan.model.name_or_path, "revision": plan.model.revision},
        "peft": plan.peft,
        "quantization": plan.quantization,
        "global_batch_size": plan.batch.global_,
        "versions": dict(plan.versions),
        "plan_hash": plan.hash,
    }


def writing(folder: RunFolder, step: int) -> Path:
    """Where the checkpoint of a step is written."""
    return folder.checkpoints / f"{WRITING_PREFIX}{step}"


def seal(
    folder: RunFolder, step: int, *, plan: Plan, companions: Path, best: Path | None, known: Checksums
) -> None:
    """Complete checkpoint-N and rename it to step-N; called by rank 0 when all have written.

    `companions` holds what a model folder needs beside its weights, `best` is the best checkpoint so far
    as it will be named, `known` are the checksums that were made while files were written.
    """
    unsealed = writing(folder, step)
    _require_weights(unsealed)
    shutil.copytree(companions, unsealed, dirs_exist_ok=True)
    _correct_state(unsealed, best)
    document = {**manifest(plan, step), "files": listed(unsealed, known)}
    write_text(unsealed / CHECKPOINT_MANIFEST, json.dumps(document, indent=2) + "\n")
    target = folder.checkpoint(step)
    if target.exists():
        _remove(target)
    unsealed.rename(target)
    _sync(folder.checkpoints)


def rotate(folder: RunFolder, limit: int | None, best: Path | None) -> None:
    """Keep the newest `limit` checkpoints; the latest and the best are always kept."""
    if limit is None or limit <= 0:
        return
    checkpoints = complete_checkpoints(folder)
    kept = {checkpoints[-1].name} | ({best.name} if best is not None else set()) if checkpoints else set()
    removable = [checkpoint for checkpoint in checkpoints if checkpoint.name not in kept]
    surplus = len(checkpoints) - limit
    for checkpoint in removable[: max(surplus, 0)]:
        _remove(checkpoint)


def discard(folder: RunFolder, step: int) -> None:
    """Remove what was written of a checkpoint that will not be completed."""
    shutil.rmtree(writing(folder, step), ignore_errors=True)


def clear_incomplete(folder: RunFolder) -> None:
    """Remove what an earlier attempt was writing, or removing, when it ended."""
    if folder.checkpoints.is_dir():
        for path in folder.checkpoints.iterdir():
            if path.name.startswith(WRITING_PREFIX) and path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)


def best(folder: RunFolder, step: int | None, *, writing: int | None = None) -> Path | None:
    """The checkpoint of the best step: one that is there, or the one of step `writing` once it is."""
    if not step:
        return None
    checkpoint = folder.checkpoint(step)
    return checkpoint if step == writing or checkpoint.is_dir() else None


def _require_weights(checkpoint: Path) -> None:
    """Raise FsdpwizError (I032) where a distributed checkpoint was written without a single tensor."""
    from fsdpwiz.train.export.metadata import holds_tensors
    from fsdpwiz.train.stored import unsound

    folder = checkpoint / "pytorch_model_fsdp_0"
    if folder.is_dir() and not holds_tensors(folder):
        raise unsound(checkpoint, "it was written without any weights")


def describe(companions: Path, model: Any, tokenizer: Any) -> None:
    """Write what a model folder needs beside its weights; `model` is the unwrapped one."""
    shutil.rmtree(companions, ignore_errors=True)
    companions.mkdir(parents=True)
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    base.config.save_pretrained(companions)
    if getattr(base, "generation_config", None) is not None:
        base.generation_config.save_pretrained(companions)
    if hasattr(model, "peft_config"):
        for config in model.peft_config.values():
            config.save_pretrained(companions)
    tokenizer.save_pretrained(companions)


def _correct_state(checkpoint: Path, best: Path | None) -> None:
    path = checkpoint / _STATE
    state = json.loads(path.read_text(encoding="utf-8"))
    state["best_model_checkpoint"] = None if best is None else str(best)
    write_text(path, json.dumps(state, indent=2, sort_keys=True) + "\n")


def _remove(checkpoint: Path) -> None:
    """Remove a complete checkpoint; its name goes first, lest a half of it looks whole."""
    leaving = checkpoint.with_name(f"{WRITING_PREFIX}{checkpoint.name}.removed")
    checkpoint.rename(leaving)
    shutil.rmtree(leaving)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
