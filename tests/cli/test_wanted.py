"""What the readers of facts are told of a recipe."""

from pathlib import Path

from fsdpwiz.cli.wanted import wanted_of
from fsdpwiz.facts.gather import gather
from fsdpwiz.recipe.load import load_recipe


def test_the_text_column_has_the_name_that_the_recipe_gives_it(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"body": "one"}\n{"body": "two"}\n')
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("model: {name_or_path: gpt2}\ndata: {name_or_path: rows.jsonl}\n")
    named = load_recipe(recipe, ["sft.dataset_text_field=body"])
    formats = {}
    for name, read in (("named", named), ("unnamed", load_recipe(recipe))):
        data = gather(wanted_of(read, cwd=tmp_path), environ={}).data
        assert data is not None
        formats[name] = data.format
    assert formats == {"named": "text", "unnamed": None}
