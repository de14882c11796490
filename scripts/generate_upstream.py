"""Write the tables of legal upstream keys (fsdpwiz/recipe/upstream/data) from the installed libraries.

    python scripts/generate_upstream.py           write the tables, and docs/reference/recipe.md
    python scripts/generate_upstream.py --check   write nothing; exit 1 and name what is out of step

One JSON file per section and package version: SECTION/PACKAGE-VERSION.json. Types are written as
alternatives of `int`, `float`, `bool`, `str`, `null`, `any`, `dict`, `list[…]`, `true`, `false`.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import importlib
import inspect
import json
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "fsdpwiz" / "recipe" / "upstream" / "data"
REFERENCE = ROOT / "docs" / "reference" / "recipe.md"

_PLAIN = {int: "int", float: "float", bool: "bool", str: "str", type(None): "null", Any: "any"}

# What the libraries accept but do not say in an annotation, with the place that shows it.
_CORRECTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "sft": {},
    "peft": {
        # peft/tuners/lora/layer.py, update_layer: a value that the annotation forgets
        "init_lora_weights": {"more_choices": ["lora_ga"]},
    },
    "quantization": {
        # transformers/utils/quantization_config.py, docstring and __init__
        "bnb_4bit_quant_type": {"choices": ["fp4", "nf4"]},
        "bnb_4bit_quant_storage": {"choices": ["float16", "float32", "int8", "uint8", "float64", "bfloat16"]},
        "bnb_4bit_compute_dtype": {"choices": ["float32", "float16", "bfloat16"]},
    },
    "parallelism": {
        # accelerate/utils/dataclasses.py, TorchContextParallelConfig.__post_init__
        "cp_comm_strategy": {"choices": ["allgather", "alltoall"]},
        # an argument of the command line is text; DeepSpeedSequenceParallelConfig takes a number
        "sp_seq_length": {"type": "int | null"},
    },
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where a file is out of step"
    )
    checking = parser.parse_args().check
    stale = _update(tables(), checking)
    stale += _update(reference(), checking)
    for path in stale:
        print(("out of step: " if checking else "wrote ") + str(path.relative_to(ROOT)))
    return 1 if checking and stale else 0


def _update(texts: dict[Path, str], checking: bool) -> list[Path]:
    """Write what differs, unless `checking`; the paths that did."""
    stale = []
    for path, text in texts.items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if not checking:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return stale


def tables() -> dict[Path, str]:
    """Path and text of every table, from the installed libraries."""
    from fsdpwiz.methods.method import methods

    found = [_dataclass_table(name, method.config_class) for name, method in methods().items()]
    found += [
        _launcher_table("fsdp"),
        _launcher_table("parallelism"),
        _dataclass_table("peft", "peft.LoraConfig"),
    ]
    found.append(_signature_table("quantization", "transformers.BitsAndBytesConfig"))
    return {
        DATA / table["section"] / f"{table['package']}-{table['version']}.json": json.dumps(table, indent=1)
        + "\n"
        for table in found
    }


def reference() -> dict[Path, str]:
    """Path and text of the reference page; it follows from the tables on disk."""
    from fsdpwiz.recipe.schema.reference import recipe_reference

    return {REFERENCE: recipe_reference()}


def _table(section: str, source: str, package: str, fields: dict[str, dict[str, Any]]) -> dict[str, Any]:
    for name, correction in _CORRECTIONS.get(section, {}).items():
        more = correction.get("more_choices", [])
        known = fields[name].get("choices", [])
        fields[name] |= {key: value for key, value in correction.items() if key != "more_choices"}
        if more:
            fields[name]["choices"] = [*known, *(value for value in more if value not in known)]
    return {
        "section": section,
        "source": source,
        "package": package,
        "version": version(package),
        "fields": fields,
    }


def _dataclass_table(section: str, path: str) -> dict[str, Any]:
    package, _, name = path.rpartition(".")
    config = getattr(importlib.import_module(package), name)
    hints = typing.get_type_hints(config)
    fields = {}
    for item in dataclasses.fields(config):
        kinds, choices = _kinds(hints[item.name])
        choices = [*choices, *(item.metadata.get("choices") or ())]
        fields[item.name] = _field(kinds, _plain_default(item), choices, str(item.metadata.get("help", "")))
    return _table(section, path, package.split(".")[0], fields)


def _launcher_table(section: str) -> dict[str, Any]:
    """The keys of one section of Accelerate's YAML: the launcher's own arguments, without their prefix.

    Defaults are the launcher's, which is what a rank sees where the YAML lacks the key.
    """
    from accelerate.commands.launch import launch_command_parser

    prefix = {"fsdp": "fsdp_", "parallelism": "parallelism_config_"}[section]
    fields = {
        action.dest.removeprefix(prefix): _argument(action)
        for action in launch_command_parser()._actions
        if action.dest.startswith(prefix)
    }
    if section == "fsdp":
        _complete_fsdp(fields)
    return _table(section, f"accelerate launch, {prefix}*", "accelerate", fields)


def _argument(action: argparse.Action) -> dict[str, Any]:
    default: Any = action.default
    kind = "int" if action.type is int else "bool" if action.type is bool else "str"
    if default in ("true", "false"):
        kind, default = "bool", default == "true"
    choices = list(action.choices or ())
    if choices and all(str(choice).isdigit() for choice in choices):
        kind, default, choices = "int", int(str(default)), [int(choice) for choice in choices]
    return _field([kind], default, choices, str(action.help or ""))


def _complete_fsdp(fields: dict[str, dict[str, Any]]) -> None:
    """What the launcher's arguments leave to Accelerate's enums, and the key that has no argument."""
    from accelerate.utils import constants, launch

    for name in ("sharding_strategy", "auto_wrap_policy", "backward_prefetch", "state_dict_type"):
        fields[name]["choices"] = list(getattr(constants, f"FSDP_{name.upper()}"))
    strategies = list(constants.FSDP_SHARDING_STRATEGY)
    fields["reshard_after_forward"] |= {"type": "bool | str", "choices": [True, False, *strategies]}
    if "fsdp_ignored_modules" not in inspect.getsource(launch.prepare_multi_gpu_env):
        raise SystemExit("Accelerate's launcher no longer reads fsdp_ignored_modules")
    help_text = "Modules that FSDP leaves alone: a regular expression, matched against whole module names."
    fields["ignored_modules"] = _field(["str"], None, [], help_text)


def _signature_table(section: str, path: str) -> dict[str, Any]:
    """The keyword arguments of a class without annotations; their types are in its docstring."""
    package, _, name = path.rpartition(".")
    config = getattr(importlib.import_module(package), name)
    documented = _documented(inspect.getdoc(config) or "")
    fields = {}
    for parameter in inspect.signature(config.__init__).parameters.values():
        if parameter.default is inspect.Parameter.empty:
            continue
        kinds, text = documented[parameter.name]
        fields[parameter.name] = _field(kinds, parameter.default, [], text)
    return _table(section, path, package, fields)


def _documented(docstring: str) -> dict[str, tuple[list[str], str]]:
    entry = re.compile(r"^ *(\w+) \(([^\n]*)\):\n((?:(?! *\w+ \().*\n?)*)", re.MULTILINE)
    names = {"bool": "bool", "float": "float", "str": "str", "torch.dtype": "str", "list[str]": "list[str]"}
    found = {}
    for name, declared, text in entry.findall(docstring):
        words = re.findall(r"[\w.\[\]]+", declared.split("*optional*")[0])
        kinds = list(dict.fromkeys(names[word] for word in words if word in names))
        found[name] = (kinds, " ".join(text.split()))
    return found


def _kinds(annotation: Any) -> tuple[list[str], list[Any]]:
    """The alternatives of an annotation as words, and the values of its enums and literals.

    The words are sorted: `typing` gives back whichever of two equal unions a process made first.
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _PLAIN:
        return [_PLAIN[annotation]], []
    if origin in (typing.Union, types.UnionType):
        return _joined(_kinds(argument) for argument in arguments)
    if origin is typing.Literal:
        return _literal(arguments)
    if origin is list or annotation is list:
        return [f"list[{_item(arguments)}]"], []
    if origin is tuple:
        return [f"list[{_item(arguments[:1])}]"], []
    if origin is dict or annotation is dict or dataclasses.is_dataclass(annotation):
        return ["dict"], []
    if inspect.isclass(annotation) and issubclass(annotation, enum.Enum):
        return ["str"], [member.value for member in annotation]
    raise SystemExit(f"no word for the annotation {annotation!r}")


def _literal(values: Iterable[Any]) -> tuple[list[str], list[Any]]:
    kinds = [str(value).lower() if isinstance(value, bool) else _PLAIN[type(value)] for value in values]
    return list(dict.fromkeys(kinds)), [value for value in values if not isinstance(value, bool)]


def _item(arguments: tuple[Any, ...]) -> str:
    return " | ".join(_kinds(arguments[0])[0]) if arguments else "any"


def _joined(parts: Iterable[tuple[list[str], list[Any]]]) -> tuple[list[str], list[Any]]:
    kinds: list[str] = []
    choices: list[Any] = []
    for more_kinds, more_choices in parts:
        kinds += [kind for kind in more_kinds if kind not in kinds]
        choices += more_choices
    return sorted(kinds), choices


def _field(kinds: list[str], default: Any, choices: Iterable[Any], help_text: str) -> dict[str, Any]:
    nullable = default is None or "null" in kinds
    kinds = [kind for kind in kinds if kind != "null"] + ["null"] * nullable
    field: dict[str, Any] = {"type": " | ".join(kinds), "default": default}
    listed = list(dict.fromkeys(choices))
    if listed and "bool" in kinds and True not in listed:
        listed = [True, False, *listed]
    if listed:
        field["choices"] = listed
    return field | {"help": " ".join(help_text.replace("%%", "%").split())}


def _plain_default(item: dataclasses.Field[Any]) -> Any:
    """The field's default in JSON's terms; an object's is an empty mapping."""
    if item.default_factory is not dataclasses.MISSING:
        factory: Callable[[], Any] = item.default_factory
        made = factory()
        return made if isinstance(made, (dict, list)) else {}
    default = None if item.default is dataclasses.MISSING else item.default
    return default.value if isinstance(default, enum.Enum) else default


if __name__ == "__main__":
    sys.exit(main())
