"""Process families that are hard to end. `python families.py KIND READY` writes one pid a line to READY."""

import os
import signal
import sys
import time
from pathlib import Path

READY = Path(sys.argv[2])


def say() -> None:
    with READY.open("a") as stream:
        stream.write(f"{os.getpid()}\n")


def linger() -> None:
    say()
    while True:
        time.sleep(60)


def deaf() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def fork_then(*steps) -> None:
    if os.fork() == 0:
        for step in steps:
            step()
        os._exit(0)


def plain() -> None:
    linger()


def stubborn() -> None:
    deaf()
    fork_then(linger)
    linger()


def sessions() -> None:
    """As torchelastic: workers in sessions of their own."""
    fork_then(os.setsid, linger)
    fork_then(os.setsid, deaf, linger)
    linger()


def daemon() -> None:
    """A double fork: the middle process is gone at once, the grandchild is an orphan."""
    fork_then(os.setsid, deaf, lambda: fork_then(os.setsid, linger))
    linger()


def abandoned() -> None:
    """The launcher itself is gone, its workers are not."""
    fork_then(os.setsid, deaf, linger)
    fork_then(os.setsid, linger)
    while len(READY.read_text().splitlines() if READY.exists() else []) < 2:
        time.sleep(0.02)


def breeding() -> None:
    """A member that answers SIGTERM with a child that does not hear it."""
    signal.signal(signal.SIGTERM, lambda *_: fork_then(os.setsid, deaf, linger))
    linger()


globals()[sys.argv[1]]()
