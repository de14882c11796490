import json
import os
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsdpwiz.core.text import visible
from fsdpwiz.facts.data.json_files import JsonSample
from fsdpwiz.facts.data.read import read_data
from fsdpwiz.methods.method import DataFormat
from fsdpwiz.methods.sft import METHOD
from tests.facts.data.json_cases import CASES

FORMATS = METHOD.data_formats


def read(path, split=None):
    return read_data(str(path), split=split, formats=FORMATS, base_folders=())


@pytest.fixture
def data_file(tmp_path):
    def write(content, name="rows.jsonl"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_faults_and_rows(data_file, case, suffix):
    path = data_file(case.content, f"rows{suffix}")
    data = read(path)
    assert {fault.line: fault.message for fault in data.faults}.keys() == case.faults.keys()
    for fault in data.faults:
        assert case.faults[fault.line] in fault.message
        assert fault.file == path
    assert data.problem == case.problem
    assert data.rows == case.rows
    assert data.unchecked is None


@pytest.mark.slow
def test_datasets_agrees(data_file, tmp_path):
    datasets = pytest.importorskip("datasets")
    wrong = []
    for name, case in CASES.items():
        path = data_file(case.content, f"{name.replace(' ', '-')}.jsonl")
        try:
            loaded = datasets.load_dataset(
                "json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache")
            )
        except Exception as error:
            if case.loads is not False:
                wrong.append((name, type(error).__name__))
        else:
            if case.loads is False or (case.loads and len(loaded) != case.rows):
                wrong.append((name, len(loaded)))
    assert wrong == []


def test_columns_are_those_every_row_has(data_file):
    data = read(data_file(b'{"text": "a", "id": 1, "x": 1}\n{"text": "b", "id": 2, "x": null}\n'))
    assert data.columns == {"text", "id"}
    assert (data.format, data.rows_checked) == ("text", 2)


def test_without_formats_only_objects_are_asked_for(data_file):
    path = data_file(b'{"anything": 1}\n[]\n')
    data = read_data(str(path), split=None, formats=(), base_folders=())
    assert [fault.message for fault in data.faults] == ["the row is a list, not an object"]
    assert data.columns == {"anything"}


def test_a_text_column_of_another_name(data_file):
    formats = (DataFormat(name="text", columns=("content",)),)
    data = read_data(
        str(data_file(b'{"content": "a"}\n{"content": 1}\n')), split=None, formats=formats, base_folders=()
    )
    assert data.format == "text"
    assert [fault.message for fault in data.faults] == ["`content` is a number, not text"]


def test_rows_beyond_the_sample_are_counted(data_file):
    path = data_file(b'{"text": "a"}\n\n' * 100 + b'{"text": "b"}')
    sample = JsonSample(FORMATS, rows_limit=10)
    sample.add(path)
    assert (sample.rows, sample.rows_checked) == (101, 10)
    assert sample.unchecked == "only the first 10 rows were looked at"
    sample.add(path)
    assert (sample.rows, sample.rows_checked) == (202, 10)


def test_elements_beyond_the_sample_are_not_counted(data_file):
    sample = JsonSample(FORMATS, rows_limit=10)
    sample.add(data_file(json.dumps([{"text": "a"}] * 100).encode()))
    assert (sample.rows, sample.rows_checked) == (None, 10)


def test_a_bound_in_bytes(data_file):
    sample = JsonSample(FORMATS, bytes_limit=100)
    sample.add(data_file(b'{"text": "a"}\n' * 100))
    assert (sample.rows, sample.rows_checked) == (100, 8)


def test_the_first_faults_are_enough(data_file):
    data = read(data_file(b"broken\n" * 5000 + b'{"text": "a"}\n'))
    assert [fault.line for fault in data.faults] == list(range(1, 21))
    assert data.unchecked == "the first 20 faults are named, the rest was not looked at"


def test_a_long_line_is_read(data_file):
    data = read(data_file(b'{"text": "' + b"a" * 10_000_000 + b'"}\n{"text": "b"}\nbroken\n'))
    assert (data.rows, [fault.line for fault in data.faults]) == (2, [3])


@pytest.mark.parametrize("start", [b'{"text": "', b'[{"text": "', b"[" + b" " * 100, b"["])
def test_a_value_without_end_takes_bounded_memory(tmp_path, start):
    path = tmp_path / "endless.jsonl"
    with path.open("wb") as stream:
        stream.write(start)
        for _ in range(200):
            stream.write(b"a" * 2**20)
    tracemalloc.start()
    data = read(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 300 * 2**20
    assert data.unchecked == "line 1 is longer than 33.6 MB" or data.faults


def test_messages_show_control_characters(data_file):
    data = read(data_file(b'{"\\u001b[31m": 1}\n'))
    assert data.faults[0].message.startswith("the row has `\\x1b[31m`, not")


def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "rows.jsonl")
    assert read(tmp_path / "rows.jsonl").problem == "`rows.jsonl` cannot be read: not a plain file"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(
    content=st.binary(max_size=300)
    | st.text(alphabet='{}[]",:\\ \n\r\tutext1eE+-.nulltrue\ufeff\ud7ff', max_size=80).map(str.encode)
)
def test_any_bytes_give_data(data_file, content):
    data = read(data_file(content))
    assert len(data.faults) <= 20
    assert all(fault.line >= 1 and visible(fault.message) == fault.message for fault in data.faults)
    assert data.problem is None or data.problem == "no rows"
    assert (data.problem == "no rows") == (data.rows == 0 and not data.faults)


@pytest.mark.parametrize("opening", [b"[", b'{"text":', b'[{"a":', b'{"messages":['])
def test_deep_nesting(data_file, opening):
    data = read(data_file(opening * 100_000))
    assert data.faults[0].message in ("nested too deeply",) or "not JSON" in data.faults[0].message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(
    texts=st.lists(st.text(max_size=30), min_size=1, max_size=8),
    separator=st.sampled_from([b"\n", b"\r\n", b"\n\n", b" \n", b"\r"]),
    indent=st.sampled_from([None, 1]),
    as_list=st.booleans(),
)
def test_whatever_is_well_formed_has_no_fault(data_file, texts, separator, indent, as_list):
    rows = [{"text": text} for text in texts]
    if as_list:
        content = json.dumps(rows, indent=indent).encode()
    else:
        content = separator.join(json.dumps(row, indent=indent).encode() for row in rows)
    data = read(data_file(content))
    assert (data.faults, data.problem, data.rows, data.format) == ((), None, len(texts), "text")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(cut=st.integers(1, 5000), as_list=st.booleans())
def test_a_file_cut_short_has_its_last_line_named(data_file, cut, as_list):
    rows = [{"text": f"row {number}"} for number in range(200)]
    lines = (
        ",\n".join(json.dumps(row) for row in rows) if as_list else "\n".join(json.dumps(row) for row in rows)
    )
    whole = (f"[{lines}]" if as_list else lines).encode()
    content = whole[: min(cut, len(whole) - 1)]
    data = read(data_file(content))
    last_line = content.count(b"\n") + 1
    ends_whole = not as_list and (content.endswith((b"}", b"}\n")))
    assert [fault.line for fault in data.faults] == ([] if ends_whole else [last_line])
