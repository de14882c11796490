"""Exchanges between the threads that save, on a process group of their own.

On the training's own group they would meet its collectives in another order on each rank, and hang.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch.distributed as dist


class OtherRankError(RuntimeError):
    """Another rank could not save its part; the text is its reason."""


@dataclass(frozen=True, slots=True)
class _Failed:
    rank: int
    reason: str


class Agreement:
    """All ranks of a save, or this process alone. Building one is collective."""

    def __init__(self, timeout_s: float) -> None:
        together = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        self.rank = dist.get_rank() if together else 0
        self.size = dist.get_world_size() if together else 1
        self._group: Any = (
            dist.new_group(backend="gloo", timeout=timedelta(seconds=timeout_s)) if together else None
        )

    @property
    def first(self) -> bool:
        return self.rank == 0

    def reduced(self, mine: Callable[[], Any], reduce: Callable[[Sequence[Any]], Sequence[Any]]) -> Any:
        """Each rank's `mine` to rank 0, whose `reduce` gives each rank its answer.

        A failure anywhere is raised everywhere: one's own as it is, another's as OtherRankError.
        """
        value, failure = _attempt(mine, self.rank)
        gathered: list[Any] = [None] * self.size
        if self._group is None:
            gathered = [value]
        else:
            dist.gather_object(value, gathered if self.first else None, dst=0, group=self._group)
        answers: list[Any] = [None] * self.size
        if self.first:
            answers, failure = self._answers(gathered, reduce, failure)
        answer = [answers[0]]
        if self._group is not None:
            dist.scatter_object_list(answer, answers if self.first else None, src=0, group=self._group)
        if failure is not None:
            raise failure
        if isinstance(answer[0], _Failed):
            raise OtherRankError(f"rank {answer[0].rank}: {answer[0].reason}")
        return answer[0]

    def _answers(
        self,
        gathered: Sequence[Any],
        reduce: Callable[[Sequence[Any]], Sequence[Any]],
        failure: Exception | None,
    ) -> tuple[list[Any], Exception | None]:
        failed = next((value for value in gathered if isinstance(value, _Failed)), None)
        if failed is None:
            answers, failure = _attempt(lambda: reduce(gathered), self.rank)
            if failure is None:
                return list(answers), None
            failed = answers
        return [failed] * self.size, failure


def _attempt(work: Callable[[], Any], rank: int) -> tuple[Any, Exception | None]:
    try:
        return work(), None
    except Exception as error:
        return _Failed(rank, f"{type(error).__name__}: {error}"), error
