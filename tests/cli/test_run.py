"""`fsdpwiz run` as a user starts it: its own process, its own folder, its exit code."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import psutil
import pytest

from fsdpwiz.runs import records
from fsdpwiz.runs.checkpoints import complete_checkpoints
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.state import start_record

RECIPE = """\
name: own
model: {name_or_path: owner/model}
script: own.py
script_args: ["%s"]
cluster: {device: cpu, processes_per_node: %d}
"""
SCRIPT = """\
import os, signal, sys, time
rank = os.environ.get("RANK", "0")
print("rank", rank, "of", os.environ.get("WORLD_SIZE", "1"), flush=True)
behaviour = sys.argv[1]
if behaviour == "raise" and rank == "1":
    raise ValueError("row 7 is bad")
last = str(int(os.environ.get("WORLD_SIZE", "1")) - 1)
if behaviour == "kill" and rank == last:
    os.kill(os.getpid(), signal.SIGKILL)
if behaviour in ("hang", "raise", "kill"):
    time.sleep(300)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("FSDPWIZ_SITE", raising=False)
    write(tmp_path, "fine")
    (tmp_path / "own.py").write_text(SCRIPT)
    return tmp_path


def write(folder, behaviour, processes=2, more=""):
    (folder / "own.yaml").write_text(RECIPE % (behaviour, processes) + more)


def fsdpwiz(folder, *words, timeout_s=240, **environ):
    environment = {**os.environ, "HOME": str(folder), "NO_COLOR": "1", **environ}
    command = [sys.executable, "-m", "fsdpwiz", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout_s
    )


def snapshot(folder):
    return {
        str(path.relative_to(folder)): (path.lstat().st_mtime_ns, path.lstat().st_size)
        for path in [folder, *folder.rglob("*")]
    }


def only_run(folder, name="own"):
    (root,) = (folder / "runs" / name).iterdir()
    return RunFolder(root)


def left_behind(folder):
    """Processes that still speak of this folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and any(str(folder) in word for word in process.cmdline()):
                found.append(process)
    return found


# --- before anything starts ---------------------------------------------------------------------


def test_dry_run_shows_all_and_touches_nothing(folder):
    before = snapshot(folder)
    done = fsdpwiz(folder, "run", "own", "--dry-run")
    assert done.returncode == 0, done.stderr
    for part in (
        "# accelerate.yaml",
        "distributed_type: FSDP",
        "# launch command",
        "accelerate.commands.launch",
    ):
        assert part in done.stdout
    for part in ("ACCELERATE_USE_CPU=true", "# effective settings", "nothing was written or started"):
        assert part in done.stdout + done.stderr
    assert snapshot(folder) == before


def test_dry_run_as_json(folder):
    before = snapshot(folder)
    done = fsdpwiz(folder, "run", "own", "--dry-run", "--json")
    document = json.loads(done.stdout)
    assert document["schema"] == 1 and document["run"] is None and document["findings"] == []
    assert document["environment"]["ACCELERATE_USE_CPU"] == "true" and "effective" in document
    assert document["command"][1:3] == ["-m", "accelerate.commands.launch"]
    assert snapshot(folder) == before


def test_dry_run_of_a_large_recipe_on_a_machine_without_gpus(folder):
    done = fsdpwiz(folder, "run", "recipes/llama2-70b-sft", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "--num_processes" in done.stdout or "num_processes: 16" in done.stdout
    assert not (folder / "runs").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run"], 2, "recipe is missing"),
        (["run", "nowhere"], 2, "nowhere"),
        (["run", "own", "sft.max_stepz=3"], 1, "max_steps"),
        (["run", "own", "--node-rank", "1"], 2, "--main-address"),
        (["run", "own", "--node-rank", "1", "--main-address", "a"], 2, "--run-id"),
        (["run", "own", "--main-address", "a b"], 2, "HOST"),
        (["run", "own", "--run-id", "../x"], 2, "--run-id"),
        (["run", "own", "--node-rank", "1", "--main-address", "a", "--run-id", "x"], 2, "node"),
        (["run", "own", "--resume", "last"], 2, "own"),
        (["run", "--resume", "last"], 2, "last"),
        (["run", "own", "script=other.py"], 1, "other.py"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(words, code, said, folder):
    done = fsdpwiz(folder, *words)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "runs").exists()


def test_a_failure_before_the_launch_is_a_document_too(folder):
    done = fsdpwiz(folder, "run", "own", "sft.max_stepz=3", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1 and document["run"] is None and document["findings"][0]["code"] == "S001"


def test_a_missing_script_is_said_once(folder):
    done = fsdpwiz(folder, "run", "own", "script=other.py", "--json")
    assert [found["code"] for found in json.loads(done.stdout)["findings"]].count("P026") == 1
    ignored = fsdpwiz(folder, "run", "own", "script=other.py", "ignore.P026=no", "--json")
    assert ignored.returncode == 1 and "P026" in ignored.stdout


def test_a_busy_port_is_a_finding(folder):
    write(folder, "fine", more="")
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = fsdpwiz(folder, "run", "own", "--main-address", f"127.0.0.1:{port}", "cluster.nodes=2")
    assert done.returncode == 1 and "P002" in done.stderr and str(port) in done.stderr
    assert not (folder / "runs").exists()


def test_an_output_folder_that_cannot_be_written(folder):
    done = fsdpwiz(folder, "run", "own", "--output-dir", "/proc/runs")
    assert done.returncode == 1 and "P004" in done.stderr and "Traceback" not in done.stderr


def test_an_output_folder_that_is_a_file(folder):
    (folder / "taken").write_text("")
    done = fsdpwiz(folder, "run", "own", "output_dir=taken")
    assert done.returncode == 1 and "P004" in done.stderr


def test_a_runs_name_that_is_a_file(folder):
    (folder / "runs").mkdir()
    (folder / "runs" / "own").write_text("")
    done = fsdpwiz(folder, "run", "own")
    assert done.returncode == 1 and "P004" in done.stderr and "Traceback" not in done.stderr


def test_a_run_id_that_is_taken(folder):
    (folder / "runs" / "own" / "mine").mkdir(parents=True)
    done = fsdpwiz(folder, "run", "own", "--run-id", "mine")
    assert done.returncode == 2 and "--run-id mine" in done.stderr


@contextlib.contextmanager
def mounted(place: Path, *options: str):
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "none", str(place)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_read_only_file_system(folder):
    with mounted(folder / "disk", "ro", "size=1m"):
        done = fsdpwiz(folder, "run", "own", "output_dir=disk/runs")
    assert done.returncode == 1 and "P004" in done.stderr


def test_a_full_disk_is_a_finding_and_leaves_nothing(folder):
    with mounted(folder / "disk", "size=16k"):
        done = fsdpwiz(folder, "run", "own", "output_dir=disk/runs")
        assert list((folder / "disk").iterdir()) == []
    assert done.returncode == 1 and "P003" in done.stderr and "Traceback" not in done.stderr


def resumable(folder):
    run = RunFolder(folder / "runs" / "own" / "20260101-000000")
    run.attempt(1).folder.mkdir(parents=True)
    run.recipe.write_text(RECIPE.replace("own.py", str(folder / "own.py")) % ("fine", 2))
    run.source.write_text(
        '{"schema": 1, "path": "/elsewhere/own.yaml", "hash": "sha256:0", "overrides": ["a=1"]}'
    )
    return run


def test_a_run_that_still_runs_is_not_resumed(folder):
    run = resumable(folder)
    records.append(run.attempt(1).launch(0), start_record())
    done = fsdpwiz(folder, "run", "--resume", "own")
    assert done.returncode == 1 and "P025" in done.stderr and str(os.getpid()) in done.stderr


def test_a_change_the_checkpoint_cannot_follow_is_refused(folder):
    run = resumable(folder)
    run.checkpoint(5).mkdir(parents=True)
    manifest = {"distributed_type": "FSDP2", "state_dict_type": "SHARDED_STATE_DICT", "peft": {"r": 8}}
    (run.checkpoint(5) / "fsdpwiz.json").write_text(json.dumps(manifest))
    before = snapshot(folder / "runs")
    done = fsdpwiz(folder, "run", "--resume", "own", "fsdp=null")
    assert done.returncode == 1 and "I011" in done.stderr and "step-5" in done.stderr
    assert snapshot(folder / "runs") == before


def test_a_run_without_its_recipe_says_so(folder):
    run = resumable(folder)
    run.plan.write_text("{}")
    run.recipe.unlink()
    done = fsdpwiz(folder, "run", "--resume", "own")
    assert (done.returncode, "lacks its recipe" in done.stderr) == (2, True), done.stderr
    assert str(run.recipe) in done.stderr


def test_a_checkpoint_that_would_run_something_is_refused(folder):
    run = resumable(folder)
    inner = run.checkpoint(5) / "optimizer_0"
    inner.mkdir(parents=True)
    (inner / ".metadata").write_bytes(b"cposix\nsystem\n(S'touch mark'\ntR.")
    before = snapshot(folder)
    done = fsdpwiz(folder, "run", "--resume", "own")
    assert done.returncode == 1 and "I032" in done.stderr and "posix.system" in done.stderr
    assert snapshot(folder) == before


# --- real launches ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_script_of_ones_own_runs_on_two_processes(folder):
    done = fsdpwiz(folder, "run", "own", "--json", "script_args=[fine]")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    run = only_run(folder)
    assert (document["run"], document["state"], document["exit_code"]) == (str(run.root), "finished", 0)
    assert run.attempt(1).rank_log(0).read_text() == "rank 0 of 2\n"
    assert run.attempt(1).rank_log(1).read_text() == "rank 1 of 2\n"
    assert json.loads(run.status.read_text())["state"] == "finished"
    names = {path.name for path in run.root.iterdir()}
    artifacts = {"recipe.yaml", "source.json", "plan.json", "accelerate.yaml", "command.txt", "versions.json"}
    assert artifacts | {"findings.json", "status.json", "attempts"} <= names
    assert left_behind(folder) == []


@pytest.mark.slow
def test_the_failing_ranks_own_traceback_is_shown_and_the_run_goes_on(folder):
    write(folder, "raise")
    done = fsdpwiz(folder, "run", "own")
    assert done.returncode == 1
    assert "ValueError: row 7 is bad" in done.stderr and 'own.py", line' in done.stderr
    assert "Rank 1 failed" in done.stderr and "Root Cause" not in done.stderr
    assert left_behind(folder) == []
    run = only_run(folder)
    done = fsdpwiz(folder, "run", "--resume", "last", "script_args=[fine]")
    assert done.returncode == 0, done.stderr
    assert "begins anew" in done.stderr
    assert run.attempt(2).rank_log(1).read_text() == "rank 1 of 2\n"
    assert "raise" in (run.attempt(1).folder / "recipe.yaml").read_text()
    source = json.loads(run.source.read_text())
    assert source["path"] == str(folder / "own.yaml") and source["overrides"] == ["script_args=[fine]"]


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_killed_rank_is_named_with_its_signal(processes, folder):
    write(folder, "kill", processes)
    done = fsdpwiz(folder, "run", "own", "--json")
    (finding,) = (item for item in json.loads(done.stdout)["findings"] if item["severity"] == "error")
    assert (done.returncode, finding["code"], finding["rank"]) == (1, "P021", processes - 1)
    assert "SIGKILL" in finding["message"]
    assert json.loads(only_run(folder).status.read_text())["exit_code"] == -9
    assert left_behind(folder) == []


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_ends_everything(folder):
    write(folder, "hang")
    environment = {**os.environ, "HOME": str(folder), "TERM": "xterm"}
    child = pexpect.spawn(
        sys.executable,
        ["-m", "fsdpwiz", "run", "own"],
        cwd=folder,
        env=environment,
        timeout=120,
        encoding="utf-8",
    )
    child.expect("training")
    child.sendintr()
    child.expect("interrupted")
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == 130
    assert left_behind(folder) == []
    assert json.loads(only_run(folder).status.read_text())["state"] == "cancelled"


@pytest.mark.slow
def test_a_killed_command_takes_its_ranks_with_it(folder):
    """SIGKILL leaves no time to clean up: each process is bound to its parent's life."""
    write(folder, "hang")
    environment = {**os.environ, "HOME": str(folder)}
    child = subprocess.Popen(
        [sys.executable, "-m", "fsdpwiz", "run", "own", "-q"], cwd=folder, env=environment
    )
    deadline = time.monotonic() + 120
    while not list(folder.glob("runs/own/*/attempts/1/rank-1.log")) and time.monotonic() < deadline:
        time.sleep(0.2)
    child.send_signal(signal.SIGKILL)
    child.wait()
    while left_behind(folder) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left_behind(folder) == []


@pytest.mark.slow
def test_two_nodes_share_one_run(folder):
    write(folder, "fine", 1, more="")
    words = [sys.executable, "-m", "fsdpwiz", "run", "own", "cluster.nodes=2"]
    environment = {**os.environ, "HOME": str(folder), "NO_COLOR": "1"}
    with (folder / "first.txt").open("w") as log:
        first = subprocess.Popen(
            [*words, "--main-address", "127.0.0.1:29641"], cwd=folder, env=environment, stderr=log
        )
    deadline = time.monotonic() + 60
    found = None
    while found is None and time.monotonic() < deadline:
        found = re.search(r"^  fsdpwiz (run .*)$", (folder / "first.txt").read_text(), re.MULTILINE)
        time.sleep(0.1)
    second = fsdpwiz(folder, *found[1].split())
    assert (second.returncode, first.wait(timeout=120)) == (0, 0), second.stderr
    run = only_run(folder)
    assert run.attempt(1).rank_log(1).read_text() == "rank 1 of 2\n"
    assert {path.name for path in run.attempt(1).folder.glob("launch*")} == {
        *("launch-0.jsonl", "launch-1.jsonl", "launcher-0.log", "launcher-1.log")
    }


@pytest.mark.slow
def test_a_training_is_interrupted_resumed_and_ends_with_a_model(tmp_path):
    """The whole way on two real ranks: Ctrl-C within the steps, `--resume last`, a verified model."""
    from tests.train.tiny import write_model, write_rows

    write_model(tmp_path / "model")
    write_rows(tmp_path)
    (tmp_path / "tiny.yaml").write_text(
        "model: {name_or_path: model}\n"
        "data: {name_or_path: text.jsonl}\n"
        "sft: {max_steps: 5000, max_length: 64, per_device_train_batch_size: 1,\n"
        "      save_steps: 2, logging_steps: 1}\n"
        "cluster: {device: cpu, processes_per_node: 2}\n"
    )
    environment = {**os.environ, "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "fsdpwiz", "run", "tiny", "sft.save_total_limit=2", "-q"]
    child = subprocess.Popen(command, cwd=tmp_path, env=environment)
    deadline = time.monotonic() + 240
    while not list(tmp_path.glob("runs/tiny/*/checkpoints/step-*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == 130
    assert left_behind(tmp_path) == []
    run = only_run(tmp_path, "tiny")
    reached = complete_checkpoints(run)[-1]
    steps = int(reached.name.removeprefix("step-")) + 3
    done = fsdpwiz(
        tmp_path, "run", "--resume", "last", f"sft.max_steps={steps}", "--json", OMP_NUM_THREADS="1"
    )
    assert done.returncode == 0, done.stderr
    assert f"going on from {reached.name}" in done.stderr
    document = json.loads(done.stdout)
    assert (document["state"], document["steps"], document["model"]) == ("finished", steps, str(run.model))
    assert 0 < document["final_loss"] < 20 and (run.model / "config.json").is_file()
    assert json.loads(run.status.read_text())["state"] == "finished"
    assert "save_total_limit: 2" in run.recipe.read_text()
    metrics = [record for record in records.read(run.metrics) if record["attempt"] == 2]
    assert [record["step"] for record in metrics] == list(range(steps - 2, steps + 1))


def test_the_word_for_the_latest_run_is_no_run_id(invoke):
    outcome = invoke("run", "smollm2-135m-sft", "--run-id", "last")

    assert outcome.exit_code == 2
    assert "`last` means the latest run" in outcome.stderr
