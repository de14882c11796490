"""Whatever a recipe file holds: it is read, or there is one clear problem, and nothing else is raised."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsdpwiz.core.errors import ProblemError
from fsdpwiz.recipe.library import shipped
from fsdpwiz.recipe.load import load_recipe, read_recipe
from fsdpwiz.recipe.source_text import decode
from fsdpwiz.recipe.types import Recipe

TEXTS = [recipe.path.read_bytes() for recipe in shipped()]
_SIGNS = b"{}[]:,-?&*!|>'\"%@`#\n\t \\0.~<=\x00\xff\xe2"
_CODES = {"S011", "S012", "S013"}


def read(content: bytes) -> Recipe | None:
    try:
        return read_recipe(decode(content), path=Path("r.yaml"))
    except ProblemError as error:
        assert error.problem.code in _CODES
        assert error.problem.detail
        return None


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=200))
def test_any_bytes(content: bytes) -> None:
    read(content)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    content = bytearray(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 5))):
        place = draw(st.integers(0, len(content) - 1))
        sign = draw(st.sampled_from(list(_SIGNS)))
        if draw(st.booleans()):
            content[place] = sign
        else:
            content.insert(place, sign)
    return bytes(content)


@settings(
    deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(damaged())
def test_damaged_recipes(content: bytes) -> None:
    recipe = read(content)
    if recipe is not None:
        lines = content.count(b"\n") + content.count(b"\r") + 2
        assert all(problem.line is None or 0 < problem.line <= lines for problem in recipe.problems)
        assert set(recipe.origins) >= {key for key in recipe.given if recipe.given[key] is not None}


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(TEXTS), st.integers(0, 4000))
def test_truncated_recipes(content: bytes, length: int) -> None:
    read(content[:length])


def test_file_is_read_like_its_text(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(TEXTS[0])
    assert load_recipe(path).given == read_recipe(decode(TEXTS[0])).given
