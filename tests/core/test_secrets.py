"""Secrets are seen by form and by name, and hidden whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdpwiz.core.secrets import HIDDEN, contains_secret, names_secret, redact

TOKENS = (
    "hf_" + "a" * 34,
    "ghp_" + "b" * 36,
    "sk-proj-" + "c" * 40,
    "AKIA" + "D" * 16,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdef",
)


@pytest.mark.parametrize("token", TOKENS)
def test_token_by_its_form(token: str) -> None:
    assert contains_secret(f"before {token} after")
    assert token not in redact(f"before {token} after")
    assert redact(f"before {token} after") == f"before {HIDDEN} after"


def test_password_in_url() -> None:
    assert redact("https://me:pass@example.org/x") == f"https://{HIDDEN}@example.org/x"


@pytest.mark.parametrize("name", ["hub_token", "WANDB_API_KEY", "HF_TOKEN", "AWS_SECRET", "db_password"])
def test_name_of_a_secret(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize("name", ["eos_token", "pad_token", "TOKENIZERS_PARALLELISM", "max_tokens", "key"])
def test_name_of_none(name: str) -> None:
    assert not names_secret(name)


@given(st.text(max_size=200))
def test_nothing_is_left_after_hiding(text: str) -> None:
    assert not contains_secret(redact(text))
