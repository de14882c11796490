"""How many lines of a file hold anything, counted in blocks, however long the lines are."""

from __future__ import annotations

import re
from typing import BinaryIO

COUNT_LIMIT_BYTES = 64 * 2**30
_BLOCK_BYTES = 4 * 2**20
_BLANK_LINE = re.compile(rb"\n[ \t\r]*(?=\n)")


def count_filled_lines(stream: BinaryIO) -> int | None:
    """The lines of `stream` that are not blank; None for more than `COUNT_LIMIT_BYTES`."""
    count, seen_bytes, open_line_filled = 0, 0, False
    while block := stream.read(_BLOCK_BYTES):
        seen_bytes += len(block)
        if seen_bytes > COUNT_LIMIT_BYTES:
            return None
        first, last = block.find(b"\n"), block.rfind(b"\n")
        if first < 0:
            open_line_filled = open_line_filled or bool(block.strip(b" \t\r"))
            continue
        count += open_line_filled or bool(block[:first].strip(b" \t\r"))
        whole = block[first : last + 1]
        count += whole.count(b"\n") - 1 - len(_BLANK_LINE.findall(whole))
        open_line_filled = bool(block[last + 1 :].strip(b" \t\r"))
    return count + open_line_filled
