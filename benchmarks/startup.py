"""Start-up time: `fsdpwiz --help` and `fsdpwiz recipes` against `accelerate --help`, in one run.

    python benchmarks/startup.py [--pairs N] [--write]

Each pair runs both commands one after the other, so that a busy machine slows both. The bar: the
median ratio is at least 10. Exits 1 where one is missed. --write adds the table to
benchmarks/results/startup.md.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from record import write_result

BAR = 10.0
PAIRS_AT_LEAST = 5
BIN = Path(sys.executable).parent
REFERENCE = ["accelerate", "--help"]
MEASURED = (["fsdpwiz", "--help"], ["fsdpwiz", "recipes"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="add the table to benchmarks/results")
    options = parser.parse_args()
    pairs = max(options.pairs, PAIRS_AT_LEAST)
    for command in (REFERENCE, *MEASURED):
        seconds(command)  # the first start reads from disk
    rows = [compare(command, pairs) for command in MEASURED]
    table = "\n".join(
        [
            "| command | seconds | `accelerate --help` | ratio, median | lowest to highest | bar |",
            "| --- " * 6 + "|",
        ]
        + [row for row, _ in rows]
    )
    print(table)
    if options.write:
        write_result("startup", table)
    return 0 if all(passed for _, passed in rows) else 1


def compare(command: list[str], pairs: int) -> tuple[str, bool]:
    """One row of the table, and whether the bar is met."""
    ours, theirs = [], []
    for _ in range(pairs):
        theirs.append(seconds(REFERENCE))
        ours.append(seconds(command))
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    row = (
        f"| `{' '.join(command)}` | {statistics.median(ours):.3f} | {statistics.median(theirs):.2f} "
        f"| {ratio:.1f} | {min(ratios):.1f} to {max(ratios):.1f} ({pairs} pairs) | {BAR:.0f} |"
    )
    return row, ratio >= BAR


def seconds(command: list[str]) -> float:
    """Wall-clock seconds of one run of `command`."""
    start = time.perf_counter()
    subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
