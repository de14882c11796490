"""The program `fsdpwiz`: reads the command line, calls one verb, answers with an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from fsdpwiz import __version__
from fsdpwiz.cli.options import add_shared_options
from fsdpwiz.cli.output import discard, open_closed_streams, out
from fsdpwiz.cli.verb_group import VerbGroup
from fsdpwiz.core import exit_codes

PROGRAM = "fsdpwiz"
_COMPLETION_VARIABLE = "_FSDPWIZ_COMPLETE"
# Typer brings its own copy of click in some versions and depends on click in others; both have this base.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (by default the process's) and return the exit code."""
    open_closed_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    out.reset(json="--json" in _before_double_dash(words))
    if _COMPLETION_VARIABLE in os.environ:
        return _complete(words)
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        discard("stdout")
        code = exit_codes.OK
    except OSError as error:
        discard("stdout")
        code = _failed(error)
    return code


def build_command() -> Any:
    """The command group, with the options that stand before the verb."""
    app = typer.Typer(
        name=PROGRAM,
        cls=VerbGroup,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_root)
    command = typer.main.get_command(app)
    add_shared_options(command)
    return command


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    install_completion: Annotated[
        bool, typer.Option("--install-completion", help="Install completion for the current shell.")
    ] = False,
    show_completion: Annotated[
        bool, typer.Option("--show-completion", help="Show completion for the current shell.")
    ] = False,
) -> None:
    """Fine-tune large models with PyTorch FSDP and TRL: one recipe in, a model that loads out."""
    if version:
        _show_version()
        raise typer.Exit()
    if install_completion or show_completion:
        _offer_completion(context, install=install_completion)
    if context.invoked_subcommand is None:
        out.text(context.get_help())
        raise typer.Exit()


def _show_version() -> None:
    if out.json:
        out.document({"version": __version__})
    out.data(f"{PROGRAM} {__version__}")


def _complete(words: list[str]) -> int:
    """Answer the shell's question, which stands in the environment."""
    _know_the_shells()
    return int(build_command().main(words, prog_name=PROGRAM, standalone_mode=False) or 0)


def _offer_completion(context: typer.Context, *, install: bool) -> None:
    """Install or show the shell's completion script; typer ends the process."""
    from typer import completion

    _know_the_shells()
    callback: Any = completion.install_callback if install else completion.show_callback
    callback(context, None, True)


def _know_the_shells() -> None:
    """Let typer register its completion classes, as it does for an app with its own completion options."""
    from typer import completion

    completion.completion_init()  # type: ignore[attr-defined]  # imported there, not defined


def _run(words: list[str]) -> int:
    command = build_command()
    try:
        with command.make_context(PROGRAM, words) as context:
            return int(command.invoke(context) or exit_codes.OK)
    except typer.Exit as ended:
        return ended.exit_code
    except (KeyboardInterrupt, typer.Abort):
        out.warn("interrupted")
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        raise
    except _UsageError as error:
        return _usage_failed(error)
    except Exception as error:
        return _failed(error)


def _usage_failed(error: Any) -> int:
    from fsdpwiz.cli.failures import usage_finding

    command = error.ctx.command_path if error.ctx is not None else PROGRAM
    ours = isinstance(error, typer.BadParameter) and error.param is None and error.param_hint is None
    message = error.message if ours else error.format_message()
    finding = usage_finding(message.rstrip("."), command)
    if out.json:
        out.document({"findings": [finding.to_json()]})
    out.findings([finding])
    return exit_codes.NOT_JUDGED


def _failed(error: Exception) -> int:
    from fsdpwiz.cli.failures import failure_exit_code, failure_findings

    findings = failure_findings(error)
    if out.json:
        out.document({"findings": [finding.to_json() for finding in findings]})
    out.findings(findings)
    if out.debug:
        import traceback

        out.traceback("".join(traceback.format_exception(error)))
    return failure_exit_code(findings)


def _before_double_dash(words: list[str]) -> list[str]:
    return words[: words.index("--")] if "--" in words else words
