"""The processes that export together: who this one is, and how all of them come to one verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding

Value = TypeVar("Value")


class OtherRankError(RuntimeError):
    """Another rank failed with an error that is not ours; its own traceback is in its own log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """An exception in a form that travels between processes."""

    rank: int
    findings: tuple[Finding, ...]
    text: str

    @classmethod
    def of(cls, error: Exception, rank: int) -> _Failure:
        findings = error.findings if isinstance(error, FsdpwizError) else ()
        return cls(rank=rank, findings=findings, text=f"{type(error).__name__}: {error}")

    def exception(self) -> Exception:
        if self.findings:
            return FsdpwizError(*self.findings)
        return OtherRankError(f"rank {self.rank}: {self.text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """This process among `size`; `device` is where its tensors are gathered."""

    rank: int
    size: int
    device: torch.device

    @classmethod
    def here(cls, device: torch.device | None = None) -> Ranks:
        """The default process group's, or a world of one where there is none."""
        together = dist.is_available() and dist.is_initialized()
        return cls(
            rank=dist.get_rank() if together else 0,
            size=dist.get_world_size() if together else 1,
            device=device or torch.device("cpu"),
        )

    @property
    def first(self) -> bool:
        return self.rank == 0

    def from_first(self, make: Callable[[], Value]) -> Value:
        """What rank 0's `make` returns, on every rank; where it fails, every rank raises."""
        if self.size == 1:
            return make()
        outcome: list[object] = [None]
        failure: Exception | None = None
        if self.first:
            try:
                outcome = [make()]
            except Exception as error:
                failure = error
                outcome = [_Failure.of(error, self.rank)]
        dist.broadcast_object_list(outcome, src=0, device=self._object_device)
        if failure is not None:
            raise failure
        if isinstance(outcome[0], _Failure):
            raise outcome[0].exception()
        return outcome[0]  # type: ignore[return-value]

    def agreed(self, make: Callable[[], Value]) -> Value:
        """What `make` returns here, after it has succeeded on every rank."""
        failure: Exception | None = None
        value: Value | None = None
        try:
            value = make()
        except Exception as error:
            failure = error
        self.raise_first(failure)
        return value  # type: ignore[return-value]

    def raise_first(self, failure: Exception | None) -> None:
        """Raise on every rank where some rank has a failure: its own, else the lowest rank's."""
        failures: list[_Failure | None] = [_Failure.of(failure, self.rank) if failure is not None else None]
        if self.size > 1:
            mine = failures[0]
            failures = [None] * self.size
            dist.all_gather_object(failures, mine)
        if failure is not None:
            raise failure
        found = next((other for other in failures if other is not None), None)
        if found is not None:
            raise found.exception()

    def any_true(self, flag: bool) -> bool:
        """Whether `flag` is set on some rank; one small collective."""
        if self.size == 1:
            return flag
        count = torch.tensor([int(flag)], device=self.device)
        dist.all_reduce(count, op=dist.ReduceOp.MAX)
        return bool(count.item())

    @property
    def _object_device(self) -> torch.device | None:
        return self.device if self.device.type != "cpu" else None
