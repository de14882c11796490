"""The shipped catalogue of GPUs (catalog/gpus.json), looked up by any name people and tools give them.

`memory_bytes` is what NVML reports as total with ECC at its default; `aliases` are NVML's names and
the types that clusters give to Slurm's Gres. `half_flops` is the maker's figure for dense matrix work of
16-bit numbers summed in float32, in operations a second; of a name for several cards that of the fastest.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_MAKER = re.compile(r"^(nvidia|geforce|quadro|tesla)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CataloguedGpu:
    """One kind of card."""

    name: str
    aliases: tuple[str, ...]
    memory_bytes: int
    compute_capability: tuple[int, int]
    half_flops: float

    @property
    def bf16(self) -> bool:
        """Whether it computes in bfloat16 in hardware."""
        return self.compute_capability >= (8, 0)


@cache
def catalogued_gpus() -> tuple[CataloguedGpu, ...]:
    """All cards of the catalogue."""
    document = json.loads((files("fsdpwiz.facts") / "catalog" / "gpus.json").read_text(encoding="utf-8"))
    return tuple(
        CataloguedGpu(
            name=entry["name"],
            aliases=tuple(entry["aliases"]),
            memory_bytes=entry["memory_mib"] * 2**20,
            compute_capability=(entry["compute_capability"][0], entry["compute_capability"][1]),
            half_flops=entry["half_tflops"] * 1e12,
        )
        for entry in document["gpus"]
    )


def gpu_by_name(name: str) -> CataloguedGpu | None:
    """The card of this name or alias, without regard to case, spaces, dashes or the maker's name in front."""
    return _by_plain_name().get(_plain(name))


def nearest_gpu_names(name: str, *, limit: int = 3) -> tuple[str, ...]:
    """The catalogue's names most like `name`, best first: those that begin alike, then those spelt alike."""
    plain = _plain(name)
    if not plain:
        return ()
    names = [gpu.name for gpu in catalogued_gpus()]
    begin = [candidate for candidate in names if _plain(candidate).startswith(plain)]
    spelt = difflib.get_close_matches(plain, list(_by_plain_name()), n=limit * 2, cutoff=0.6)
    return tuple(dict.fromkeys([*begin, *(_by_plain_name()[match].name for match in spelt)]))[:limit]


@cache
def _by_plain_name() -> dict[str, CataloguedGpu]:
    return {_plain(name): gpu for gpu in catalogued_gpus() for name in (gpu.name, *gpu.aliases)}


def _plain(name: str) -> str:
    return _MAKER.sub("", re.sub(r"[\s_.-]+", "", name.lower()[:100]))
