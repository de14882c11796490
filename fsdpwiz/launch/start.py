"""From a judged plan to an attempt that runs: the folder made or gone on with, the nodes brought together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fsdpwiz.core.errors import FsdpwizError, ProblemError
from fsdpwiz.core.findings import Finding
from fsdpwiz.core.problem import Problem
from fsdpwiz.exec.interrupts import Interrupts
from fsdpwiz.launch import findings as launch_findings
from fsdpwiz.launch.display import Display
from fsdpwiz.launch.files import artifacts
from fsdpwiz.launch.local import Outcome, run_local
from fsdpwiz.launch.node import Node, lines_for_others
from fsdpwiz.launch.peers import wait_for_start
from fsdpwiz.launch.resume import ended, resume_problems
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.paths import resolve_path
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.engine import word
from fsdpwiz.runs.artifacts import write_artifacts
from fsdpwiz.runs.checkpoints import latest_checkpoint
from fsdpwiz.runs.create import new_run
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.state import OPEN, last_attempt, read_state, write_status


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be launched. `resumed` is the run to go on with, None for a new one, whose id may be given.

    `words` is this node's command line, without what is a node's own.
    """

    recipe: Recipe
    plan: Plan
    findings: tuple[Finding, ...]
    node: Node
    run_id: str | None = None
    resumed: RunFolder | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """How a launch speaks to the user: notes, what must be seen even by the quiet, progress."""

    note: Callable[[str], None]
    tell: Callable[[str], None]
    display: Callable[[], Display]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """An attempt and how it ended."""

    plan: Plan
    run: RunFolder
    outcome: Outcome


def resumable(run: RunFolder, *, node_rank: int = 0) -> Path:
    """The recipe that `run` goes on with; raises FsdpwizError P025 where it is still running.

    Raises ProblemError S010 where the run has lost its recipe.
    """
    state = read_state(run)
    if node_rank == 0 and state.state in OPEN:
        detail = {"run": str(run.root), "state": state.state, "pid": state.pid, "host": state.host}
        raise FsdpwizError(word(Problem(code="P025", detail=detail)))
    recipe = run.recipe_fixed if run.recipe_fixed.is_file() else run.recipe
    if not recipe.is_file():
        raise ProblemError(Problem(code="S010", detail={"run": str(run.root), "path": str(recipe)}))
    return recipe


def judge(recipe: Recipe, plan: Plan, resumed: RunFolder | None) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan as it can be launched from here, and what only a launch can find wrong with it."""
    problems: list[Problem] = []
    if resumed is not None:
        problems += resume_problems(plan, resumed)
        problems += filter(None, [ended(plan, resumed)])
    if plan.script is not None:
        script = resolve_path(recipe, plan.script)
        if script is None or not script.is_file():
            problems.append(Problem(code="P026", key="script", detail={"script": plan.script}))
        else:
            plan = plan.model_copy(update={"script": str(script.absolute())})
    plan, missing = _with_start_checkpoint(recipe, plan)
    problems += filter(None, [missing])
    return plan, tuple(word(problem) for problem in problems)


def _with_start_checkpoint(recipe: Recipe, plan: Plan) -> tuple[Plan, Problem | None]:
    """The plan with the checkpoint it starts from as an absolute path; I036 where there is no such folder."""
    given = plan.training.get("resume_from_checkpoint")
    if not given or plan.script is not None:
        return plan, None
    folder = resolve_path(recipe, str(given))
    if folder is None or not folder.is_dir():
        key, detail = (
            f"{plan.method}.resume_from_checkpoint",
            {"path": given, "reason": "there is no such folder"},
        )
        return plan, Problem(code="I036", key=key, detail=detail)
    training = {**plan.training, "resume_from_checkpoint": str(folder.absolute())}
    return plan.model_copy(update={"training": training}), None


def start(request: Request, screen: Screen, interrupts: Interrupts) -> Attempted | None:
    """Launch this node's part and follow it to its end; None where the user interrupted before.

    Raises FsdpwizError where the folder cannot be made or is not to be found, FileExistsError
    where a given run id is taken.
    """
    node = request.node
    output_dir = Path(request.plan.output_dir).expanduser()
    try:
        if node.rank > 0:
            return _join(request, output_dir, screen, interrupts)
        run, attempt = _new(request, output_dir) if request.resumed is None else _resume(request, screen)
        screen.note(f"run folder {run.root}")
        for line in _others(request, run):
            screen.tell(line)
        if interrupts.requested:
            return None
        return _launch(request.plan, run, attempt, node, screen, interrupts)
    except OSError as error:
        if isinstance(error, FileExistsError) and Path(error.filename or "").name == request.run_id:
            raise
        raise FsdpwizError(launch_findings.of_os_error(error, output_dir)) from error


def _launch(
    plan: Plan, run: RunFolder, attempt: int, node: Node, screen: Screen, interrupts: Interrupts
) -> Attempted:
    display = screen.display()
    outcome = run_local(plan, run, attempt=attempt, node=node, display=display, interrupts=interrupts)
    return Attempted(plan=plan, run=run, outcome=outcome)


def _new(request: Request, output_dir: Path) -> tuple[RunFolder, int]:
    with new_run(output_dir, request.plan.name, run_id=request.run_id) as run:
        _write(request, run)
        write_status(run)
    return run, 1


def _resume(request: Request, screen: Screen) -> tuple[RunFolder, int]:
    run = request.resumed
    assert run is not None  # noqa: S101
    checkpoint = latest_checkpoint(run)
    if checkpoint is None:
        screen.note(f"{run.root} has no complete checkpoint: the training begins anew")
    else:
        screen.note(f"going on from {checkpoint.name}")
    attempt = last_attempt(run) + 1
    _write(request, run)
    return run, attempt


def _write(request: Request, run: RunFolder) -> None:
    resumed = request.resumed is not None
    content = artifacts(request.recipe, request.plan, request.findings, run, request.node, resumed=resumed)
    write_artifacts(run, content)


def _join(request: Request, output_dir: Path, screen: Screen, interrupts: Interrupts) -> Attempted | None:
    """Take part in what node 0 has started: its plan counts, not this node's."""
    run = request.resumed
    if run is None:
        assert request.run_id is not None  # noqa: S101
        run = RunFolder(output_dir.absolute() / request.plan.name / request.run_id)
    attempt = wait_for_start(run, request.node, note=screen.note, interrupts=interrupts)
    if attempt is None:
        return None
    screen.note(f"run folder {run.root}")
    return _launch(Plan.read(run.plan), run, attempt, request.node, screen, interrupts)


def _others(request: Request, run: RunFolder) -> Sequence[str]:
    nodes = request.plan.world.nodes
    if nodes == 1:
        return ()
    run_id = None if request.resumed is not None else run.root.name
    lines = lines_for_others(request.words, request.node, nodes, run_id=run_id)
    return (f"start on the other {'node' if nodes == 2 else 'nodes'}:", *(f"  {line}" for line in lines))
