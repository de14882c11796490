import os
import signal

import pytest

from fsdpwiz.exec.interrupts import noted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_is_noted_and_does_not_kill(number):
    with noted() as interrupts:
        assert not interrupts.requested
        os.kill(os.getpid(), number)
        assert interrupts.received == [number] and not interrupts.repeated
        os.kill(os.getpid(), number)
        assert interrupts.repeated


def test_former_handlers_come_back():
    former = signal.getsignal(signal.SIGTERM)
    with noted():
        assert signal.getsignal(signal.SIGTERM) is not former
    assert signal.getsignal(signal.SIGTERM) is former


def test_what_nohup_ignores_stays_ignored():
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with noted() as interrupts:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interrupts.requested
    finally:
        signal.signal(signal.SIGHUP, former)
