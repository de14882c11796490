from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdpwiz.facts.local_path import find_local, is_hub_id


@pytest.mark.parametrize("value", ["gpt2", "openai-community/gpt2-xl", "a/b.c_d-e", "trl-lib/Capybara"])
def test_hub_ids(value):
    assert is_hub_id(value)
    assert find_local(value, [Path("/nowhere")]) is None


@pytest.mark.parametrize(
    "value",
    [
        "a/b/c",
        "data/x.jsonl",
        "../x",
        "/x",
        "./x",
        "~/x",
        "a--b/c",
        "a b",
        "",
        "x\n",
        "-x",
        ".x",
        "a/" + "b" * 99,
    ],
)
def test_no_hub_ids(value):
    assert not is_hub_id(value)


def test_the_first_folder_that_has_it(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "two" / "x.jsonl").write_text("")
    folders = [tmp_path / "one", tmp_path / "two"]
    assert find_local("x.jsonl", folders) == tmp_path / "two" / "x.jsonl"
    (tmp_path / "one" / "x.jsonl").write_text("")
    assert find_local("x.jsonl", folders) == tmp_path / "one" / "x.jsonl"
    assert find_local("missing.jsonl", folders) == tmp_path / "one" / "missing.jsonl"
    assert find_local(str(tmp_path / "two" / "x.jsonl"), folders) == tmp_path / "two" / "x.jsonl"


def test_a_folder_named_like_a_hub_id_wins_over_the_hub(tmp_path):
    (tmp_path / "org" / "model").mkdir(parents=True)
    assert find_local("org/model", [tmp_path]) == tmp_path / "org" / "model"


@given(st.text(max_size=300))
def test_any_text(value):
    find_local(value, [Path("/nowhere")])
