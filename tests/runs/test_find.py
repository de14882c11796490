import os

import pytest

from fsdpwiz.core.errors import ProblemError
from fsdpwiz.runs.find import find_run, is_run
from fsdpwiz.runs.layout import RunFolder


def make(output_dir, name, run_id):
    run = RunFolder(output_dir / name / run_id)
    run.root.mkdir(parents=True)
    run.recipe.write_text("name: x")
    run.source.write_text("{}")
    return run


@pytest.fixture
def runs(tmp_path):
    make(tmp_path, "a", "20260101-000000")
    make(tmp_path, "a", "20260102-000000")
    make(tmp_path, "b", "20260101-120000")
    (tmp_path / "a" / "20270101-000000").mkdir()
    (tmp_path / "c").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("a", "a/20260102-000000"),
        ("b", "b/20260101-120000"),
        ("last", "a/20260102-000000"),
        ("a/20260101-000000", "a/20260101-000000"),
    ],
)
def test_by_name(reference, expected, runs):
    assert find_run(reference, runs).root == runs / expected


def test_by_path_from_anywhere(runs, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(runs / "b")
    assert (
        find_run("20260101-120000", tmp_path_factory.mktemp("other")).root == runs / "b" / "20260101-120000"
    )
    assert find_run(str(runs / "a" / "20260101-000000") + os.sep, runs).root.name == "20260101-000000"


def test_an_id_of_ones_own_is_placed_by_its_time(runs):
    mine = make(runs, "a", "my-run")
    assert find_run("a", runs).root == mine.root


def test_links_are_not_followed(runs):
    (runs / "a" / "20290101-000000").symlink_to(runs / "b" / "20260101-120000")
    assert find_run("a", runs).root.name == "20260102-000000"


@pytest.mark.parametrize("reference", ["", "nope", "c", "a/2099", "\x00", "../..", "bb"])
def test_absent(reference, runs):
    with pytest.raises(ProblemError) as caught:
        find_run(reference, runs)
    problem = caught.value.problem
    assert problem.code == "S032"
    assert problem.detail["reference"] == reference and problem.detail["known"] == ["a", "b"]


def test_nearest_name_is_offered(runs):
    make(runs, "llama2-7b-sft", "20260101-000000")
    with pytest.raises(ProblemError) as caught:
        find_run("llama2-7b-stf", runs)
    assert caught.value.problem.detail["nearest"] == ["llama2-7b-sft"]


def test_a_model_folder_is_no_run(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert not is_run(tmp_path)


def test_only_folders_with_a_run_count(tmp_path):
    make(tmp_path, "a", "20260101-000000")
    (tmp_path / "data" / "raw").mkdir(parents=True)
    (tmp_path / "data" / "plan.json").write_text("{}")
    with pytest.raises(ProblemError) as caught:
        find_run("dat", tmp_path)
    assert caught.value.problem.detail["known"] == ["a"]
    with pytest.raises(ProblemError) as caught:
        find_run("last", tmp_path / "data")
    assert caught.value.problem.detail["known"] == []
