"""Overrides: typed by YAML, checked like the recipe, stronger than it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsdpwiz.core.origin import Origin
from fsdpwiz.recipe.load import read_recipe
from fsdpwiz.recipe.overrides import check_override, write_override
from fsdpwiz.recipe.schema.settings import Settings

RECIPE = """\
model: {name_or_path: some/model}
data: {name_or_path: some/data}
sft: {max_steps: 500, max_length: 1024}
fsdp: {version: 2}
peft: {rank_pattern: {q: 1}}
"""


def values(*overrides: str, text: str = RECIPE) -> dict[str, Any]:
    recipe = read_recipe(text, overrides)
    assert recipe.problems == ()
    return dict(recipe.given)


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("sft.max_steps=10", "sft.max_steps", 10),
        ("sft.learning_rate=5e-5", "sft.learning_rate", 5e-5),
        ("sft.packing=true", "sft.packing", True),
        ("sft.max_length=null", "sft.max_length", None),
        ("sft.max_length=", "sft.max_length", None),
        ("sft.run_name=a=b", "sft.run_name", "a=b"),
        ('sft.run_name="5"', "sft.run_name", "5"),
        ("sft.report_to=[wandb, none]", "sft.report_to", ["wandb", "none"]),
        (" sft.max_steps =10", "sft.max_steps", 10),
        ("mixed_precision=no", "mixed_precision", "no"),
        ("env.NCCL_DEBUG=INFO", "env.NCCL_DEBUG", "INFO"),
        ("env.OMP_NUM_THREADS=8", "env.OMP_NUM_THREADS", "8"),
        ("slurm.options.cpus-per-task=8", "slurm.options.cpus-per-task", "8"),
        ("ignore.A015=on purpose", "ignore.A015", "on purpose"),
        ("sft.lr_scheduler_kwargs.num_cycles=2", "sft.lr_scheduler_kwargs", {"num_cycles": 2}),
        ("peft.rank_pattern.v=2", "peft.rank_pattern", {"q": 1, "v": 2}),
        ("fsdp=null", "fsdp", None),
        ("fsdp={version: 1}", "fsdp", {"version": 1}),
    ],
)
def test_override_wins(override: str, key: str, value: object) -> None:
    recipe = read_recipe(RECIPE, [override], path=Path("r.yaml"))
    assert recipe.problems == ()
    assert recipe.has(key)
    assert recipe.value(key, "nothing") == value
    where = key if key in recipe.origins else key.rpartition(".")[0]
    assert recipe.origins[where].source in ("override", "recipe")
    assert recipe.overrides == (override,)


def test_what_is_not_overridden_stays() -> None:
    recipe = read_recipe(RECIPE, ["sft.max_steps=10"], path=Path("r.yaml"))
    assert recipe.value("sft") == {"max_steps": 10, "max_length": 1024}
    assert recipe.origins["sft.max_steps"] == Origin(source="override")
    assert recipe.origins["sft.max_length"] == Origin(source="recipe", file="r.yaml", line=3)
    assert recipe.origins["sft"] == Origin(source="recipe", file="r.yaml", line=3)


def test_null_of_a_section_takes_its_keys_along() -> None:
    recipe = read_recipe(RECIPE, ["fsdp=null"])
    assert recipe.has("fsdp")
    assert not recipe.has("fsdp.version")
    assert recipe.settings.fsdp is None


def test_key_brings_a_null_section_back() -> None:
    text = RECIPE.replace("fsdp: {version: 2}", "fsdp:")
    assert values("fsdp.version=1", text=text)["fsdp"] == {"version": 1}


def test_the_last_of_a_key_counts() -> None:
    assert values("sft.max_steps=10", "sft.max_steps=20")["sft"]["max_steps"] == 20


def test_null_unsets_a_variable() -> None:
    recipe = read_recipe(RECIPE + "env: {A: 1, B: 2}\n", ["env.A=null"])
    assert recipe.given["env"] == {"B": "2"}
    assert recipe.settings.env == {"B": "2"}
    assert not recipe.has("env.A")


@pytest.mark.parametrize(
    ("override", "code", "key", "detail"),
    [
        ("sft.max_lenght=5", "S001", "sft.max_lenght", {"nearest": "max_length"}),
        ("max_steps=5", "S001", "max_steps", {"elsewhere": ("sft.max_steps",)}),
        ("model.name_or_path.x=5", "S002", "model.name_or_path", {"got": "a mapping"}),
        ("sft=5", "S002", "sft", {}),
        ("sft.max_steps=many", "S002", "sft.max_steps", {"expected": "a whole number"}),
        ("sft.max_steps=null", "S002", "sft.max_steps", {"got": "null"}),
        ("fsdp.version=3", "S003", "fsdp.version", {"legal": (1, 2)}),
        ('output_dir="a\\0b"', "S003", "output_dir", {"legal": ("text without the character NUL",)}),
        ('env.A="a\\0b"', "S003", "env.A", {"got": "`a\\x00b`"}),
        ("ignore.A003=3", "S002", "ignore.A003", {"expected": "text"}),
        ("sft.bf16=true", "S004", "sft.bf16", {"owner": "mixed_precision"}),
        ("global_batch_size=8", None, None, {}),
        ("sft.max_steps", "S014", None, {"reason": "there is no `=`"}),
        ("", "S014", None, {}),
        ("=5", "S014", None, {"reason": "before the `=` stands no dotted key"}),
        ("sft..max_steps=5", "S014", None, {}),
        ("sft.=5", "S014", None, {}),
        ("sft max_steps=5", "S014", None, {}),
        ("a." * 200 + "b=1", "S014", None, {}),
        ("sft.report_to=[a", "S014", None, {}),
        ("sft.run_name=@x", "S014", None, {}),
        ("sft.run_name=a: b: c", "S014", None, {}),
        ("sft.run_name=!!python/name:os.system", "S014", None, {}),
        ("sft.run_name=\udcff", "S014", None, {"reason": "the value is not UTF-8 text"}),
        ("sft.dataset_kwargs=" + "[" * 50, "S014", None, {}),
    ],
)
def test_fault_has_neither_file_nor_line(
    override: str, code: str | None, key: str | None, detail: dict[str, Any]
) -> None:
    problems = read_recipe(RECIPE, [override], path=Path("r.yaml")).problems
    assert [(problem.code, problem.key) for problem in problems] == ([(code, key)] if code else [])
    for problem in problems:
        assert (problem.file, problem.line, problem.detail["source"]) == (None, None, "override")
        assert detail.items() <= dict(problem.detail).items()


def test_override_beside_its_rival_is_reported_where_the_rival_is() -> None:
    text = RECIPE + "global_batch_size: 8\n"
    (problem,) = read_recipe(text, ["sft.gradient_accumulation_steps=2"], path=Path("r.yaml")).problems
    assert (problem.code, problem.key, problem.file) == ("S004", "sft.gradient_accumulation_steps", None)


_TEXT = st.text().filter(lambda text: "\0" not in text)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(_TEXT, _VALUES, max_size=3))
def test_written_override_is_read_back(value: dict[str, Any]) -> None:
    checked = check_override(write_override("sft.lr_scheduler_kwargs", value), Settings)
    assert checked.problems == []
    assert checked.values == {"sft": {"lr_scheduler_kwargs": value}}


@settings(deadline=None)
@given(_TEXT)
def test_written_text_is_read_back(text: str) -> None:
    checked = check_override(write_override("sft.run_name", text), Settings)
    assert checked.values == {"sft": {"run_name": text}}


@settings(deadline=None)
@given(st.text(max_size=80) | st.text(max_size=40).map(lambda text: f"sft.max_steps={text}"))
def test_any_override_is_read_or_reported(override: str) -> None:
    recipe = read_recipe(RECIPE, [override])
    assert recipe.value("model.name_or_path") == "some/model" or not recipe.problems
