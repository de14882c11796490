import os

import pytest

from fsdpwiz.facts.gather import gather
from fsdpwiz.facts.script import read_script
from fsdpwiz.facts.wanted import Wanted


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("print(1)")
    return tmp_path


def test_a_script_beside_the_recipe_or_here(folder, tmp_path_factory):
    found = read_script("code/train.py", base_folders=(tmp_path_factory.mktemp("a"), folder))
    assert (found.path, found.problem, found.nearest) == (folder / "code" / "train.py", None, None)


@pytest.mark.parametrize("name", ["code/trian.py", "code/train.pyy", "./code/Train.py"])
def test_the_nearest_name_is_written_as_the_wrong_one(folder, name):
    found = read_script(name, base_folders=(folder,))
    assert (found.path, found.problem, found.nearest) == (None, "no such file", "code/train.py")


def test_what_is_no_plain_file(folder):
    os.mkfifo(folder / "pipe.py")
    assert read_script("code", base_folders=(folder,)).problem == "a folder, not a file"
    assert read_script("pipe.py", base_folders=(folder,)).problem == "not a plain file"


@pytest.mark.parametrize("name", ["\0", "x" * 5000, "~nobody-of-that-name/a.py", "/", "../" * 50 + "x.py"])
def test_hostile_names(folder, name):
    assert read_script(name, base_folders=(folder,)).problem


def test_gather_looks_at_the_script(folder):
    assert gather(Wanted(script="no.py", base_folders=(folder,)), environ={}).script.problem == "no such file"
    facts = gather(Wanted(), environ={})
    assert facts.script is None and facts.absent["script"] == "the recipe names no script"
