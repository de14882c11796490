import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdpwiz.facts.data import line_count
from fsdpwiz.facts.data.line_count import count_filled_lines


@given(content=st.text(alphabet="a \t\r\n", max_size=200).map(str.encode), block_bytes=st.integers(1, 9))
def test_counts_as_splitting_would(content, block_bytes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_count, "_BLOCK_BYTES", block_bytes)
        assert count_filled_lines(io.BytesIO(content)) == sum(
            1 for line in content.split(b"\n") if line.strip()
        )


def test_gives_up_on_what_is_too_large(monkeypatch):
    monkeypatch.setattr(line_count, "COUNT_LIMIT_BYTES", 10)
    assert count_filled_lines(io.BytesIO(b"a\n" * 6)) is None
