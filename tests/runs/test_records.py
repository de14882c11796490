import json
import math
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsdpwiz.runs.records import LINE_LIMIT_BYTES, Tail, append, number, read

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(records=st.lists(st.dictionaries(st.text(), PLAIN, max_size=4), max_size=5))
@settings(max_examples=60, deadline=None)
def test_what_is_appended_is_read(records, tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "events-0.jsonl"
    for record in records:
        append(path, {"time": 1.5, **record})
    assert read(path) == [{"time": 1.5, **record} for record in records]


def test_time_is_added_and_a_given_one_is_kept(tmp_path):
    append(tmp_path / "a", {"event": "begin"})
    append(tmp_path / "a", {"event": "end", "time": 7})
    first, second = read(tmp_path / "a")
    assert first["time"] > 1_700_000_000 and second["time"] == 7


def test_every_line_is_json_also_with_numbers_it_has_no_word_for(tmp_path):
    path = tmp_path / "metrics.jsonl"
    append(path, {"loss": math.nan, "deep": [{"x": -math.inf}], "lr": math.inf})

    def refuse(word):
        raise AssertionError(word)

    document = json.loads(path.read_text(), parse_constant=refuse)
    assert (document["loss"], document["deep"], document["lr"]) == ("NaN", [{"x": "-Infinity"}], "Infinity")
    assert math.isnan(number(document["loss"])) and number(document["lr"]) == math.inf


@pytest.mark.parametrize(
    ("value", "expected"), [(1, 1.0), ("2.5", 2.5), (True, None), ("x", None), (None, None), ([1], None)]
)
def test_number(value, expected):
    assert number(value) == expected


def test_a_number_too_large_for_a_float_is_none():
    assert number(10**400) is None


def test_absent_file_has_no_record(tmp_path):
    assert read(tmp_path / "none.jsonl") == []


def test_garbage_is_skipped_and_the_torn_last_line_too(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b'{"a": 1}\nnot json\n\xff\xfe\x00\n[1, 2]\n"text"\n\n' + b"[" * 50_000 + b'\n{"b": 2}\n{"c"'
    )
    assert read(path) == [{"a": 1}, {"b": 2}]


def test_last_line_without_newline_counts_where_it_is_whole(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": 2}')
    assert read(path) == [{"a": 1}, {"b": 2}]


def test_append_after_a_torn_line_begins_a_new_one(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\n{"torn')
    append(path, {"b": 2, "time": 0})
    assert read(path) == [{"a": 1}, {"b": 2, "time": 0}]


def test_an_endless_line_is_skipped_in_bounded_memory(tmp_path):
    path = tmp_path / "x.jsonl"
    with path.open("wb") as stream:
        stream.write(b'{"a": 1}\n{"long": "')
        for _ in range(5):
            stream.write(b"x" * LINE_LIMIT_BYTES)
        stream.write(b'"}\n{"b": 2}\n')
    tail = Tail(path)
    found = []
    while records := tail.read():
        found += records
        assert len(tail._pending) <= 2 * LINE_LIMIT_BYTES
    assert found == [{"a": 1}, {"b": 2}]


def test_tail_gives_each_record_once_and_only_whole(tmp_path):
    path = tmp_path / "x.jsonl"
    tail = Tail(path)
    assert tail.read() == []
    path.write_text('{"a": 1}\n{"b"')
    assert tail.read() == [{"a": 1}]
    assert tail.read() == []
    with path.open("a") as stream:
        stream.write(': 2}\n{"c": 3}\n')
    assert tail.read() == [{"b": 2}, {"c": 3}]
    assert tail.read() == []


def test_tail_begins_anew_where_the_file_was_replaced(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n{"b": 2}\n')
    tail = Tail(path)
    tail.read()
    path.write_text('{"c": 3}\n')
    assert tail.read() == [{"c": 3}]


def test_links_and_pipes_are_not_read(tmp_path):
    (tmp_path / "secret").write_text('{"a": 1}\n')
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    assert read(tmp_path / "link") == []
    assert read(tmp_path / "pipe") == []
    with pytest.raises(OSError):
        append(tmp_path / "link", {"b": 2})


@given(garbage=st.binary(max_size=400))
@settings(max_examples=150, deadline=None)
def test_no_bytes_break_the_reader(garbage, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "x.jsonl"
    path.write_bytes(garbage)
    assert all(isinstance(record, dict) for record in read(path))


def test_writers_at_once_do_not_mix_lines(tmp_path):
    path = tmp_path / "x.jsonl"
    text = "x" * 3000

    def write(writer: int) -> None:
        for index in range(50):
            append(path, {"writer": writer, "index": index, "text": text})

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read(path)) == 200
