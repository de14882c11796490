"""The JSON Schema says the same as the reader."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from fsdpwiz.methods.method import methods
from fsdpwiz.recipe.library import shipped
from fsdpwiz.recipe.load import read_recipe
from fsdpwiz.recipe.overrides import write_override
from fsdpwiz.recipe.schema.json_schema import recipe_schema
from fsdpwiz.recipe.schema.keys import dotted_keys
from tests.recipe.case_files import cases, names
from tests.recipe.json_schema_subset import is_valid

SCHEMA = recipe_schema()
FAULTS = [
    case
    for case in cases("faults")
    if case["problems"][0]["code"] in ("S001", "S002", "S003")
    and not {".nan", "-.inf"} & set(re.findall(r"-?\.\w+", case["recipe"]))
    # The schema does not tell characters or single words apart.
    and not re.search(r"\\0|name: last", case["recipe"])
]
LEGAL = cases("legal")


def schema_accepts(value: Any) -> bool:
    return is_valid(SCHEMA, value, SCHEMA)


def test_it_is_a_document_of_a_known_dialect() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert SCHEMA["$schema"].endswith("2020-12/schema")
    assert "trl" in SCHEMA["$comment"]


def test_every_key_is_described_and_no_section_is_open() -> None:
    for name in ("model", "data", "sft", "fsdp", "peft", "cluster", "slurm"):
        assert SCHEMA["properties"][name]["description"]
    for definition in SCHEMA["$defs"].values():
        assert definition["additionalProperties"] is False
        assert all("description" in entry for entry in definition["properties"].values())


def test_upstream_defaults_are_said() -> None:
    sft = SCHEMA["$defs"]["SftSection"]["properties"]
    assert sft["max_length"]["default"] == 1024
    assert sft["warmup_steps"]["default"] == 0
    assert "default" not in SCHEMA["$defs"]["ModelSection"]["properties"]["revision"]


@pytest.mark.parametrize("recipe", shipped(), ids=lambda recipe: recipe.name)
def test_shipped_recipes_meet_it(recipe: Any) -> None:
    assert schema_accepts(YAML(typ="safe", pure=True).load(recipe.path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("case", LEGAL, ids=names(LEGAL))
def test_legal_cases_meet_it(case: dict[str, Any]) -> None:
    assert schema_accepts(YAML(typ="safe", pure=True).load(case["recipe"].lstrip("\ufeff")))


@pytest.mark.parametrize("case", FAULTS, ids=names(FAULTS))
def test_faulty_cases_do_not(case: dict[str, Any]) -> None:
    value = YAML(typ="safe", pure=True).load(case["recipe"].replace("<<:", "'<<':"))
    whole = "1e8" in case["recipe"]  # JSON does not tell 100000000.0 from 100000000
    assert schema_accepts(value) is whole


_FREE = ("env", "ignore", "script_args", "slurm.options", "name")
_KEYS = [
    key
    for key in dotted_keys()
    if key not in _FREE
    and key.rpartition(".")[2] not in ("gradient_accumulation_steps", "processes_per_node")
    and "checkpointing" not in key.removeprefix("fsdp.")
]
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.just(0.5)
    | st.sampled_from(["", "no", "x", "FULL_SHARD"])
)
_VALUES = (
    _SCALARS
    | st.lists(_SCALARS, max_size=2)
    | st.dictionaries(st.sampled_from(["a", "version"]), _SCALARS, max_size=1)
)


@settings(deadline=None, max_examples=600)
@given(st.sampled_from(_KEYS), _VALUES)
def test_reader_and_schema_agree(key: str, value: Any) -> None:
    nested = value
    for part in reversed(key.split(".")):
        nested = {part: nested}
    problems = read_recipe("script: x\n", [write_override(key, value)]).problems
    faults = [problem.code for problem in problems if problem.code != "S007"]
    assert schema_accepts(nested) is (not faults), (key, value, faults)


def test_method_sections_are_all_there() -> None:
    assert set(methods()) <= set(SCHEMA["properties"])
