"""Write every generated file of the repository, or with --check say which are out of step.

    python scripts/generate.py [--check]

A generator is a script beside this one named generate_NAME.py; each takes --check itself.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
AT_LEAST = 3


def main(arguments: list[str]) -> int:
    generators = sorted(FOLDER.glob("generate_*.py"))
    assert len(generators) >= AT_LEAST, generators
    running = [subprocess.Popen([sys.executable, str(script), *arguments]) for script in generators]
    return max(abs(process.wait()) for process in running)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
