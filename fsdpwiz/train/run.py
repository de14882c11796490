"""One attempt of a run on this rank: load, train, export, with everything it leaves in the run folder."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from fsdpwiz.core.atomic import write_text
from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train.events import Events


def run(plan: Plan, folder: RunFolder, *, attempt: int) -> None:
    """Train as the plan says and export the model; called on every rank.

    Raises FsdpwizError where the plan cannot be carried out here, and whatever upstream raises.
    """
    rank = int(os.environ.get("RANK", "0"))
    folder.attempt(attempt).folder.mkdir(parents=True, exist_ok=True)
    events = Events(folder.attempt(attempt).events(rank))
    events.start()
    try:
        _run(plan, folder, attempt, rank, events)
    finally:
        events.stop()


def _run(plan: Plan, folder: RunFolder, attempt: int, rank: int, events: Events) -> None:
    with events.phase("start"):
        config, session = _start(plan, folder, attempt, rank, events)
        from fsdpwiz.train.resume import checkpoint_to_resume

        checkpoint = checkpoint_to_resume(
            plan, folder, attempt, ranks=_ranks(config), notice=session.notices.add
        )
    trainer, pretrained = _trainer(plan, config, session)
    with pretrained.filling():
        _train(trainer, checkpoint)
    with events.phase("export"):
        report = _export(trainer, session)
        if report.gathered is not None:
            session.notices.add(_gathered(report.gathered))
        if rank == 0:
            write_report(folder.attempt(attempt).export, report)
    events.mark("end")


def refuse_impossible(plan: Plan) -> None:
    """Raise FsdpwizError for what only shards of FSDP2 can do, in a plan without them.

    The command refuses such a recipe before it starts anything: this is for a plan written by hand.
    """
    shards = plan.world.distributed_type == "FSDP2"
    sharded = shards and (plan.fsdp or {}).get("state_dict_type") == "SHARDED_STATE_DICT"
    if plan.model.loading == "streaming" and not shards:
        raise FsdpwizError(_impossible("F024", "loading-without-shards", "model.loading", "streaming"))
    if plan.checkpoint.mode == "async" and not sharded:
        raise FsdpwizError(_impossible("I034", "async-without-shards", "checkpoint.mode", "async"))


def _impossible(code: str, name: str, key: str, value: str) -> Finding:
    message = f"`{key}: {value}` does not exist without the shards of FSDP2; leave the key out"
    return Finding(code=code, name=name, severity="error", key=key, message=message)


def _start(plan: Plan, folder: RunFolder, attempt: int, rank: int, events: Events) -> tuple[Any, Any]:
    refuse_impossible(plan)
    if plan.peft is not None:
        from fsdpwiz.train import adapter_state

        adapter_state.enable()
    if plan.world.device == "cpu":
        from fsdpwiz.train import cpu_fsdp

        cpu_fsdp.enable(timeout_s=plan.process_group_timeout_s)
    from fsdpwiz.train import checkpoints
    from fsdpwiz.train.configuration import configuration
    from fsdpwiz.train.metrics import Metrics
    from fsdpwiz.train.notices import Notices
    from fsdpwiz.train.optimizer_timer import timer_of
    from fsdpwiz.train.process_group import barrier
    from fsdpwiz.train.trainer import Session

    config = configuration(plan, folder)
    if rank == 0:
        checkpoints.clear_incomplete(folder)
    barrier()
    timer = timer_of(plan.world.device)
    metrics = Metrics(folder.metrics, attempt=attempt, writes=rank == 0, timer=timer)
    notices = Notices(folder.attempt(attempt).findings, writes=rank == 0)
    session = Session(
        plan=plan, folder=folder, attempt=attempt, events=events, metrics=metrics, notices=notices
    )
    return config, session


def _ranks(config: Any) -> Any:
    from fsdpwiz.train.export.ranks import Ranks

    return Ranks.here(config.device)


def _trainer(plan: Plan, config: Any, session: Any) -> tuple[Any, Any]:
    """The trainer, built, and its model; the phase `prepare` stays open until it has wrapped the model."""
    from fsdpwiz.train import data, model, precision
    from fsdpwiz.train.process_group import patience
    from fsdpwiz.train.trainer import Progress, trainer_class

    events = session.events
    with patience(plan.process_group_timeout_s):
        with events.phase("data"):
            datasets = data.load(plan.data)
        with events.phase("load"):
            tokenizer = model.load_tokenizer(plan)
            data.require_chat_template(datasets.train, tokenizer, plan)
            pretrained = model.load_model(plan)
        if pretrained.notice is not None:
            session.notices.add(pretrained.notice)
        events.begin("prepare")
        progress = Progress(session)
        trainer = trainer_class(session)(
            model=pretrained.model,
            args=config,
            train_dataset=datasets.train,
            eval_dataset=datasets.evaluation,
            processing_class=tokenizer,
            peft_config=model.adapter_config(plan),
            callbacks=[progress],
        )
    progress.trainer, progress.load = trainer, pretrained.load
    precision.cast_trainable(trainer.model, plan.model.trainable_dtype)
    precision.set_policy(trainer, plan)
    return trainer, pretrained


def _train(trainer: Any, checkpoint: Path | None) -> None:
    from fsdpwiz.train import starting

    starting.train(trainer, checkpoint)


def write_report(path: Path, report: Any) -> None:
    """Write what was exported for the command that follows the run; `report` is an ExportReport."""
    document = {field.name: getattr(report, field.name) for field in dataclasses.fields(report)}
    document["findings"] = [finding.to_json() for finding in report.findings]
    write_text(path, json.dumps({"schema": 1, **document}, indent=2, default=str) + "\n")


def _gathered(reason: str) -> Finding:
    return Finding(
        code="P017",
        name="export-gathered",
        severity="info",
        message=f"rank 0 gathered the model's weights tensor by tensor and wrote them alone: {reason}",
    )


def _export(trainer: Any, session: Any) -> Any:
    from fsdpwiz.train.export.model import export_model

    return export_model(
        trainer.model_wrapped,
        plan=session.plan,
        folder=session.folder,
        tokenizer=trainer.processing_class,
        accelerator=trainer.accelerator,
    )
