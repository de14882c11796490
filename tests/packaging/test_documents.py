"""The documents: generated ones in step, every link leads somewhere, nothing private in them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.packaging.scripts import load_script

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\[[^\]]+\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
DOCUMENTS_AT_LEAST = 12
LINKS_AT_LEAST = 12


def _documents() -> list[Path]:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    assert len(found) >= DOCUMENTS_AT_LEAST
    return found


def test_every_link_leads_to_a_file() -> None:
    links = [
        (document, link) for document in _documents() for link in LINK.findall(document.read_text("utf-8"))
    ]

    assert len(links) >= LINKS_AT_LEAST
    assert [(str(document), link) for document, link in links if not (document.parent / link).exists()] == []


def test_the_generated_files_are_in_step() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "generate.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    assert result.returncode == 0, result.stdout + result.stderr


def test_the_readme_shows_the_real_help() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    generator = load_script("generate_cli")

    assert "$ fsdpwiz --help" in readme
    assert "Commands:" in readme
    assert generator.readme() == readme


def test_the_two_commands_of_the_readme_are_targets() -> None:
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))

    for target in ("demo", "test"):
        assert f"    make {target} " in readme
        assert re.search(rf"^{target}:", makefile, re.M)


def test_every_target_of_the_makefile_is_phony_and_explained_or_internal() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.M).group(1).split())  # type: ignore[union-attr]

    assert targets == phony
    for target in targets - {"help", "setup", "generate"}:
        assert f'@echo "make {target}' in makefile
