"""The verbs as a command group that imports only the verb asked for."""

from __future__ import annotations

import importlib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from fsdpwiz.cli import verbs
from fsdpwiz.cli.options import add_shared_options

_FOLDER = Path(verbs.__file__).parent


def verb_names() -> list[str]:
    """The verbs, one per file of cli/verbs; `_` in a file's name is `-` in the verb's."""
    return sorted(path.stem.replace("_", "-") for path in _FOLDER.glob("[a-z]*.py"))


def verb_help(name: str) -> str:
    """The first line of the verb's docstring, read without importing the file."""
    with (_FOLDER / f"{name.replace('-', '_')}.py").open(encoding="utf-8") as stream:
        return stream.readline().strip().strip('"')


def load_verb(name: str) -> Any:
    """The verb's command: its module's `app` (a typer app with sub-commands) or function `command`."""
    module = importlib.import_module(f"{verbs.__name__}.{name.replace('-', '_')}")
    app = getattr(module, "app", None)
    if app is None:
        app = _plain_app()
        app.command(help=module.__doc__)(module.command)
    command = typer.main.get_command(app)
    command.name = name
    add_shared_options(command)
    return command


def _plain_app() -> typer.Typer:
    return typer.Typer(add_completion=False, rich_markup_mode=None)


class VerbGroup(TyperGroup):
    """Lists verbs from their files' first lines and imports one when it is called or completed."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  the base class's signature
        return verb_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  as above
        """A stand-in that has the verb's name and help, for listings."""
        if cmd_name not in verb_names():
            return None
        return TyperCommand(name=cmd_name, help=verb_help(cmd_name), callback=None, rich_markup_mode=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name in verb_names():
            return name, load_verb(name), args[1:]
        if not ctx.resilient_parsing:
            if name.startswith("-"):
                self.parse_args(ctx, args)
            ctx.fail(_no_such_verb(name))
        return None, None, args[1:]


def _no_such_verb(name: str) -> str:
    near = get_close_matches(name, verb_names(), n=1)
    return f"no verb `{name}`" + (
        f", did you mean `{near[0]}`" if near else f" (one of {', '.join(verb_names())})"
    )
