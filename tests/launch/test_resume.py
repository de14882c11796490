"""A change that the checkpoint cannot follow is refused before anything starts."""

import json
import os
import pickle

import pytest

from fsdpwiz.launch.resume import ended, resume_problems
from fsdpwiz.rules.engine import word
from fsdpwiz.runs import records
from fsdpwiz.runs.layout import CHECKPOINT_MANIFEST, RunFolder
from fsdpwiz.runs.state import start_record
from tests.launch.runs import plan_of

SAVED = {
    "schema": 1,
    "step": 5,
    "distributed_type": "FSDP2",
    "state_dict_type": "SHARDED_STATE_DICT",
    "method": "sft",
    "model": {"name_or_path": "owner/model", "revision": None},
    "peft": None,
    "quantization": None,
}


@pytest.fixture
def run(tmp_path):
    run = RunFolder(tmp_path)
    run.checkpoint(5).mkdir(parents=True)
    save(run, SAVED)
    return run


def save(run, document):
    (run.checkpoint(5) / CHECKPOINT_MANIFEST).write_text(json.dumps(document))


def test_nothing_to_refuse(run):
    assert resume_problems(plan_of(), run) == ()


@pytest.mark.parametrize(
    "override", ["sft.max_steps=9", "sft.learning_rate=1e-3", "cluster.processes_per_node=4"]
)
def test_what_a_checkpoint_can_follow(override, run):
    assert resume_problems(plan_of(override), run) == ()


@pytest.mark.parametrize(
    ("override", "code", "key"),
    [
        ("fsdp=null", "I011", "fsdp"),
        ("cluster.processes_per_node=1", "I011", "fsdp"),
        ("fsdp.state_dict_type=FULL_STATE_DICT", "I009", "fsdp.state_dict_type"),
        ("model.name_or_path=owner/other", "I030", "model.name_or_path"),
        ("model.revision=v2", "I030", "model.revision"),
        ("peft={r: 4}", "I030", "peft"),
    ],
)
def test_what_it_cannot(override, code, key, run):
    (problem,) = resume_problems(plan_of(override), run)
    assert (problem.code, problem.key) == (code, key)
    finding = word(problem)
    assert finding.severity == "error" and "step-5" in finding.message and f"`{key}`" in finding.message


def test_fsdp1_sharded_loses_the_optimizer_and_is_refused(run):
    save(run, {**SAVED, "distributed_type": "FSDP1"})
    assert [problem.code for problem in resume_problems(plan_of("fsdp.version=1"), run)] == ["I022"]


def test_fsdp_versions_are_not_mixed(run):
    codes = {problem.code for problem in resume_problems(plan_of("fsdp.version=1"), run)}
    assert codes == {"I012", "I022"}


def test_without_a_checkpoint_anything_may_change(tmp_path):
    assert resume_problems(plan_of("model.name_or_path=owner/other"), RunFolder(tmp_path)) == ()


@pytest.mark.parametrize("document", [[], {"model": 3}, {"distributed_type": None}, "x"])
def test_a_manifest_that_says_little_refuses_little(document, run):
    save(run, document)
    assert resume_problems(plan_of(), run) == ()


def test_another_global_batch_is_a_warning(run):
    save(run, {**SAVED, "global_batch_size": 999})
    (problem,) = resume_problems(plan_of(), run)
    assert problem.code == "I031" and word(problem).severity == "warning"


class Payload:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (os.mkdir, (str(self.mark),))


@pytest.mark.parametrize("folder", ["pytorch_model_fsdp_0", "optimizer_0"])
@pytest.mark.parametrize("older", [True, False])
def test_a_checkpoint_that_would_run_something_is_refused(folder, older, run):
    inner = run.checkpoint(5) / folder
    inner.mkdir()
    (inner / ".metadata").write_bytes(pickle.dumps(Payload(run.root / "mark")))
    if older:
        run.checkpoint(3).mkdir()
    (problem,) = resume_problems(plan_of(), run)
    finding = word(problem)
    assert (finding.code, finding.severity) == ("I032", "error")
    assert "posix.mkdir" in finding.message and "step-5" in finding.message
    assert ("step-3" in finding.message) is older
    assert not (run.root / "mark").exists()


def finish(run, plan):
    run.plan.write_text(json.dumps(plan.to_json()))
    (run.checkpoint(5) / "trainer_state.json").write_text(json.dumps({"max_steps": 5}))
    run.attempt(1).folder.mkdir(parents=True)
    for event in (start_record(), {"event": "exported", "model": "model"}, {"event": "end", "exit_code": 0}):
        records.append(run.attempt(1).launch(0), event)
    run.model.mkdir()


@pytest.mark.parametrize(
    ("override", "done"),
    [("sft.max_steps=5", True), ("sft.max_steps=4", True), ("sft.max_steps=6", False)],
)
def test_a_run_that_has_taken_all_its_steps_has_ended(override, done, run):
    finish(run, plan_of("sft.max_steps=5"))
    problem = ended(plan_of(override), run)
    assert (problem is not None) is done
    if problem is not None:
        finding = word(problem)
        assert (finding.code, finding.severity) == ("I033", "info") and str(run.model) in finding.message


@pytest.mark.parametrize(
    ("override", "done"), [("sft.num_train_epochs=2", True), ("sft.num_train_epochs=3", False)]
)
def test_epochs_are_the_steps_that_the_trainer_counted(override, done, run):
    finish(run, plan_of("sft.max_steps=-1", "sft.num_train_epochs=2"))
    assert (ended(plan_of("sft.max_steps=-1", override), run) is not None) is done


def test_a_run_without_its_model_has_not_ended(run):
    finish(run, plan_of("sft.max_steps=5"))
    run.model.rmdir()
    assert ended(plan_of("sft.max_steps=5"), run) is None


def test_a_run_whose_last_attempt_failed_has_not_ended(run):
    finish(run, plan_of("sft.max_steps=5"))
    run.attempt(2).folder.mkdir()
    records.append(run.attempt(2).launch(0), start_record())
    records.append(run.attempt(2).launch(0), {"event": "end", "exit_code": 1})
    assert ended(plan_of("sft.max_steps=5"), run) is None
