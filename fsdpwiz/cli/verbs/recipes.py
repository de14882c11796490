"""List, show and copy the shipped recipes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fsdpwiz.cli.completion import recipes as complete_recipe
from fsdpwiz.cli.output import out
from fsdpwiz.recipe.library import Shipped, shipped

app = typer.Typer(rich_markup_mode=None, add_completion=False)

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="A shipped recipe.", autocompletion=complete_recipe, show_default=False
    ),
]


@app.callback(invoke_without_command=True)
def command(context: typer.Context) -> None:
    """List, show and copy the shipped recipes; without a sub-command, list them."""
    if context.invoked_subcommand is None:
        _list()


def _list() -> None:
    found = shipped()
    if out.json:
        rows = [{"name": recipe.name, "title": recipe.title, "path": str(recipe.path)} for recipe in found]
        return out.document({"recipes": rows})
    width = max((len(recipe.name) for recipe in found), default=0)
    for recipe in found:
        out.data(f"{recipe.name:<{width}}  {recipe.title}")
    out.note("\n`fsdpwiz recipes copy NAME` makes one yours")
    return None


@app.command()
def show(name: NameArgument) -> None:
    """Print a shipped recipe."""
    recipe = _named(name)
    text = recipe.path.read_text(encoding="utf-8")
    if out.json:
        return out.document({"name": recipe.name, "path": str(recipe.path), "text": text})
    return out.data(text.rstrip("\n"))


@app.command()
def copy(
    name: NameArgument,
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="PATH", help="File or folder to copy to, by default this one.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Copy a shipped recipe, and the data beside it that it names, to edit it."""
    from fsdpwiz.cli.recipe_copy import copy_recipe

    written = copy_recipe(_named(name), path or Path(), force=force)
    if out.json:
        return out.document({"written": [str(file) for file in written]})
    for file in written:
        out.note(f"wrote {file}")
    return out.note(f"next: fsdpwiz validate {written[0]}")


def _named(name: str) -> Shipped:
    found = {recipe.name: recipe for recipe in shipped()}
    bare = name.removesuffix(".yaml").removesuffix(".yml")
    if bare in found:
        return found[bare]
    from difflib import get_close_matches

    near = get_close_matches(bare, found, n=1)
    raise typer.BadParameter(
        f"no shipped recipe `{name}`"
        + (f", did you mean `{near[0]}`" if near else f" (one of {', '.join(found)})")
    )
