"""Whether the written folder is the trained model: read back, compared, loaded."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from transformers import AutoModelForCausalLM

from fsdpwiz.train.export.architecture import Architecture
from fsdpwiz.train.export.entry import Entry, Piece, State
from fsdpwiz.train.export.problems import not_verified
from fsdpwiz.train.export.ranks import Ranks
from fsdpwiz.train.export.safetensors_file import Stored
from fsdpwiz.train.export.shards import stored_tensors

BLOCK_ELEMENTS = 4096
BLOCKS_PER_PIECE = 4
REAL_LOAD_LIMIT_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What was compared, over all ranks; `gathered` says why rank 0 had to gather the weights, if it had."""

    tensors: int
    blocks: int
    gathered: str | None = None


def verify(state: State, folder: Path, architecture: Architecture, ranks: Ranks) -> Compared:
    """FsdpwizError (P011) on every rank unless `folder` holds the trained model and loads. Collective."""
    stored = ranks.agreed(lambda: _stored(folder))
    check_entries(_written(stored), architecture.expected, folder)
    compared = _compare(state, stored, ranks)
    ranks.from_first(lambda: check_loads(folder, architecture))
    return compared


def check_entries(found: Sequence[Entry], expected: Mapping[str, Entry], file: Path | None = None) -> None:
    """FsdpwizError (P011) unless names, shapes and dtypes are exactly those of the architecture."""
    by_name = {entry.name: entry for entry in found}
    missing, unexpected = sorted(set(expected) - set(by_name)), sorted(set(by_name) - set(expected))
    for names, what in ((missing, "is missing"), (unexpected, "is not part of the architecture")):
        if names:
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            raise not_verified(f"the tensor `{names[0]}`{more} {what}", file=file)
    for name, entry in by_name.items():
        wanted = expected[name]
        if entry.shape != wanted.shape:
            difference = f"shape {list(entry.shape)}, the architecture's is {list(wanted.shape)}"
            raise not_verified(f"the tensor `{name}` has {difference}", file=file)
        if entry.dtype != wanted.dtype:
            raise not_verified(f"the tensor `{name}` is {entry.dtype}, not {wanted.dtype}", file=file)


def check_loads(folder: Path, architecture: Architecture) -> None:
    """FsdpwizError (P011) unless `from_pretrained` takes the folder, with its data where that is small."""
    size_bytes = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    device_map = None if size_bytes <= REAL_LOAD_LIMIT_BYTES else "meta"
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            str(folder),
            device_map=device_map,
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=architecture.trust_remote_code,
        )
    except Exception as error:
        raise not_verified(f"`from_pretrained` fails: {error}", file=folder) from error
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        if report.get(what):
            first = sorted(map(str, report[what]))[0]
            raise not_verified(
                f"`from_pretrained` reports {what.replace('_', ' ')}, first `{first}`", file=folder
            )
    # Some architectures keep a few modules in float32 whatever is asked for.
    legal = (architecture.config.dtype, torch.float32)
    wrong = [name for name, tensor in model.named_parameters() if tensor.dtype not in legal]
    if wrong:
        raise not_verified(
            f"`{wrong[0]}` loads as another dtype than {architecture.config.dtype}", file=folder
        )


def _stored(folder: Path) -> dict[str, Stored]:
    try:
        return stored_tensors(folder)
    except (OSError, ValueError) as error:
        raise not_verified(f"the weights cannot be read back: {error}", file=folder) from error


def _written(stored: Mapping[str, Stored]) -> tuple[Entry, ...]:
    return tuple(Entry(name=name, shape=item.shape, dtype=item.dtype) for name, item in stored.items())


def _compare(state: State, stored: Mapping[str, Stored], ranks: Ranks) -> Compared:
    order = {entry.name: index for index, entry in enumerate(state.entries)}
    counts = torch.zeros(len(order), dtype=torch.int64)
    failure: Exception | None = None
    for piece in state.pieces():
        # Goes on after a difference: the other ranks count on this one in their collectives.
        if failure is None:
            try:
                counts[order[piece.name]] += _compare_piece(piece, stored[piece.name], ranks.rank)
            except Exception as error:
                failure = error
    ranks.raise_first(failure)
    if ranks.size > 1:
        counts = counts.to(ranks.device)
        dist.all_reduce(counts)
    unseen = [name for name, index in order.items() if not counts[index] and stored[name].elements]
    if unseen:
        raise not_verified(f"no rank could compare the tensor `{unseen[0]}`")
    return Compared(tensors=len(order), blocks=int(counts.sum()))


def _compare_piece(piece: Piece, stored: Stored, rank: int) -> int:
    count = 0
    for begin, end in _blocks(piece, rank):
        trained = piece.values[begin:end].to(stored.dtype).cpu()
        written = stored.read(piece.start + begin, end - begin)
        if not torch.equal(trained.view(torch.uint8), written.view(torch.uint8)):
            raise not_verified(_difference(piece, begin, trained, written), file=stored.path, rank=rank)
        count += 1
    return count


def _blocks(piece: Piece, rank: int) -> Iterator[tuple[int, int]]:
    """All of a small piece; of a larger one its two ends and blocks that differ by tensor and rank."""
    total = piece.values.numel()
    if total <= BLOCK_ELEMENTS * BLOCKS_PER_PIECE:
        if total:
            yield 0, total
        return
    last = total - BLOCK_ELEMENTS
    inner = (zlib.crc32(f"{piece.name}/{rank}/{n}".encode()) % last for n in range(BLOCKS_PER_PIECE - 2))
    for begin in (0, last, *inner):
        yield begin, begin + BLOCK_ELEMENTS


def _difference(piece: Piece, begin: int, trained: torch.Tensor, written: torch.Tensor) -> str:
    different = (trained.view(torch.uint8) != written.view(torch.uint8)).view(trained.numel(), -1).any(dim=1)
    where = int(different.nonzero()[0])
    return (
        f"the tensor `{piece.name}` differs from the trained one in {int(different.sum())} of "
        f"{trained.numel()} compared elements, first at element {piece.start + begin + where}: "
        f"file {written[where].item():.9g}, trained {trained[where].item():.9g}"
    )
