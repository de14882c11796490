"""JSON files as people leave them: content, whether `datasets` loads them, rows, and our faults by line.

`loads` None: `datasets` loads the file, but its rows cannot be read, or TRL could not train on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    content: bytes
    loads: bool | None
    rows: int
    faults: dict[int, str] = field(default_factory=dict)
    problem: str | None = None


A, B = b'{"text": "a"}', b'{"text": "b"}'
MESSAGES = b'{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}'

CASES = {
    "plain": Case(A + b"\n" + B + b"\n", True, 2),
    "no last newline": Case(A + b"\n" + B, True, 2),
    "byte order mark": Case(b"\xef\xbb\xbf" + A + b"\n" + B + b"\n", True, 2),
    "crlf": Case(A + b"\r\n" + B + b"\r\n", True, 2),
    "cr alone": Case(A + b"\r" + B + b"\r", True, 2),
    "empty lines": Case(b"\n\n" + A + b"\n \t\n\n" + B + b"\n\n", True, 2),
    "two on a line": Case(A + b" " + A + b"\n" + B + b"\n", True, 3),
    "spread over lines": Case(b'{\n "text": "a"\n}\n{\n "text": "b"\n}\n', True, 2),
    "line separator in text": Case('{"text": "a\u2028b"}\n'.encode(), True, 1),
    "messages": Case(MESSAGES + b"\n" + MESSAGES + b"\n", True, 2),
    "tool calls": Case(
        b'{"messages": [{"role": "assistant", "content": null, "tool_calls": [{"name": "f"}]}]}\n', True, 1
    ),
    "prompt and completion": Case(b'{"prompt": "a", "completion": "b"}\n', True, 1),
    "conversational prompt": Case(
        b'{"prompt": [{"role": "user", "content": "a"}], '
        b'"completion": [{"role": "assistant", "content": "b"}]}\n',
        True,
        1,
    ),
    "extra columns": Case(b'{"text": "a", "id": 1, "nested": {"x": [1]}}\n', True, 1),
    "nan": Case(b'{"text": "a", "x": NaN}\n', True, 1),
    "large number": Case(b'{"text": "a", "n": 123456789012345678901234567890}\n', True, 1),
    "list": Case(b'[{"text": "a"}, {"text": "b"}]', True, 2),
    "list after blanks": Case(b' \n[\n {"text": "a"},\n {"text": "b"}\n]\n', True, 2),
    "list of text": Case(b'["a", "b"]', True, 2),
    "broken line": Case(
        A + b'\n{"text": "b"\n' + B + b"\n", False, 2, {2: "expecting ',' delimiter at column 13"}
    ),
    "no json": Case(A + b"\nhello\n", False, 1, {2: "not JSON: expecting value"}),
    "comma after value": Case(A + b",\n" + B + b"\n", False, 1, {1: "a comma after the value"}),
    "python quotes": Case(b"{'text': 'a'}\n", False, 0, {1: "not JSON"}),
    "vertical tab between": Case(A + b"\x0b" + B + b"\n", False, 0, {1: "not JSON"}),
    "key twice": Case(b'{"text": "a", "text": "b"}\n', False, 0, {1: "`text` stands twice"}),
    "control character": Case(b'{"text": "a\tb"}\n', False, 0, {1: "invalid control character at column 12"}),
    "nul": Case(b'{"text": "a\x00b"}\n', False, 0, {1: "invalid control character"}),
    "half a surrogate pair": Case(b'{"text": "\\ud800"}\n', False, 0, {1: "is not text"}),
    "latin-1": Case(b'{"text": "caf\xe9"}\n', None, 0, {1: "not UTF-8 text (byte 14)"}),
    "utf-16": Case('{"text": "a"}\n'.encode("utf-16"), False, 0, {1: "not UTF-8 text", 2: "not JSON"}),
    "number among rows": Case(A + b"\n3\n", False, 2, {2: "the row is a number, not an object"}),
    "list among rows": Case(A + b"\n[1]\n", False, 2, {2: "the row is a list, not an object"}),
    "only text": Case(b'"a"\n"b"\n', False, 2, {1: "the row is text", 2: "the row is text"}),
    "lists by line": Case(
        b'[{"text": "a"}]\n[{"text": "b"}]\n', False, 1, {2: "more after the end of the list"}
    ),
    "number in a list": Case(b'[{"text": "a"},\n 3]', False, 2, {2: "the row is a number"}),
    "list cut short": Case(b'[{"text": "a"},\n {"text": "b"', False, 1, {2: "not JSON"}),
    "list without comma": Case(b'[{"text": "a"}\n {"text": "b"}]', False, 1, {2: "`,` is missing"}),
    "empty": Case(b"", False, 0, problem="no rows"),
    "only blanks": Case(b"\n \n", False, 0, problem="no rows"),
    "empty list": Case(b"[]", False, 0, problem="no rows"),
    "null among rows": Case(A + b"\nnull\n", None, 2, {2: "the row is null, not an object"}),
    "prompt alone": Case(b'{"prompt": "a"}\n', None, 1, {1: "the row has no `completion`"}),
    "completion alone": Case(b'{"completion": "a"}\n', None, 1, {1: "the row has no `prompt`"}),
    "null completion": Case(b'{"prompt": "a", "completion": null}\n', None, 1, {1: "`completion` is null"}),
    "null prompt": Case(b'{"prompt": null, "completion": "a"}\n', None, 1, {1: "`prompt` is null"}),
    "null text": Case(A + b'\n{"text": null}\n', None, 2, {2: "`text` is null"}),
    "no columns": Case(A + b"\n{}\n", None, 2, {2: "the row has no column"}),
    "other column": Case(
        A + b'\n{"txt": "b"}\n',
        None,
        2,
        {2: "the row has `txt`, not `messages`, or `prompt` with `completion`, or `text`"},
    ),
    "wrapped in an object": Case(b'{"data": [{"text": "a"}]}', None, 1, {1: "the row has `data`"}),
    "two formats": Case(
        A + b"\n" + MESSAGES + b"\n", None, 2, {2: "has `messages` where the rows before have `text`"}
    ),
    "number for text": Case(A + b'\n{"text": 3}\n', None, 2, {2: "`text` is a number, not text"}),
    "text for messages": Case(
        MESSAGES + b'\n{"messages": "x"}\n', None, 2, {2: "`messages` is text, not a list"}
    ),
    "no messages": Case(b'{"messages": []}\n', None, 1, {1: "`messages` is an empty list"}),
    "message without role": Case(
        MESSAGES + b'\n{"messages": [{"content": "a"}]}\n', None, 2, {2: "`messages[0]` has no `role`"}
    ),
    "message without content": Case(b'{"messages": [{"role": "user"}]}\n', None, 1, {1: "has no `content`"}),
    "message as text": Case(
        b'{"messages": ["hello"]}\n', None, 1, {1: "`messages[0]` is text, not an object"}
    ),
    "sharegpt keys": Case(
        b'{"conversations": [{"from": "human", "value": "a"}]}\n', None, 1, {1: "the row has `conversations`"}
    ),
    "prompt of another kind": Case(
        b'{"prompt": [{"role": "user", "content": "a"}], "completion": "b"}\n',
        None,
        1,
        {1: "are not of one kind"},
    ),
}
