"""Writing a model folder beside its place, verifying it, and only then putting it there."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fsdpwiz.train.export import folder as folders
from fsdpwiz.train.export.architecture import Architecture
from fsdpwiz.train.export.direct import shared, write_direct
from fsdpwiz.train.export.entry import State
from fsdpwiz.train.export.problems import no_space, not_verified
from fsdpwiz.train.export.ranks import Ranks
from fsdpwiz.train.export.shards import Shards, ShardsWriter
from fsdpwiz.train.export.verify import Compared, check_entries, verify

SHARD_LIMIT_BYTES = 5_000_000_000
NOT_SHARED = "the run's folder is not the same one on every node"
NOT_TAKEN = "the file system of the run's folder does not take files that several processes write"


def produce(
    state: State,
    target: Path,
    architecture: Architecture,
    ranks: Ranks,
    *,
    companions: Callable[[Path], None],
    shard_limit_bytes: int = SHARD_LIMIT_BYTES,
) -> Compared:
    """Make `folders.partial(target)` the verified model; the caller commits it. Collective.

    FsdpwizError on every rank: P003 before anything is written, else P011 with the partial folder removed.
    """
    check_entries(state.entries, architecture.expected)
    shards = Shards.of(state.entries, shard_limit_bytes)
    ranks.from_first(lambda: folders.begin(target, shards.size_bytes))
    with folders.discarded_on_failure(target, here=ranks.first):
        gathered = write_weights(state, folders.partial(target), shards, ranks)
        ranks.from_first(lambda: companions(folders.partial(target)))
        compared = verify(state, folders.partial(target), architecture, ranks)
        return replace(compared, gathered=gathered)


def write_weights(state: State, folder: Path, shards: Shards, ranks: Ranks) -> str | None:
    """Write every tensor: each rank its own rows, or, where that cannot be, rank 0 all. Collective.

    Gives the reason why rank 0 gathered them, None where it did not.
    """
    if ranks.size == 1:
        _write_gathered(state, folder, shards, ranks)
        return None
    reason = NOT_SHARED
    if shared(folder, ranks):
        if write_direct(
            state, folder, shards, ranks, failed=lambda error: _as_finding(error, folder, shards)
        ):
            return None
        reason = NOT_TAKEN
    _write_gathered(state, folder, shards, ranks)
    return reason


def _write_gathered(state: State, folder: Path, shards: Shards, ranks: Ranks) -> None:
    """Write every tensor from rank 0. Collective: one small exchange follows each tensor.

    So no rank is ever further ahead than one tensor's write, and a full disk stops all of them at once.
    """
    writer = ShardsWriter(folder, shards) if ranks.first else None
    failure: Exception | None = None
    for entry, tensor in state.tensors():
        if writer is not None:
            try:
                writer.put(entry, tensor)
            except (OSError, ValueError) as error:
                failure = _as_finding(error, folder, shards)
        if ranks.any_true(failure is not None):
            break
    if writer is not None:
        failure = failure or _finished(writer, folder, shards)
    ranks.raise_first(failure)


def _finished(writer: ShardsWriter, folder: Path, shards: Shards) -> Exception | None:
    try:
        writer.finish()
    except (OSError, ValueError) as error:
        return _as_finding(error, folder, shards)
    return None


def _as_finding(error: Exception, folder: Path, shards: Shards) -> Exception:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return no_space(folder.parent, needed_bytes=shards.size_bytes, free_bytes=0)
    return not_verified(f"it could not be written: {error}", file=folder)
