"""Write what is generated from the command line: docs/reference/cli.md and the README's help block.

python scripts/generate_cli.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from fsdpwiz.cli.main import PROGRAM, build_command
from fsdpwiz.cli.verb_group import load_verb, verb_help, verb_names

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference" / "cli.md"
README = ROOT / "README.md"
WIDTH = 80
START, END = "<!-- fsdpwiz --help -->\n", "<!-- end of fsdpwiz --help -->\n"
HEAD = """# The command line

Written by `make generate` from the program's own help.

Every verb takes `--json` (one document on stdout, nothing else), `--quiet`, `-v` and `--debug`, before or
after its name. `fsdpwiz --install-completion` makes the shell complete verbs, recipe names, override keys
and codes.

| exit code | meaning |
| --- | --- |
| 0 | no finding of severity error |
| 1 | at least one, whatever it is about: a wrong key, bad data, a full disk, a failed run |
| 2 | nothing could be judged: wrong usage, an input missing or unreadable, a missing extra |
| 130 | interrupted |
"""


def main(arguments: list[str]) -> int:
    wanted = {REFERENCE: reference(), README: readme()}
    check = "--check" in arguments
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        print(
            f"{path.relative_to(ROOT)} {'is out of step: `make generate` writes it' if check else 'written'}"
        )
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
    return int(bool(stale) and check)


def reference() -> str:
    """The whole page."""
    parts = [HEAD, block(PROGRAM, build_command())]
    for name in verb_names():
        parts.append(f"## {PROGRAM} {name}\n\n{verb_help(name)}\n")
        parts += [block(usage, command) for usage, command in walk(f"{PROGRAM} {name}", load_verb(name))]
    return "\n".join(parts)


def readme() -> str:
    """The README with the real help between its two marks."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}{block(PROGRAM, build_command())}{END}{after}"


def walk(usage: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command and its sub-commands, with how each is called."""
    yield usage, command
    for name, child in sorted(getattr(command, "commands", {}).items()):
        yield from walk(f"{usage} {name}", child)


def block(usage: str, command: Any) -> str:
    """The help of a command as a block of code."""
    help_text = typer.Context(command, info_name=usage, terminal_width=WIDTH).get_help()
    return f"```text\n$ {usage} --help\n{help_text.rstrip()}\n```\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
