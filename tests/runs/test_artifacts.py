import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from fsdpwiz.runs.artifacts import Artifacts, recipe_hash, write_artifacts
from fsdpwiz.runs.layout import RunFolder

FIRST = Artifacts(
    recipe_text="name: tiny  # kept\n",
    source_path="/recipes/tiny.yaml",
    source_text="name: tiny\n",
    overrides=("sft.max_steps=3",),
    plan={"schema": 1, "name": "tiny"},
    accelerate="distributed_type: FSDP\n",
    command="accelerate launch\n",
    versions={"torch": "2.13.0"},
    findings={"schema": 1, "findings": []},
)


def test_every_file_is_there_and_private(tmp_path):
    run = RunFolder(tmp_path)
    write_artifacts(run, FIRST)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [
            "recipe.yaml",
            "source.json",
            "plan.json",
            "accelerate.yaml",
            "command.txt",
            "versions.json",
            "findings.json",
        ]
    )
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
    assert json.loads(run.source.read_text()) == {
        "schema": 1,
        "path": "/recipes/tiny.yaml",
        "hash": recipe_hash("name: tiny\n"),
        "overrides": ["sft.max_steps=3"],
    }
    assert run.recipe.read_text() == FIRST.recipe_text


def test_former_files_move_to_the_last_attempt_they_served(tmp_path):
    run = RunFolder(tmp_path)
    write_artifacts(run, FIRST)
    for number in (1, 2):
        run.attempt(number).folder.mkdir(parents=True)
    run.sbatch.write_text("#!/bin/bash\n")
    run.recipe_fixed.write_text("name: fixed\n")
    write_artifacts(run, replace(FIRST, recipe_text="name: fixed\n"))
    assert (run.attempt(2).folder / "recipe.yaml").read_text() == FIRST.recipe_text
    assert (run.attempt(2).folder / "job.sbatch").exists() and not run.sbatch.exists()
    assert list(run.attempt(1).folder.iterdir()) == []
    assert run.recipe.read_text() == "name: fixed\n" and not run.recipe_fixed.exists()


def test_a_full_disk_leaves_the_former_files_where_they_were(tmp_path):
    """The write fails for real: the process may not write files beyond a limit."""
    run = RunFolder(tmp_path)
    write_artifacts(run, FIRST)
    run.attempt(1).folder.mkdir(parents=True)
    code = (
        "import resource, signal, sys\n"
        "from dataclasses import replace\n"
        "from pathlib import Path\n"
        "from tests.runs.test_artifacts import FIRST\n"
        "from fsdpwiz.runs.artifacts import write_artifacts\n"
        "from fsdpwiz.runs.layout import RunFolder\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "write_artifacts(RunFolder(Path(sys.argv[1])), replace(FIRST, command='x' * 5000))\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=root, capture_output=True, text=True
    )
    assert "File too large" in done.stderr
    assert run.command.read_text() == FIRST.command and run.plan.exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
