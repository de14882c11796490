"""The recipe in the run folder, run again, decides the same."""

import pytest

from fsdpwiz.facts.types import Facts
from fsdpwiz.launch.recipe_as_run import recipe_as_run
from fsdpwiz.plan.resolve import resolve
from fsdpwiz.recipe.load import read_recipe

TEXT = """\
# What this is for
name: tiny
model: {name_or_path: owner/model}   # the base
data:
  name_or_path: owner/data
sft:
  max_steps: 3        # short
  learning_rate: 5.0e-5
cluster: {device: cpu, processes_per_node: 2}
"""


def planned(text, *overrides):
    recipe = read_recipe(text, overrides)
    plan, problems = resolve(recipe, Facts())
    assert plan is not None, problems
    return recipe, plan


def test_without_overrides_it_is_the_text():
    assert recipe_as_run(*planned(TEXT)) == TEXT


@pytest.mark.parametrize(
    "overrides",
    [
        ("sft.max_steps=7",),
        ("sft.warmup_steps=2", "sft.learning_rate=1e-4"),
        ("peft={r: 4, target_modules: [q_proj]}",),
        ("peft.r=4",),
        ("fsdp=null",),
        ("env.NAME='it''s: #1'",),
        ("cluster.processes_per_node=4",),
        ("model.revision=main", "data.split='train[:10%]'"),
    ],
)
def test_what_was_overridden_is_in_the_text(overrides):
    recipe, plan = planned(TEXT, *overrides)
    text = recipe_as_run(recipe, plan)
    again, plan_again = planned(text)
    assert plan_again.model_dump(exclude={"origins", "hash"}) == plan.model_dump(exclude={"origins", "hash"})
    assert not again.problems
    assert "# What this is for" in text and "# the base" in text


def test_a_name_taken_from_the_file_is_written_in():
    text = TEXT.replace("name: tiny\n", "")
    recipe, plan = planned(text)
    assert planned(recipe_as_run(recipe, plan))[1].name == plan.name


def test_paths_stand_as_they_were_found():
    recipe, plan = planned(TEXT)
    found = plan.model_copy(update={"data": plan.data.model_copy(update={"name_or_path": "/abs/rows.jsonl"})})
    assert planned(recipe_as_run(recipe, found))[1].data.name_or_path == "/abs/rows.jsonl"
