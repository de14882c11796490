"""The reference page is in step with the schema."""

from __future__ import annotations

from pathlib import Path

from fsdpwiz.recipe.ownership import owned
from fsdpwiz.recipe.schema.keys import dotted_keys
from fsdpwiz.recipe.schema.reference import recipe_reference

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "recipe.md"


def test_page_is_in_step() -> None:
    assert PAGE.read_text(encoding="utf-8") == recipe_reference(), "run scripts/generate_upstream.py"


def test_every_key_has_a_row() -> None:
    page = recipe_reference()
    for key in dotted_keys():
        section, _, name = key.rpartition(".")
        heading = f"## `{section}`\n" if section else "## Top level\n"
        part = page.partition(heading)[2].partition("\n## ")[0]
        assert f"| `{name}` |" in part or f"## `{key}`" in page


def test_owned_keys_have_none() -> None:
    part = recipe_reference().partition("## `sft`")[2].partition("\n## ")[0]
    for name in owned("sft"):
        assert f"| `{name}` |" not in part
