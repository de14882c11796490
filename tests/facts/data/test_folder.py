import json
import os

import pytest

from fsdpwiz.facts.data.read import read_data
from fsdpwiz.facts.data.splits import files_by_split, split_names
from fsdpwiz.methods.sft import METHOD

ROW = b'{"text": "a"}\n'
LAYOUTS = [
    ["a.jsonl", "b.jsonl"],
    ["train.jsonl", "test.jsonl"],
    ["train.jsonl", "validation.jsonl", "other.jsonl"],
    ["my_train_file.jsonl", "my-val-file.jsonl"],
    ["training.jsonl", "dev.jsonl", "eval.jsonl"],
    ["constraint.jsonl", "contest.jsonl"],
    ["train/x.jsonl", "test/y.jsonl", "z.jsonl"],
    ["data/train/x.jsonl", "data/train.jsonl"],
    ["old_train/x.jsonl", "train2/y.jsonl"],
    ["data/train-00000-of-00002.jsonl", "data/train-00001-of-00002.jsonl", "data/extra.jsonl"],
    ["data/first-00000-of-00001.jsonl"],
    ["train-00000-of-00001.jsonl", "test-00000-of-00001.jsonl"],
    ["sub/deep/a.jsonl"],
    ["train1.jsonl", "trainx.jsonl"],
    ["test.jsonl"],
    ["train_test.jsonl"],
]


def make(folder, names, content=ROW):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def read(path, split=None):
    return read_data(str(path), split=split, formats=METHOD.data_formats, base_folders=())


@pytest.mark.slow
@pytest.mark.parametrize("names", LAYOUTS, ids=" ".join)
def test_splits_are_those_of_datasets(tmp_path, names):
    data_files = pytest.importorskip("datasets.data_files")
    make(tmp_path, names)
    patterns = data_files.sanitize_patterns(data_files.get_data_patterns(str(tmp_path)))
    found = data_files.DataFilesDict.from_patterns(patterns, base_path=str(tmp_path))
    theirs = {
        str(split): {os.path.relpath(path, tmp_path) for path in paths} for split, paths in found.items()
    }
    assert {split: set(members) for split, members in files_by_split(names).items()} == theirs


@pytest.mark.parametrize(
    ("split", "names"),
    [
        ("train", ("train",)),
        ("train[:10%]+test", ("train", "test")),
        ("validation[5:]", ("validation",)),
        ("+", ()),
    ],
)
def test_names_of_a_split_expression(split, names):
    assert split_names(split) == names


def test_all_files_of_the_split(tmp_path):
    make(
        tmp_path,
        ["b.jsonl", "a.jsonl", "sub/c.json", ".hidden.jsonl", "__x/d.jsonl", "dataset_info.json", "notes.md"],
    )
    data = read(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in data.files] == [
        "a.jsonl",
        "b.jsonl",
        "sub/c.json",
    ]
    assert (data.where, data.rows, data.format) == ("folder", 3, "text")


def test_the_fault_names_its_file(tmp_path):
    make(tmp_path, ["a.jsonl", "b.jsonl"])
    (tmp_path / "b.jsonl").write_bytes(ROW + b"broken\n")
    (fault,) = read(tmp_path).faults
    assert (fault.file, fault.line) == (tmp_path / "b.jsonl", 2)


def test_files_of_two_formats(tmp_path):
    make(tmp_path, ["a.jsonl"])
    make(tmp_path, ["b.jsonl"], b'{"prompt": "a", "completion": "b"}\n')
    (fault,) = read(tmp_path).faults
    assert fault.message == "the row has `completion`, `prompt` where the rows before have `text`"


@pytest.mark.parametrize(
    ("names", "split", "problem"),
    [
        ([], None, "no .jsonl, .json or .parquet file in the folder"),
        (["notes.md"], None, "no .jsonl, .json or .parquet file in the folder"),
        (
            ["train.jsonl", "test.jsonl"],
            "validation",
            "no split `validation` in the folder: it has `train`, `test`",
        ),
        (["a.jsonl"], "test", "no split `test` in the folder: it has `train`"),
        (
            ["a.jsonl", "b.jsonl", "c.parquet"],
            None,
            "files of several kinds in one split: `c.parquet` beside",
        ),
    ],
)
def test_problems(tmp_path, names, split, problem):
    make(tmp_path, names)
    assert problem in read(tmp_path, split).problem


def test_only_the_trainer_reads_other_kinds(tmp_path):
    make(tmp_path, ["a.csv", "b.csv", "c.jsonl"])
    data = read(tmp_path)
    assert (data.problem, data.rows) == (None, None)
    assert data.unchecked == "most of its files are `.csv`, which only the trainer reads"


def test_a_card_that_names_files(tmp_path):
    make(tmp_path, ["a.jsonl"])
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: x\n  data_files: a.jsonl\n---\n# Title\n"
    )
    assert read(tmp_path).unchecked == "its README.md says which files belong to which split"


@pytest.mark.slow
def test_a_folder_of_save_to_disk(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_list([{"prompt": "a", "completion": "b", "id": 1}])
    rows.save_to_disk(str(tmp_path / "one"))
    datasets.DatasetDict({"train": rows, "test": rows}).save_to_disk(str(tmp_path / "two"))
    for name in ("one", "two"):
        data = read(tmp_path / name)
        assert (data.format, data.columns) == ("prompt-completion", {"prompt", "completion", "id"})
        assert "save_to_disk" in data.unchecked


def test_links_are_not_walked_and_pipes_not_opened(tmp_path):
    outside = tmp_path / "outside"
    make(outside, ["secret.jsonl"])
    folder = tmp_path / "folder"
    make(folder, ["a.jsonl"])
    (folder / "link").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "dangling.jsonl").symlink_to(tmp_path / "gone")
    assert [path.name for path in read(folder).files] == ["a.jsonl"]


@pytest.mark.parametrize(
    ("name", "split", "problem"),
    [
        ("gone.jsonl", None, "no such file"),
        ("rows.csv", None, "`.csv` is not read: use .jsonl, .json or .parquet"),
        ("rows", None, "`rows` is not read"),
        ("rows.jsonl", "test", "no split `test`: a single file has only `train`"),
        ("rows.jsonl", "train[:10]", None),
    ],
)
def test_single_files(tmp_path, name, split, problem):
    if name != "gone.jsonl":
        make(tmp_path, [name])
    found = read(tmp_path / name, split).problem
    assert found is None if problem is None else problem in found


def test_a_compressed_file_is_left_to_the_trainer(tmp_path):
    make(tmp_path, ["rows.jsonl.gz"], b"\x1f\x8b")
    assert read(tmp_path / "rows.jsonl.gz").unchecked == "it is compressed"


@pytest.mark.parametrize("name", ["trl-lib/Capybara", "squad"])
def test_the_hub(name):
    data = read_data(name, split="test", formats=METHOD.data_formats, base_folders=())
    assert (data.source, data.where, data.problem, data.format) == ("declared", "hub", None, None)


def test_a_folder_description_too_large_is_ignored(tmp_path):
    make(tmp_path, ["a.jsonl"])
    (tmp_path / "state.json").write_text("{}")
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": ["text"]}))
    data = read(tmp_path)
    assert (data.columns, data.format) == (frozenset(), None)


def test_a_link_that_leads_out_of_the_folder_is_not_read(tmp_path):
    make(tmp_path, ["secret.txt", "elsewhere.jsonl"])
    for target in ("secret.txt", "elsewhere.jsonl"):
        folder = tmp_path / target.partition(".")[0]
        make(folder, ["a.jsonl"])
        (folder / "p.jsonl").symlink_to(tmp_path / target)
        data = read(folder)
        assert data.problem.startswith("`p.jsonl` is a link out of the folder") and data.rows is None


def test_a_link_that_stays_inside_is_read(tmp_path):
    make(tmp_path, ["d/sub/.kept/a.jsonl"])
    (tmp_path / "d" / "p.jsonl").symlink_to("sub/.kept/a.jsonl")
    (tmp_path / "linked").symlink_to("d")
    for folder in ("d", "linked"):
        assert (read(tmp_path / folder).rows, read(tmp_path / folder).problem) == (1, None)


def test_the_links_of_the_hubs_cache_are_read(tmp_path):
    make(tmp_path, ["repo/blobs/0a1b"])
    snapshot = tmp_path / "repo" / "snapshots" / "c0ffee"
    (snapshot / "data").mkdir(parents=True)
    (snapshot / "data" / "train.jsonl").symlink_to("../../../blobs/0a1b")
    assert (read(snapshot).rows, read(snapshot).problem) == (1, None)
