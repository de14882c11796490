"""Processes that run test cases together: started once per session, a fresh gloo group for each case."""

from __future__ import annotations

import multiprocessing
import os
import random
import socket
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

CASE_LIMIT_S = 150


class CaseError(AssertionError):
    """A rank's traceback."""


class Pool:
    """A case of N ranks runs on the first N processes; each returns what the function returns."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._ranks: list[tuple[Any, Connection]] = []

    def run(self, function: Callable[..., Any], size: int, **arguments: Any) -> list[Any]:
        """`function(**arguments)` on `size` ranks; CaseError where one fails or hangs."""
        while len(self._ranks) < size:
            here, there = self._context.Pipe()
            process = self._context.Process(target=_serve, args=(there, len(self._ranks)), daemon=True)
            process.start()
            self._ranks.append((process, here))
        port = _free_port()
        for _, connection in self._ranks[:size]:
            connection.send((function, size, port, arguments))
        answers = [self._answer(connection) for _, connection in self._ranks[:size]]
        failures = [text for ok, text in answers if not ok]
        if failures:
            self.close()
            raise CaseError("\n".join(failures))
        return [value for _, value in answers]

    def close(self) -> None:
        for process, _ in self._ranks:
            process.kill()
            process.join()
        self._ranks = []

    def _answer(self, connection: Connection) -> tuple[bool, Any]:
        try:
            return connection.recv() if connection.poll(CASE_LIMIT_S) else (False, "no answer in time")
        except EOFError:
            return False, "the process is gone"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _serve(connection: Connection, rank: int) -> None:
    import torch

    torch.set_num_threads(1)
    clean = dict(os.environ)
    while True:
        function, size, port, arguments = connection.recv()
        os.environ.update(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), LOCAL_WORLD_SIZE=str(size)
        )
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        torch.manual_seed(0)
        random.seed(0)
        try:
            answer = (True, function(**arguments))
        except BaseException:
            answer = (False, f"rank {rank}: {traceback.format_exc()}")
        connection.send(answer)
        _forget(clean)


def _forget(clean: dict[str, str]) -> None:
    import resource

    import torch.distributed as dist
    from accelerate.state import AcceleratorState, GradientState, PartialState

    if dist.is_initialized():
        dist.destroy_process_group()
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    PartialState._reset_state()
    for name in set(os.environ) - set(clean):
        del os.environ[name]
    os.environ.update(clean)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
