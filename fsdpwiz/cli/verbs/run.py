"""Train: validate the recipe, launch it, follow it to the model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fsdpwiz.cli.completion import recipes
from fsdpwiz.cli.options import OverridesArgument, StrictOption
from fsdpwiz.cli.output import out
from fsdpwiz.cli.pipeline import prepare
from fsdpwiz.core import exit_codes
from fsdpwiz.core.findings import Finding
from fsdpwiz.exec.interrupts import noted
from fsdpwiz.launch.display import Bar, Display, Lines, Silence
from fsdpwiz.launch.files import command_text, unmade_run
from fsdpwiz.launch.local import command_for
from fsdpwiz.launch.node import DEFAULT_PORT, Node, meeting_place, parse_address
from fsdpwiz.launch.report import report
from fsdpwiz.launch.start import Attempted, Request, Screen, judge, resumable, start
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.overrides import write_override
from fsdpwiz.render.accelerate_yaml import accelerate_yaml
from fsdpwiz.render.effective import effective
from fsdpwiz.render.environment import rank_environment
from fsdpwiz.rules.report import exit_code
from fsdpwiz.runs.checkpoints import latest_checkpoint
from fsdpwiz.runs.create import is_safe_name
from fsdpwiz.runs.find import LAST, find_run
from fsdpwiz.runs.layout import RunFolder

_OUTPUT_DIR = "runs"
_ENDED = "I033"


def command(  # noqa: PLR0913  one parameter for each option
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE",
            help="Path of a recipe, with or without its suffix, or the name of a shipped one.",
            autocompletion=recipes,
            show_default=False,
        ),
    ] = None,
    overrides: OverridesArgument = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be launched, and touch nothing.")
    ] = False,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Go on with a run: its folder, its name (the latest of it) or `last`.",
            show_default=False,
        ),
    ] = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder of the run folders, over the recipe's.", show_default=False
        ),
    ] = None,
    node_rank: Annotated[
        int, typer.Option(metavar="R", min=0, help="Which of several nodes this is.", show_default=False)
    ] = 0,
    main_address: Annotated[
        str | None,
        typer.Option(metavar="HOST[:PORT]", help="Where the nodes meet: node 0.", show_default=False),
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Name of the run's folder, for all its nodes.", show_default=False),
    ] = None,
    strict: StrictOption = False,
) -> int:
    """Train: validate a recipe, launch it, follow it to a model that loads."""
    node = _node(node_rank, main_address, run_id, resume)
    if resume is not None and recipe is not None and "=" not in recipe:
        raise typer.BadParameter(f"`{recipe}` beside --resume: a run goes on with its own recipe")
    run = None if resume is None else find_run(resume, output_dir or Path(_OUTPUT_DIR))
    reference, values = _words(recipe, overrides, run, node)
    if output_dir is not None and run is None:
        values.append(write_override("output_dir", str(output_dir)))
    port = node.port if node.rank == 0 else None
    prepared = prepare(reference, values, verb="dry-run" if dry_run else "run", port=port)
    plan, findings = prepared.plan, prepared.report.findings
    if plan is not None:
        plan, further = judge(prepared.recipe, plan, run)
        known = {finding.code for finding in findings}
        findings = (*findings, *(finding for finding in further if finding.code not in known))
        node = _place(node, plan)
    code = exit_code(findings, strict=strict)
    if dry_run:
        return _show(plan, findings, node, run, code)
    out.findings(findings)
    if plan is None or code:
        _document(None, findings)
        return code or exit_codes.FOUND
    if any(finding.code == _ENDED for finding in findings):
        _document(None, findings, {"run": str(run.root) if run else None, "state": "finished"})
        return code
    words = ("fsdpwiz", "run", *(("--resume", str(run.root)) if run else (reference,)), *values)
    request = Request(
        recipe=prepared.recipe,
        plan=plan,
        findings=findings,
        node=node,
        run_id=run_id,
        resumed=run,
        words=words,
    )
    return _launch(request)


def _node(rank: int, address: str | None, run_id: str | None, resume: str | None) -> Node:
    """The node that the options describe; raises BadParameter where they leave something open."""
    if rank > 0 and address is None:
        raise typer.BadParameter(f"--node-rank {rank} needs --main-address: where node 0 is")
    if rank > 0 and resume is None and run_id is None:
        raise typer.BadParameter(f"--node-rank {rank} needs --run-id: which run it takes part in")
    if run_id is not None and resume is not None:
        raise typer.BadParameter("--run-id is for a new run, --resume for one that is there")
    if run_id is not None and not is_safe_name(run_id):
        raise typer.BadParameter(f"--run-id `{run_id}` is not letters, digits, `.`, `_` and `-`")
    if run_id == LAST:
        raise typer.BadParameter(f"--run-id `{LAST}` means the latest run; give another")
    if address is None:
        return Node(rank=rank)
    try:
        host, port = parse_address(address)
    except ValueError as error:
        raise typer.BadParameter(f"--main-address: {error}") from None
    return Node(rank=rank, address=host, port=port or DEFAULT_PORT)


def _words(
    recipe: str | None, overrides: Sequence[str] | None, run: RunFolder | None, node: Node
) -> tuple[str, list[str]]:
    """What to load and what to override: with --resume every word is an override."""
    if run is None:
        if recipe is None:
            raise typer.BadParameter("a recipe is missing: `fsdpwiz run RECIPE`, or `--resume RUN`")
        return recipe, list(overrides or ())
    values = ([] if recipe is None else [recipe]) + list(overrides or ())
    return str(resumable(run, node_rank=node.rank)), values


def _place(node: Node, plan: Plan) -> Node:
    if node.rank >= plan.world.nodes:
        raise typer.BadParameter(f"--node-rank {node.rank}: the recipe has {plan.world.nodes} node(s)")
    if not is_safe_name(plan.name):
        raise typer.BadParameter(f"`{plan.name}` cannot name a folder; set `name` in the recipe")
    return meeting_place(node, plan.world.nodes)


def _show(
    plan: Plan | None, findings: tuple[Finding, ...], node: Node, resumed: RunFolder | None, code: int
) -> int:
    """--dry-run: everything a launch would be made of."""
    out.findings(findings)
    if plan is None:
        _document(None, findings)
        return code or exit_codes.FOUND
    run = resumed or unmade_run(plan, Path(plan.output_dir).expanduser())
    words = command_for(plan, run, node)
    out.data(f"# accelerate.yaml\n{accelerate_yaml(plan)}")
    out.data(f"# launch command\n{command_text(plan, words)}")
    out.data(f"# effective settings\n{effective(plan).text()}")
    out.note("nothing was written or started")
    if out.json:
        dry = {
            "accelerate": accelerate_yaml(plan),
            "command": words,
            "environment": rank_environment(plan),
            "effective": effective(plan).to_json(),
        }
        _document(None, findings, dry)
    return code


def _launch(request: Request) -> int:
    screen = Screen(note=out.note, tell=out.warn, display=_display)
    with noted() as interrupts:
        try:
            attempted = start(request, screen, interrupts)
        except FileExistsError as error:
            raise typer.BadParameter(
                f"--run-id {request.run_id}: {error.filename} is there already"
            ) from None
    if attempted is None:
        out.warn("interrupted before the launch")
        _document(None, request.findings, {"state": "cancelled"})
        return exit_codes.INTERRUPTED
    return _answer(attempted, request.findings)


def _display() -> Display:
    if out.quiet:
        return Silence()
    if out.interactive("stderr"):
        return Bar(sys.stderr, colour=out.coloured("stderr"))
    return Lines(out.note)


def _answer(attempted: Attempted, findings: tuple[Finding, ...]) -> int:
    outcome, run = attempted.outcome, attempted.run
    findings = (*findings, *outcome.noticed, *([outcome.finding] if outcome.finding is not None else ()))
    _document(attempted, findings)
    if outcome.survivors:
        out.warn(f"processes that could not be ended: {', '.join(map(str, outcome.survivors))}")
    if outcome.state == "finished":
        out.data(report(attempted.plan, run, outcome))
        out.findings(outcome.noticed)
        if outcome.finding is not None:
            out.findings([outcome.finding])
        return exit_code([outcome.finding] if outcome.finding else [], strict=False)
    if outcome.state == "cancelled":
        out.findings(outcome.noticed)
        out.warn(f"interrupted; {_how_to_go_on(run)}")
        return exit_codes.INTERRUPTED
    if outcome.traceback:
        out.warn(outcome.traceback.rstrip())
    out.findings(outcome.noticed)
    if outcome.finding is not None:
        out.findings([replace(outcome.finding, evidence=())])
    out.note(f"the run's files are in {run.root}; {_how_to_go_on(run)}")
    return exit_codes.FOUND


def _how_to_go_on(run: RunFolder) -> str:
    checkpoint = latest_checkpoint(run)
    if checkpoint is None:
        return "it has no complete checkpoint to go on from"
    return f"`fsdpwiz run --resume {run.root}` goes on from {checkpoint.name}"


def _document(
    attempted: Attempted | None, findings: tuple[Finding, ...], further: Mapping[str, Any] | None = None
) -> None:
    """The document of --json."""
    if not out.json:
        return
    outcome = None if attempted is None else attempted.outcome
    out.document(
        {
            "run": None if attempted is None else str(attempted.run.root),
            "state": None if outcome is None else outcome.state,
            "exit_code": None if outcome is None else outcome.exit_code,
            "model": None if outcome is None or outcome.model is None else str(outcome.model),
            "steps": None if outcome is None else outcome.progress.step,
            "final_loss": None if outcome is None else outcome.progress.loss,
            "findings": [finding.to_json() for finding in findings],
            **(further or {}),
        }
    )
