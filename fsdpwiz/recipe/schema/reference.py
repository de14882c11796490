"""The reference page of the recipe, made from the models and tables that check it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from fsdpwiz.methods.method import methods
from fsdpwiz.recipe.ownership import owned
from fsdpwiz.recipe.schema.annotation import choices_of, section_of, words
from fsdpwiz.recipe.schema.part import Part
from fsdpwiz.recipe.schema.settings import Settings
from fsdpwiz.recipe.schema.upstream_section import UpstreamSection
from fsdpwiz.recipe.shown import shown
from fsdpwiz.recipe.upstream import UpstreamField, fields, table

_INTRODUCTION = """\
# The recipe

One YAML file says what a run is. Each section below lists every legal key; any other key is an error that
names the nearest legal one and the line. Sections with an upstream source take that library's own keys and
values, verbatim.

YAML 1.2 is read: `no` and `yes` are text, `5e-5` is a number, a quoted number is text. A key may stand
once. Entries of `env` and `slurm.options`, and items of `script_args`, are taken as the text they are
written as.

Any key can be set on the command line: `fsdpwiz run RECIPE sft.max_steps=10`, where the value is YAML and
`null` unsets a key of fsdpwiz. The command line wins over the recipe, the recipe over the site file
(`$FSDPWIZ_SITE`, else `~/.config/fsdpwiz/site.yaml`, else `/etc/fsdpwiz/site.yaml`; it takes `slurm`,
`env`, `cluster` and `output_dir`).

Paths are looked for beside the recipe first, then in the current folder.

This page is written by `scripts/generate_upstream.py`.
"""


def recipe_reference() -> str:
    """The page as Markdown; the same for the same tables."""
    ordered = ("model", "data", *methods(), *Settings.model_fields)
    sections = list(
        dict.fromkeys(name for name in ordered if section_of(Settings.model_fields[name]) is not None)
    )
    parts = [_INTRODUCTION, _section_text("Top level", Settings, _own_rows(Settings), "")]
    for name in sections:
        model = section_of(Settings.model_fields[name])
        if model is not None:
            parts += _section(name, model)
    return "\n".join(parts)


def _section(name: str, model: type[Part]) -> Iterator[str]:
    if issubclass(model, UpstreamSection):
        yield _section_text(f"`{name}`", model, _upstream_rows(name), _upstream_words(name))
        return
    yield _section_text(f"`{name}`", model, _own_rows(model), _sentence(model.__doc__))
    for inner_name, field in model.model_fields.items():
        if (inner := section_of(field)) is not None:
            yield from _section(f"{name}.{inner_name}", inner)


def _section_text(title: str, model: type[Part], rows: list[str], text: str) -> str:
    columns = (
        ["Key", "Takes", "Default", "What"]
        if issubclass(model, UpstreamSection)
        else ["Key", "Takes", "What"]
    )
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join([f"## {title}\n", *([f"{text}\n"] if text else []), *head, *rows, ""])


def _own_rows(model: type[Part]) -> list[str]:
    return [
        _row(f"`{name}`", _takes(field), field.description or "")
        for name, field in model.model_fields.items()
        if not (model is Settings and section_of(field) is not None)
    ]


def _upstream_rows(section: str) -> list[str]:
    known = fields(section)
    legal = [field for name, field in known.items() if name not in owned(section)]
    return [
        _row(f"`{field.name}`", _upstream_takes(field), _value(field.default), field.help) for field in legal
    ]


def _upstream_words(section: str) -> str:
    source = table(section)
    text = f"{source.source} of {source.package} {source.version}."
    elsewhere = [f"`{name}` ({_owner(entry)})" for name, entry in owned(section).items()]
    return f"{text} Not here but elsewhere: {', '.join(elsewhere)}." if elsewhere else text


def _owner(entry: dict[str, Any]) -> str:
    owner = str(entry["owner"])
    return owner if " " in owner else f"`{owner}`"


def _takes(field: FieldInfo) -> str:
    if choices := choices_of(field):
        return ", ".join(_value(choice) for choice in choices)
    said = words(field)
    return said.removesuffix(" or null")


def _upstream_takes(field: UpstreamField) -> str:
    if field.choices:
        return ", ".join(_value(choice) for choice in field.choices)
    bounds = {"from": field.minimum, "above": field.above, "to": field.maximum}
    limits = " ".join(f"{word} {bound}" for word, bound in bounds.items() if bound is not None)
    return f"{field.type.replace(' | ', ' or ')} {limits}".strip()


def _value(value: Any) -> str:
    if value in ({}, []) or isinstance(value, (dict, list)):
        return f"`{'{}' if isinstance(value, dict) else value}`"
    return f"`{shown('', value, quoted=value == '')}`"


def _row(*cells: str) -> str:
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split())
