"""The hub's cache on this disk, resolved as huggingface_hub does, without importing it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from fsdpwiz.facts.local_path import with_home

_REFERENCE_LIMIT_CHARACTERS = 256


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where the cache is: HF_HUB_CACHE, else HUGGINGFACE_HUB_CACHE, else under HF_HOME or XDG_CACHE_HOME."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if name in environ:
            return _expanded(environ[name], environ)
    if "HF_HOME" in environ:
        return _expanded(environ["HF_HOME"], environ) / "hub"
    return _expanded(environ.get("XDG_CACHE_HOME", "~/.cache"), environ) / "huggingface" / "hub"


def find_snapshot(hub_id: str, revision: str | None, environ: Mapping[str, str]) -> Path | None:
    """The folder with the cached files of a model at a branch, tag or commit (absent: main)."""
    wanted = revision or "main"
    if not _stays_inside(wanted):
        return None
    repository = cache_folder(environ) / "--".join(("models", *hub_id.split("/")))
    commit = _commit(repository / "refs" / wanted) or wanted
    snapshot = repository / "snapshots" / commit
    return snapshot if _stays_inside(commit) and _is_folder(snapshot) else None


def _commit(reference: Path) -> str | None:
    try:
        if not reference.is_file():
            return None
        with reference.open(encoding="utf-8") as stream:
            return stream.read(_REFERENCE_LIMIT_CHARACTERS).strip() or None
    except (OSError, ValueError):
        return None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _stays_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _expanded(value: str, environ: Mapping[str, str]) -> Path:
    """`value` with `~` and the variables of `environ` put in, as the hub's library does."""
    for name in sorted(environ, key=len, reverse=True):
        if "$" in value:
            value = value.replace(f"${{{name}}}", environ[name]).replace(f"${name}", environ[name])
    if "HOME" in environ and (value == "~" or value.startswith("~/")):
        return Path(environ["HOME"]) / value[2:]
    return with_home(Path(value))
