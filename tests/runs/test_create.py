import os
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from fsdpwiz.runs.create import create_run, new_run


def test_folder_is_private_and_named_by_the_second(tmp_path):
    former = os.umask(0)
    try:
        run = create_run(tmp_path / "runs", "tiny-sft", now=datetime(2026, 3, 4, 5, 6, 7))
    finally:
        os.umask(former)
    assert run.root == tmp_path / "runs" / "tiny-sft" / "20260304-050607"
    assert run.root.stat().st_mode & 0o777 == 0o700


def test_two_in_the_same_second_are_two(tmp_path):
    moment = datetime(2026, 12, 31, 23, 59, 59)
    first = create_run(tmp_path, "x", now=moment)
    second = create_run(tmp_path, "x", now=moment)
    assert [first.root.name, second.root.name] == ["20261231-235959", "20270101-000000"]


def test_thirty_at_once_are_thirty(tmp_path):
    with ThreadPoolExecutor(30) as pool:
        runs = list(pool.map(lambda _: create_run(tmp_path, "x"), range(30)))
    assert len({run.root for run in runs}) == 30
    assert all(re.fullmatch(r"\d{8}-\d{6}", run.root.name) for run in runs)


def test_a_given_id_that_is_taken_is_refused(tmp_path):
    create_run(tmp_path, "x", run_id="mine")
    with pytest.raises(FileExistsError):
        create_run(tmp_path, "x", run_id="mine")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../x", "a\nb", "-rf", "a b", "é", "x" * 200, "a\x00"]
)
def test_names_that_leave_the_folder_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match="cannot be a folder's name"):
        create_run(tmp_path, name)
    with pytest.raises(ValueError, match="cannot be a folder's name"):
        create_run(tmp_path, "x", run_id=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "failure", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError()]
)
def test_a_failure_while_filling_leaves_nothing(failure, tmp_path):
    with pytest.raises(type(failure)), new_run(tmp_path / "deep" / "runs", "x") as run:
        run.recipe.write_text("name: x")
        run.attempt(1).folder.mkdir(parents=True)
        raise failure
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_what_was_there_before(tmp_path):
    create_run(tmp_path / "runs", "x", run_id="former")
    with pytest.raises(ValueError), new_run(tmp_path / "runs", "x"):
        raise ValueError
    assert [folder.name for folder in (tmp_path / "runs" / "x").iterdir()] == ["former"]


def test_relative_output_folder_gives_an_absolute_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with new_run(Path("runs"), "x") as run:
        assert run.root.is_absolute()
    assert run.root.is_dir()
