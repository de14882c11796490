"""The tables of upstream keys: well formed, and what the installed libraries have."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.methods.method import methods
from fsdpwiz.recipe import ownership
from fsdpwiz.recipe.ownership import owned
from fsdpwiz.recipe.schema.keys import dotted_keys
from fsdpwiz.recipe.schema.upstream_section import annotation, section_model
from fsdpwiz.recipe.upstream import METHOD, SECTIONS, fields, table, versions
from fsdpwiz.recipe.upstream.table import _choose

_DATA = Path(ownership.__file__).parent / "upstream" / "data"


def _document(name: str) -> Any:
    return json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))


def test_known_values() -> None:
    assert fields("sft")["max_length"].default == 1024
    assert fields("sft")["max_length"].type == "int | null"
    assert fields("sft")["gradient_checkpointing"].default is True
    assert "adamw_torch_fused" in fields("sft")["optim"].choices
    assert fields("fsdp")["version"].choices == (1, 2)
    assert fields("fsdp")["version"].default == 1
    assert fields("fsdp")["sharding_strategy"].default == "FULL_SHARD"
    assert fields("peft")["r"].default == 8
    assert fields("quantization")["bnb_4bit_quant_type"].choices == ("fp4", "nf4")
    assert fields("parallelism")["dp_shard_size"].minimum == 1


def test_fsdp_has_the_keys_of_accelerates_file_and_no_prefix() -> None:
    assert len(fields("fsdp")) == 16
    assert not [name for name in fields("fsdp") if name.startswith("fsdp_")]
    assert not [name for name in fields("parallelism") if name.startswith("parallelism")]


def test_unknown_section_is_refused() -> None:
    with pytest.raises(KeyError):
        fields("model")


@pytest.mark.parametrize("section", SECTIONS)
def test_every_default_and_choice_is_of_its_type(section: str) -> None:
    from pydantic import TypeAdapter

    for field in fields(section).values():
        adapter: TypeAdapter[Any] = TypeAdapter(annotation(field.type))
        for value in (field.default, *field.choices):
            adapter.validate_python(value, strict=True)
        if field.choices and field.default is not None:
            assert field.default in field.choices


@pytest.mark.parametrize("section", SECTIONS)
def test_every_legal_default_passes_the_model(section: str) -> None:
    model = section_model(section)
    for name, field in fields(section).items():
        if name not in owned(section):
            model.model_validate({name: field.default})


@pytest.mark.parametrize("name", ["bounds", "owners"])
def test_hand_kept_tables_name_real_keys(name: str) -> None:
    for section, entries in _document(name).items():
        for real in methods() if section == METHOD else (section,):
            if real in SECTIONS:
                assert set(entries) <= set(fields(real))


def test_owners_are_keys_or_sentences() -> None:
    for entries in _document("owners").values():
        for entry in entries.values():
            assert " " in entry["owner"] or entry["owner"] in dotted_keys()


def test_renames_lead_to_legal_keys_from_names_that_are_not() -> None:
    legal = set(dotted_keys())
    for section, entries in _document("renames").items():
        for real in methods() if section == METHOD else (section,):
            for old, new in entries.items():
                assert f"{real}.{new}".lstrip(".") in legal
                assert f"{real}.{old}".lstrip(".") not in legal


def test_values_lead_to_legal_values() -> None:
    from fsdpwiz.recipe.load import read_recipe
    from fsdpwiz.recipe.overrides import write_override

    for key, entries in _document("values").items():
        for said in entries.values():
            faults = [
                problem.code for problem in read_recipe("script: x\n", [write_override(key, said)]).problems
            ]
            assert faults == []


@pytest.mark.parametrize(
    ("installed", "chosen"),
    [("1.16.0", "1.16.0"), ("1.16.9", "1.16.1"), ("1.9.3", "1.9.0"), ("2.0.0", "1.16.1"), (None, "1.16.1")],
)
def test_table_is_chosen_by_the_installed_version(
    monkeypatch: pytest.MonkeyPatch, installed: str | None, chosen: str
) -> None:
    from importlib import import_module

    module = import_module("fsdpwiz.recipe.upstream.table")
    monkeypatch.setattr(module, "_installed", lambda package: installed if package == "some-lib" else "0")
    paths = [Path(f"some-lib-{number}.json") for number in ("1.16.0", "1.16.1", "1.9.0")]
    assert _choose(paths) == Path(f"some-lib-{chosen}.json")


def test_versions_name_every_package() -> None:
    assert set(versions()) == {"trl", "accelerate", "peft", "transformers"}
    assert versions()["trl"] == table("sft").version


@pytest.mark.slow
def test_tables_are_what_the_installed_libraries_have() -> None:
    pytest.importorskip("trl")
    from scripts.generate_upstream import tables

    written = tables()
    assert len(written) == len(SECTIONS)
    for path, text in written.items():
        assert path.is_file(), f"run scripts/generate_upstream.py: no table for {path.stem}"
        assert path.read_text(encoding="utf-8") == text, (
            f"run scripts/generate_upstream.py: {path.name} has drifted"
        )
    assert versions()["trl"] == version("trl")
