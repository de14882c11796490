import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsdpwiz.core.text import visible
from fsdpwiz.facts.data.read import read_data
from fsdpwiz.methods.sft import METHOD

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TURN = {"role": "user", "content": "a"}


def read(path):
    return read_data(str(path), split=None, formats=METHOD.data_formats, base_folders=())


@pytest.mark.parametrize(
    ("columns", "format", "problem"),
    [
        ({"text": ["a", "b"]}, "text", None),
        ({"messages": [[TURN], [TURN]], "id": [1, 2]}, "messages", None),
        ({"prompt": ["a", "b"], "completion": ["c", "d"]}, "prompt-completion", None),
        ({"text": pa.array(["a", "b"]).dictionary_encode()}, "text", None),
        ({"text": pa.array(["a", "b"], pa.large_string())}, "text", None),
        ({"text": [1, 2]}, "text", "the column `text` is int64, not text"),
        ({"messages": ["a", "b"]}, "messages", "the column `messages` is string, not a list of messages"),
        (
            {"prompt": [1.0, 2.0], "completion": ["a", "b"]},
            "prompt-completion",
            "the column `prompt` is double",
        ),
        ({"other": [1, 2]}, None, None),
    ],
)
def test_columns(tmp_path, columns, format, problem):
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    data = read(tmp_path / "rows.parquet")
    assert (data.format, data.rows, data.columns) == (format, 2, set(columns))
    assert data.problem is None if problem is None else problem in data.problem
    assert data.rows_checked == 0
    assert data.unchecked


def test_a_folder_of_them(tmp_path):
    pq.write_table(pa.table({"text": ["a"], "x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": ["a", "b"]}), tmp_path / "b.parquet")
    data = read(tmp_path)
    assert (data.columns, data.rows) == ({"text"}, 3)


def test_no_rows(tmp_path):
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "rows.parquet")
    assert read(tmp_path / "rows.parquet").problem == "no rows"


@pytest.mark.parametrize("content", [b"", b"PAR1", b"{}\n" * 9, b"PAR1" + b"x" * 20])
def test_not_parquet(tmp_path, content):
    (tmp_path / "rows.parquet").write_bytes(content)
    assert read(tmp_path / "rows.parquet").problem.startswith("`rows.parquet` is ")


def test_without_pyarrow(tmp_path, monkeypatch):
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "rows.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    data = read(tmp_path / "rows.parquet")
    assert (data.problem, data.rows, data.format) == (None, None, None)
    assert data.unchecked == "reading Parquet needs `pyarrow`, which is not installed here"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(
    changes=st.lists(st.tuples(st.integers(0, 399), st.integers(0, 255)), max_size=6), cut=st.integers(0, 400)
)
def test_damaged_files(tmp_path, changes, cut):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["a", "b"]}), path)
    content = bytearray(path.read_bytes())
    for place, value in changes:
        content[place % len(content)] = value
    path.write_bytes(content[: len(content) - cut] if cut < 20 else content)
    data = read(path)
    assert data.problem is None or visible(data.problem) == data.problem
