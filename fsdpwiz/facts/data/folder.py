"""The data files of a folder, walked without following links and without touching pipes or devices."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fsdpwiz.facts.data.splits import files_by_split, split_names
from fsdpwiz.facts.one_line import one_line
from fsdpwiz.facts.regular_file import UnreadableFileError, read_bytes, read_json_object

KINDS = {".jsonl": "json", ".json": "json", ".ndjson": "json", ".parquet": "parquet"}
_OTHER_DATA = frozenset(
    {".csv", ".tsv", ".txt", ".arrow", ".xml", ".gz", ".zst", ".xz", ".bz2", ".zip", ".tar"}
)
# Names that `datasets` never takes for data.
_IGNORED = frozenset(
    {"README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json"}
)
_SAVED = ("dataset_dict.json", "state.json")
_FILES_LIMIT = 20_000
_DEPTH_LIMIT = 16
_CARD_LIMIT_BYTES = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFiles:
    """The files of the split asked for; `problem`, `without_split` and `unchecked` as in `Data`."""

    files: tuple[Path, ...] = ()
    problem: str | None = None
    without_split: str | None = None
    unchecked: str | None = None


def find_files(folder: Path, split: str) -> FolderFiles:
    """The data files of `folder` that `load_dataset(folder, split=split)` would read."""
    if _card_names_files(folder):
        return FolderFiles(unchecked="its README.md says which files belong to which split")
    try:
        names = _data_names(folder)
    except OSError as error:
        return FolderFiles(problem=f"the folder cannot be read: {error.strerror}")
    by_split = files_by_split(names)
    if not by_split:
        return FolderFiles(problem="no .jsonl, .json or .parquet file in the folder")
    missing = [name for name in split_names(split) if name not in by_split]
    if missing:
        shown = ", ".join(f"`{one_line(name, limit=40)}`" for name in list(by_split)[:5])
        return FolderFiles(
            problem=f"no split `{one_line(missing[0], limit=40)}` in the folder: it has {shown}",
            without_split=missing[0],
        )
    wanted = [name for part in split_names(split) for name in by_split[part]]
    every = [name for part in by_split.values() for name in part]
    return _of_one_kind(folder, list(dict.fromkeys(wanted)), every)


def _of_one_kind(folder: Path, wanted: list[str], every: list[str]) -> FolderFiles:
    """`datasets` chooses one reader for the folder, by the most common suffix."""
    suffixes = Counter(_suffix(name) for name in every)
    most_common = max(suffixes, key=lambda suffix: suffixes[suffix])
    kind = KINDS.get(most_common)
    if kind is None:
        return FolderFiles(unchecked=f"most of its files are `{most_common}`, which only the trainer reads")
    others = [name for name in wanted if KINDS.get(_suffix(name)) != kind]
    if others:
        shown = one_line(others[0], limit=80)
        return FolderFiles(
            problem=f"files of several kinds in one split: `{shown}` beside `{most_common}` files"
        )
    outside = next((name for name in wanted if _leads_out(folder, name)), None)
    if outside is not None:
        shown = one_line(outside, limit=80)
        return FolderFiles(
            problem=f"`{shown}` is a link out of the folder: name the file it leads to instead"
        )
    return FolderFiles(files=tuple(folder / name for name in wanted))


def _leads_out(folder: Path, name: str) -> bool:
    """Whether a file is elsewhere, where `datasets` would follow the link; the hub's cache has such links."""
    real, found = Path(os.path.realpath(folder)), Path(os.path.realpath(folder / name))
    blobs = [parent.parent / "blobs" for parent in real.parents if parent.name == "snapshots"]
    return not any(found.is_relative_to(allowed) for allowed in (real, *blobs))


def saved_columns(folder: Path) -> tuple[bool, frozenset[str]]:
    """Whether the folder was written by `save_to_disk`, and the columns that it says it has."""
    if not any((folder / name).is_file() for name in _SAVED):
        return False, frozenset()
    for part in ("", "train", "validation", "test"):
        try:
            features = read_json_object(folder / part / "dataset_info.json", limit_bytes=2**20).get(
                "features"
            )
        except UnreadableFileError:
            continue
        return True, frozenset(features) if isinstance(features, dict) else frozenset()
    return True, frozenset()


def _data_names(folder: Path) -> list[str]:
    """The names of data files below `folder`, sorted, with "/" between parts; hidden ones left out."""
    names: list[str] = []
    for current, folders, entries in os.walk(folder, followlinks=False, onerror=_raise_at(folder)):
        relative = Path(current).relative_to(folder)
        deeper = len(relative.parts) < _DEPTH_LIMIT
        folders[:] = sorted(name for name in folders if deeper and not _hidden(name))
        names += [(relative / name).as_posix() for name in entries if _is_data(Path(current) / name)]
        if len(names) > _FILES_LIMIT:
            break
    return sorted(names)


def _raise_at(folder: Path) -> Callable[[OSError], None]:
    def raise_for_top(error: OSError) -> None:
        if error.filename is not None and Path(error.filename) == folder:
            raise error

    return raise_for_top


def _is_data(path: Path) -> bool:
    known = path.suffix.lower() in KINDS or path.suffix.lower() in _OTHER_DATA
    return known and not _hidden(path.name) and path.name not in _IGNORED and _plain_file(path)


def _plain_file(path: Path) -> bool:
    """A file or a link to one; no linked folder is walked."""
    try:
        return path.is_file()
    except OSError:
        return False


def _hidden(name: str) -> bool:
    return name.startswith((".", "__"))


def _suffix(name: str) -> str:
    return Path(name).suffix.lower()


def _card_names_files(folder: Path) -> bool:
    try:
        card = read_bytes(folder / "README.md", limit_bytes=_CARD_LIMIT_BYTES)
    except UnreadableFileError:
        return False
    return card.startswith(b"---") and b"data_files:" in card.split(b"\n---", 1)[0]
