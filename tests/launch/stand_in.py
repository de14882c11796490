"""A launcher that starts ranks as torchelastic does, in sessions of their own, without importing torch.

`python stand_in.py PLAN.json BEHAVIOUR`: the ranks write the files that real ranks write.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PLAN, BEHAVIOUR = Path(sys.argv[1]), sys.argv[2]
ATTEMPT = PLAN.parent / "attempts" / os.environ["FSDPWIZ_ATTEMPT"]
RANK = os.environ.get("STAND_IN_RANK")


def append(path: Path, **record) -> None:
    with path.open("a") as stream:
        stream.write(json.dumps({"time": time.time(), **record}) + "\n")


def event(event: str, phase: str, **more) -> None:
    append(ATTEMPT / f"events-{RANK}.jsonl", event=event, phase=phase, rss_peak_bytes=10**9, **more)


def fail(message: str, after_s: float = 0.0) -> None:
    time.sleep(after_s)
    trace = f'Traceback (most recent call last):\n  File "train.py", line 3, in step\n{message}\n'
    inner = {"message": message, "extraInfo": {"py_callstack": trace, "timestamp": str(int(time.time()))}}
    document = {"message": inner, "rank": int(RANK), "time": time.time(), "finding": None}
    (ATTEMPT / f"error-{RANK}.json").write_text(json.dumps(document))
    sys.exit(1)


def train(steps: int = 3, pause_s: float = 0.05) -> None:
    event("begin", "train")
    for step in range(1, steps + 1):
        time.sleep(pause_s)
        event("step", "train", step=step)
        if RANK == "0":
            record = {
                "attempt": int(ATTEMPT.name),
                "step": step,
                "loss": 3.0 - step / 2,
                "tokens_per_s": 1000.0,
            }
            append(PLAN.parent / "metrics.jsonl", **record, step_s=0.05)
    event("end", "train")


def export(leave: bool = True) -> None:
    event("begin", "export")
    model = PLAN.parent / "model"
    if RANK == "0" and leave:
        model.mkdir(exist_ok=True)
        (model / "config.json").write_text("{}")
    event("end", "export")


def push() -> None:
    if RANK == "0" and BEHAVIOUR != "good":
        failed = {"code": "P012", "name": "push-failed", "severity": "error", "message": "no route"}
        address, findings = ("https://hub/me/model", []) if BEHAVIOUR == "pushed" else (None, [failed])
        (ATTEMPT / "export.json").write_text(json.dumps({"pushed": address, "findings": findings}))


def rank() -> None:
    note = ATTEMPT / f".rank-{RANK}"
    note.write_text(str(os.getpid()))
    note.rename(ATTEMPT / f"rank-{RANK}.pid")
    event("begin", "start")
    event("end", "start")
    if BEHAVIOUR in ("good", "pushed", "push-failed"):
        train()
        export()
        push()
    elif BEHAVIOUR == "no-model":
        train()
        export(leave=False)
    elif BEHAVIOUR == "no-export":
        (PLAN.parent / "model").mkdir(exist_ok=True)
        (PLAN.parent / "model" / "config.json").write_text("{}")
    elif BEHAVIOUR == "raise":
        if RANK == "1":
            fail("ValueError: row 7 is bad", after_s=0.2)
        fail("RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:39145", after_s=0.0)
    elif BEHAVIOUR == "kill" and RANK == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    elif BEHAVIOUR == "deaf":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    if BEHAVIOUR in ("hang", "deaf", "kill"):
        event("begin", "train")
        time.sleep(30)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def launcher() -> None:
    if BEHAVIOUR == "crash":
        say("Traceback ...\nConnectionError: Tried to launch on port 29500, it is in use")
        sys.exit(1)
    ranks = [
        subprocess.Popen(
            sys.orig_argv, env={**os.environ, "STAND_IN_RANK": str(number)}, start_new_session=True
        )
        for number in range(2)
    ]
    codes = []
    while len(codes) < len(ranks):
        codes = [child.poll() for child in ranks if child.poll() is not None]
        failed = next(((n, child.poll()) for n, child in enumerate(ranks) if child.poll()), None)
        if failed is not None:
            time.sleep(0.4)
            number, code = failed
            say(f"failed (exitcode: {code}) local_rank: {number} (pid: {ranks[number].pid}) of binary: x")
            for child in ranks:
                child.terminate()
            sys.exit(1)
        time.sleep(0.02)


def passed_on(number, _frame) -> None:
    sys.exit(1)


if RANK is not None:
    rank()
else:
    if BEHAVIOUR != "deaf":
        signal.signal(signal.SIGTERM, passed_on)
    launcher()
