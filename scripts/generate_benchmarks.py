"""Write docs/reference/benchmarks.md from the tables that the benchmarks have left, newest measurement first.

python scripts/generate_benchmarks.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
TARGET = ROOT / "docs" / "reference" / "benchmarks.md"
BEGIN = """# Benchmarks

Measured by the commands in `benchmarks/`, each of which exits 1 where its bar is missed; `--write` adds a
table to `benchmarks/results`, from where this page is made. A ratio is the median over alternating pairs of
one run.
"""


def main(arguments: list[str]) -> int:
    text = page()
    if "--check" in arguments:
        if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
            return 0
        print(f"{TARGET.relative_to(ROOT)} is out of step: run `make generate`")
        return 1
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)} written")
    return 0


def page() -> str:
    """The whole page."""
    return BEGIN + "".join(section(path) for path in sorted(RESULTS.glob("*.md")))


def section(path: Path) -> str:
    """One benchmark: what its script says it does, then its measurements, the newest first."""
    title, *measurements = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    name = title.strip().removeprefix("# ")
    texts = "".join(f"\n### {text.strip()}\n" for text in reversed(measurements))
    return f"\n## {name}\n\n`python benchmarks/{script(path)}`\n{texts}"


def script(path: Path) -> str:
    """The script that writes this table."""
    candidates = sorted((ROOT / "benchmarks").glob("*.py"), key=lambda file: -len(file.stem))
    stem = path.stem.replace("-", "_")
    return next((file.name for file in candidates if stem.startswith(file.stem)), f"{stem}.py")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
