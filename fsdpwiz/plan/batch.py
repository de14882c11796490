"""Micro batch, accumulation and global batch, solved over the ranks that see data of their own."""

from __future__ import annotations

from fsdpwiz.plan.choices import OURS, Choices
from fsdpwiz.plan.types import Batch, World

_MICRO = "per_device_train_batch_size"
_ACCUMULATION = "gradient_accumulation_steps"


def decide_batch(choices: Choices, section: str, world: World, max_length: int | None) -> Batch | None:
    """The batch, or None with problem J014.

    Context- and tensor-parallel ranks share their data, so they do not count. With
    `global_batch_size` the accumulation is solved from it, and a micro batch that nobody gave is
    the largest one, up to the library's default, that divides it.
    """
    ranks = world.mesh.dp_replicate * world.mesh.dp_shard
    wanted = choices.given("global_batch_size")
    micro = _micro(choices, section, wanted, ranks)
    if wanted is None:
        accumulation = _given_accumulation(choices, section)
    else:
        accumulation = _solved_accumulation(choices, section, wanted, micro * ranks)
    if micro < 1 or accumulation < 1:
        key = "global_batch_size" if wanted is not None else section
        detail = {"global_batch_size": wanted, "micro": micro, "data_parallel_ranks": ranks}
        choices.report("J014", key, **detail)
        return None
    choices.carry("batch.micro", None, f"{section}.{_MICRO}")
    choices.carry("batch.accumulation", None, f"{section}.{_ACCUMULATION}")
    choices.derive("batch.tokens_per_step", None, "global batch and max_length")
    size = micro * accumulation * ranks
    tokens = None if max_length is None else size * max_length
    return Batch(micro=micro, accumulation=accumulation, global_=size, tokens_per_step=tokens)


def _given_accumulation(choices: Choices, section: str) -> int:
    choices.derive("batch.global", None, "micro batch, accumulation and data-parallel ranks")
    default, by = choices.upstream_default(section, _ACCUMULATION) or (1, OURS)
    return int(choices.choose(f"{section}.{_ACCUMULATION}", default, by=by))


def _solved_accumulation(choices: Choices, section: str, wanted: int, per_forward: int) -> int:
    """Forwards per step, 0 where `per_forward` sequences do not divide the wanted number."""
    choices.choose("global_batch_size", None)
    choices.carry("batch.global", None, "global_batch_size")
    solved = wanted // per_forward if per_forward > 0 and wanted % per_forward == 0 else 0
    return int(choices.derive(f"{section}.{_ACCUMULATION}", solved, "global_batch_size"))


def _micro(choices: Choices, section: str, wanted: int | None, ranks: int) -> int:
    key = f"{section}.{_MICRO}"
    default, by = choices.upstream_default(section, _MICRO) or (1, OURS)
    if choices.is_given(key) or wanted is None or wanted < ranks or wanted % ranks:
        return int(choices.choose(key, default, by=by))
    share = wanted // ranks
    micro = max(size for size in range(1, default + 1) if share % size == 0)
    return int(choices.derive(key, micro, "global_batch_size"))
