"""Plain scalars against the core schema of YAML 1.2."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsdpwiz.recipe.scalar import resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("nUll", "nUll"),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("010", 10),
        ("0o17", 15),
        ("0xFf", 255),
        ("0b1", "0b1"),
        ("1_000", "1_000"),
        ("5e-5", 5e-5),
        ("5.0e-5", 5e-5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1e5", 1e5),
        (".", "."),
        ("e5", "e5"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("inf", "inf"),
        ("nan", "nan"),
        ("9" * 1000, "9" * 1000),
    ],
)
def test_word(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


@settings(deadline=None)
@given(st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_as_python_writes_them_are_read_back(value: float) -> None:
    assert resolve(repr(value)) == value
    assert type(resolve(repr(value))) is type(value)


@settings(deadline=None)
@given(st.text())
def test_any_text_has_a_value(text: str) -> None:
    assert resolve(text) is None or isinstance(resolve(text), (str, int, float))
