"""Write docs/reference/rules.md from the rule files.

python scripts/generate_rules.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

from fsdpwiz.rules.pages import REFERENCE, reference

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    path, wanted = ROOT / REFERENCE, reference()
    if path.exists() and path.read_text(encoding="utf-8") == wanted:
        return 0
    if "--check" in arguments:
        print(f"{REFERENCE} is out of step: `make generate` writes it")
        return 1
    path.write_text(wanted, encoding="utf-8")
    print(f"{REFERENCE} written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
