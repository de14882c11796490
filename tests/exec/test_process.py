import os
import sys
import time

import pytest

from fsdpwiz.exec.process import run, start


def test_output_goes_to_the_log_and_is_appended(tmp_path):
    log = tmp_path / "launcher-0.log"
    for word in ("one", "two"):
        code = f"import sys; print({word!r}, flush=True); print('err', file=sys.stderr)"
        start([sys.executable, "-c", code], environ=os.environ, log=log).child.wait()
    assert log.read_text() == "one\nerr\ntwo\nerr\n"
    assert log.stat().st_mode & 0o077 == 0


def test_environment_is_exactly_the_given_one(tmp_path):
    log = tmp_path / "log"
    start(["/usr/bin/env"], environ={"ONLY": "this"}, log=log).child.wait()
    assert log.read_text() == "ONLY=this\n"


def test_arguments_reach_the_program_unread(tmp_path):
    hostile = "; touch /tmp/never $(id) `id` \n*"
    done = run([sys.executable, "-c", "import sys; sys.stdout.write(sys.argv[1])", hostile], timeout_s=20)
    assert (done.exit_code, done.stdout) == (0, hostile)


def test_absent_program_is_an_oserror():
    with pytest.raises(FileNotFoundError):
        start(["/no/such/program"], environ={})


def test_time_out_ends_the_whole_group():
    began = time.monotonic()
    done = run(["/bin/sh", "-c", "echo begun; sleep 60 & sleep 60"], timeout_s=0.5)
    assert done.timed_out and done.exit_code == -9 and done.stdout == "begun\n"
    assert time.monotonic() - began < 10


def test_a_process_that_keeps_the_pipe_does_not_block_the_time_out():
    began = time.monotonic()
    done = run(["/bin/sh", "-c", "setsid sleep 20 & sleep 60"], timeout_s=0.5)
    assert done.timed_out
    assert time.monotonic() - began < 10


def test_exit_code_and_streams_are_apart():
    done = run(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=10)
    assert (done.exit_code, done.stdout, done.stderr, done.timed_out) == (3, "out\n", "err\n", False)
