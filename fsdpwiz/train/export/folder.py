"""A folder that appears whole or not at all: written beside its place, renamed when it is right."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fsdpwiz.train.export.problems import no_space

SPARE_BYTES = 64 * 1024 * 1024


def partial(target: Path) -> Path:
    """Where `target` is written until it is right."""
    return target.with_name(f".{target.name}.partial")


def begin(target: Path, needed_bytes: int) -> Path:
    """The empty folder to write into; FsdpwizError (P003) where the disk cannot hold `needed_bytes`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = partial(target)
    discard(target)
    free_bytes = shutil.disk_usage(target.parent).free
    if free_bytes < needed_bytes + SPARE_BYTES:
        raise no_space(target.parent, needed_bytes=needed_bytes, free_bytes=free_bytes)
    folder.mkdir()
    return folder


def commit(target: Path) -> None:
    """Put the written folder in its place; a former one is removed once the new one is there."""
    former = _former(target)
    shutil.rmtree(former, ignore_errors=True)
    if target.exists():
        target.rename(former)
    partial(target).rename(target)
    _sync(target.parent)
    shutil.rmtree(former, ignore_errors=True)


def discard(target: Path) -> None:
    """Remove what was written so far."""
    shutil.rmtree(partial(target), ignore_errors=True)


def remove(target: Path) -> None:
    """Remove a folder that was in its place, as one step and then its files."""
    if target.exists():
        former = _former(target)
        shutil.rmtree(former, ignore_errors=True)
        target.rename(former)
        shutil.rmtree(former, ignore_errors=True)


@contextmanager
def discarded_on_failure(*targets: Path, here: bool) -> Iterator[None]:
    """Remove the partial folders of `targets` when the block fails; `here`: this process wrote them."""
    try:
        yield
    except BaseException:
        if here:
            for target in targets:
                discard(target)
        raise


def _former(target: Path) -> Path:
    return target.with_name(f".{target.name}.former")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
