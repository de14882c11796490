"""Options every verb has, before or after its name, and argument types several verbs share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fsdpwiz.cli import completion
from fsdpwiz.cli.output import out

RecipeArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        help="Path of a recipe, with or without its suffix, or the name of a shipped one.",
        autocompletion=completion.recipes,
        show_default=False,
    ),
]
OverridesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SECTION.KEY=VALUE",
        help="Values that win over the recipe's, e.g. `sft.max_steps=10`.",
        autocompletion=completion.overrides,
        show_default=False,
    ),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Count warnings as errors.")]


def _json(value: bool) -> None:
    out.json = out.json or value


def _quiet(value: bool) -> None:
    out.quiet = out.quiet or value


def _verbose(value: bool) -> None:
    out.verbose = out.verbose or value


def _debug(value: bool) -> None:
    out.debug = out.debug or value


def _help(context: typer.Context, value: bool) -> None:
    if value:
        out.text(context.get_help())
        raise typer.Exit()


# Flags only, and a --help of our own: typer brings in pydantic for every other type of option, its own
# --help included, which makes up half the time of a cheap command.
def _shared(
    json: Annotated[
        bool,
        typer.Option(
            "--json", callback=_json, expose_value=False, help="One JSON document on stdout, nothing else."
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", callback=_quiet, expose_value=False, help="Only errors and what was asked for."
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", callback=_verbose, expose_value=False, help="Say more.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", callback=_debug, expose_value=False, help="Show the traceback of a failure of fsdpwiz."
        ),
    ] = False,
    help: Annotated[
        bool,
        typer.Option(
            "--help", "-h", callback=_help, expose_value=False, is_eager=True, help="Show this message."
        ),
    ] = False,
) -> None:
    pass


def add_shared_options(command: Any) -> None:
    """Give `command` and its sub-commands the shared options, behind their own."""
    app = typer.Typer(add_completion=False)
    app.command()(_shared)
    taken = {name for parameter in command.params for name in parameter.opts}
    for option in typer.main.get_command(app).params:
        if not taken.intersection(option.opts):
            command.params.append(option)
    for child in getattr(command, "commands", {}).values():
        add_shared_options(child)
