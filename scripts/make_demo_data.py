"""Write the demo's data: questions and answers from the documentation strings of Python's own library.

    python scripts/make_demo_data.py [FOLDER]

Each row is a chat, {"messages": [{"role": "user", …}, {"role": "assistant", …}]}: a question about one
public function, method or class, and the first paragraph of its documentation string. Rows are
ordered by a hash of the name, so that the result depends on the Python version only. The text
in recipes/data was made with Python 3.11.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODULES = """
    argparse ast asyncio base64 bisect calendar cmath codecs collections collections.abc configparser
    contextlib copy csv ctypes.util datetime decimal difflib dis email.message email.utils enum fileinput
    filecmp fnmatch fractions functools gc getpass glob graphlib gzip hashlib heapq hmac html http.client
    http.cookies imaplib importlib.metadata importlib.util inspect io ipaddress itertools json keyword
    linecache locale logging logging.config logging.handlers lzma mailbox math mimetypes mmap
    multiprocessing multiprocessing.pool netrc ntpath operator os os.path pathlib pdb pickle pickletools
    pkgutil platform plistlib poplib pprint profile pstats queue quopri random re reprlib sched secrets
    select selectors shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat
    statistics string struct subprocess symtable sys sysconfig tarfile tempfile textwrap threading time
    timeit token tokenize trace traceback types typing unicodedata unittest unittest.mock urllib.error
    urllib.parse urllib.request urllib.robotparser uuid warnings wave weakref wsgiref.util
    xml.dom.minidom xml.etree.ElementTree xml.sax.saxutils zipfile zipimport zlib builtins
""".split()  # noqa: SIM905  a list of that length is easier to read so
HOMES_BEHIND = {"os": "posix", "os.path": "posixpath"}
QUESTIONS = (
    "What does `{name}` do in Python?",
    "In Python, what is `{name}` for?",
    "Explain Python's `{name}`.",
)
TRAIN_ROWS = 600
EVAL_ROWS = 60
ANSWER_CHARACTERS = (25, 420)
_SIGNATURE = re.compile(r"^[\w.]+\(.*?\)\s*(->\s*[^\n]*?)?\s*(--\s*|\n|:\s|$)", re.DOTALL)


@dataclass(frozen=True)
class Pair:
    """One documented object and the first paragraph of its documentation."""

    name: str
    answer: str

    @property
    def order(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()

    def row(self) -> dict[str, Any]:
        question = QUESTIONS[int(self.order, 16) % len(QUESTIONS)].format(name=self.name)
        return {
            "messages": [
                {"role": "user", "content": question},
                {"role": "assistant", "content": self.answer},
            ]
        }


def main(folder: Path) -> None:
    pairs = sorted(unique(documented()), key=lambda pair: pair.order)
    if len(pairs) < TRAIN_ROWS + EVAL_ROWS:
        raise SystemExit(f"only {len(pairs)} documented objects found, {TRAIN_ROWS + EVAL_ROWS} are needed")
    write(folder / "python-docs-qa.jsonl", pairs[EVAL_ROWS : EVAL_ROWS + TRAIN_ROWS])
    write(folder / "python-docs-qa-eval.jsonl", pairs[:EVAL_ROWS])


def documented() -> Iterator[Pair]:
    """Every public function, class and method of MODULES whose documentation makes an answer."""
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in sorted(getattr(module, "__all__", None) or vars(module)):
            value = getattr(module, name, None)
            if name.startswith("_") or not is_defined_in(value, module_name):
                continue
            prefix = "" if module_name == "builtins" else f"{module_name}."
            yield from pairs_of(f"{prefix}{name}", value)


def is_defined_in(value: Any, module_name: str) -> bool:
    """Whether a function or class is `module_name`'s own, or of the C module behind it."""
    home = getattr(value, "__module__", None) or module_name
    routine = inspect.isroutine(value) or inspect.isclass(value)
    homes = {module_name.split(".")[0], HOMES_BEHIND.get(module_name)}
    return routine and home.lstrip("_").split(".")[0] in homes


def pairs_of(name: str, value: Any) -> Iterator[Pair]:
    """The pair of `value` itself and, for a class, those of its public methods."""
    answer = first_paragraph(value)
    if answer:
        yield Pair(name, answer)
    if not inspect.isclass(value) or issubclass(value, BaseException):
        return
    for method_name, method in sorted(vars(value).items()):
        if method_name.startswith("_") or not inspect.isroutine(method):
            continue
        answer = first_paragraph(method)
        if answer:
            yield Pair(f"{name}.{method_name}", answer)


def first_paragraph(value: Any) -> str | None:
    """The documentation's first paragraph on one line, without a signature; None if it is no sentence."""
    documentation = getattr(value, "__doc__", None)
    text = inspect.cleandoc(documentation) if isinstance(documentation, str) else ""
    text = _SIGNATURE.sub("", text, count=1).strip()
    paragraph = " ".join(text.split("\n\n")[0].split())
    shortest, longest = ANSWER_CHARACTERS
    is_sentence = paragraph.endswith(".") and paragraph[:1].isupper() and ">>>" not in paragraph
    return paragraph if is_sentence and shortest <= len(paragraph) <= longest else None


def unique(pairs: Iterator[Pair]) -> list[Pair]:
    """Each name and each answer once, the first seen."""
    names: set[str] = set()
    answers: set[str] = set()
    kept = []
    for pair in pairs:
        if pair.name not in names and pair.answer not in answers:
            names.add(pair.name)
            answers.add(pair.answer)
            kept.append(pair)
    return kept


def write(path: Path, pairs: list[Pair]) -> None:
    text = "".join(json.dumps(pair.row(), ensure_ascii=False) + "\n" for pair in pairs)
    path.write_text(text, encoding="utf-8")
    print(f"{path}: {len(pairs)} rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "recipes" / "data")
