"""No process outlives its tree, whatever it did to get away."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from fsdpwiz.exec.process import start, started
from fsdpwiz.exec.tree import Stage

FAMILIES = Path(__file__).with_name("families.py")
SHORT = (Stage(signal.SIGINT, 0.5), Stage(signal.SIGTERM, 0.5))


def wait_for(condition, limit_s: float = 10.0):
    deadline = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value


def pids(ready: Path) -> list[int]:
    return [int(line) for line in ready.read_text().splitlines()] if ready.exists() else []


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def launch(kind: str, ready: Path):
    return start([sys.executable, str(FAMILIES), kind, str(ready)], environ=os.environ)


@pytest.mark.parametrize(
    ("kind", "count"),
    [("plain", 1), ("stubborn", 2), ("sessions", 3), ("daemon", 2), ("abandoned", 2), ("breeding", 1)],
)
def test_every_member_is_ended(kind, count, tmp_path):
    ready = tmp_path / "ready"
    tree = launch(kind, ready)
    wait_for(lambda: len(pids(ready)) >= count)
    assert tree.members()
    assert tree.end(SHORT) == []
    assert [pid for pid in pids(ready) if is_running(pid)] == []
    assert not any(psutil.pid_exists(pid) for pid in pids(ready)), "a dead orphan was not reaped"


def test_a_member_that_obeys_is_given_the_time_to(tmp_path):
    ready = tmp_path / "ready"
    code = (
        "import pathlib, time\n"
        f"ready = pathlib.Path({str(ready)!r})\n"
        "try:\n"
        "    ready.write_text('up'); time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    time.sleep(0.3); ready.write_text('saved')\n"
    )
    tree = start([sys.executable, "-c", code], environ=os.environ)
    wait_for(lambda: ready.exists() and ready.read_text() == "up")
    tree.end((Stage(signal.SIGINT, 5.0),))
    assert ready.read_text() == "saved"
    assert tree.child.returncode == 0


def test_a_second_request_skips_the_grace(tmp_path):
    ready = tmp_path / "ready"
    tree = launch("stubborn", ready)
    wait_for(lambda: len(pids(ready)) == 2)
    began = time.monotonic()
    tree.end((Stage(signal.SIGINT, 30.0),), hurried=lambda: True)
    assert time.monotonic() - began < 5
    assert not any(map(is_running, pids(ready)))


def test_children_from_before_are_left_alone(tmp_path):
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        tree = launch("plain", tmp_path / "ready")
        wait_for(lambda: pids(tmp_path / "ready"))
        tree.end(SHORT)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_an_exception_in_the_block_leaves_no_process(tmp_path):
    ready = tmp_path / "ready"
    command = [sys.executable, str(FAMILIES), "sessions", str(ready)]
    with pytest.raises(ZeroDivisionError), started(command, environ=os.environ, stages=SHORT):
        wait_for(lambda: len(pids(ready)) == 3)
        _ = 1 / 0
    assert not any(map(is_running, pids(ready)))


def test_exit_code_of_the_child_survives_the_reaping(tmp_path):
    tree = start([sys.executable, "-c", "raise SystemExit(7)"], environ=os.environ)
    wait_for(lambda: not tree.members())
    tree.end()
    assert tree.child.returncode == 7


def test_child_is_told_when_this_process_is_killed(tmp_path):
    """SIGKILL leaves no time to clean up: the kernel passes the death on."""
    ready = tmp_path / "ready"
    code = (
        "import os, sys, time\n"
        "from fsdpwiz.exec.process import start\n"
        f"start([sys.executable, {str(FAMILIES)!r}, 'plain', {str(ready)!r}], environ=os.environ)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    wait_for(lambda: pids(ready))
    parent.kill()
    parent.wait()
    wait_for(lambda: not any(map(is_running, pids(ready))))
