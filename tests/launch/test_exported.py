"""What rank 0 says of its export: where it was pushed to, and a push that failed."""

import json

import pytest

from fsdpwiz.launch.exported import Exported, Noticed, read_exported, read_noticed
from fsdpwiz.launch.report import report
from fsdpwiz.runs import records
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train.run import write_report
from tests.launch.runs import launched, plan_of


def exported(tmp_path, text):
    attempt = RunFolder(tmp_path).attempt(1)
    attempt.folder.mkdir(parents=True)
    attempt.export.write_text(text)
    return read_exported(attempt)


def test_a_push(tmp_path):
    assert exported(tmp_path, '{"pushed": "https://hub/me/model", "findings": []}') == Exported(
        pushed="https://hub/me/model"
    )


def test_a_failed_push_is_a_finding(tmp_path):
    said = {"code": "P012", "name": "push-failed", "severity": "error", "message": "no\x1b[2J route"}
    (finding,) = exported(tmp_path, json.dumps({"pushed": None, "findings": [said]})).findings
    assert (finding.code, finding.severity) == ("P012", "error")
    assert "\x1b" not in finding.message


@pytest.mark.parametrize(
    "text", ["", "[]", '{"pushed": 3, "findings": 7}', '{"findings": [1, null]}', "\x00"]
)
def test_anything_else_says_nothing(text, tmp_path):
    assert exported(tmp_path, text) == Exported()


def test_a_run_with_a_failed_push_is_finished_with_the_finding(tmp_path):
    outcome, run = launched(tmp_path / "run", "push-failed")
    assert (outcome.state, outcome.model) == ("finished", run.model)
    assert outcome.finding.code == "P012"


def test_the_screen_says_where_it_was_pushed_to(tmp_path):
    outcome, run = launched(tmp_path / "run", "pushed")
    assert outcome.finding is None
    assert "Pushed    https://hub/me/model" in report(plan_of(), run, outcome)


def test_the_trainer_writes_what_is_read(tmp_path):
    from fsdpwiz.train.export.model import ExportReport
    from fsdpwiz.train.export.problems import not_pushed

    attempt = RunFolder(tmp_path).attempt(1)
    attempt.folder.mkdir(parents=True)
    sizes = {"parameters": 1, "size_bytes": 4, "tensors": 1, "compared_blocks": 1, "seconds": 0.1}
    failed = not_pushed("me/model", "no route", tmp_path / "model")
    written = ExportReport(
        model=tmp_path / "model", adapter=None, dtype="float32", **sizes, pushed=None, findings=(failed,)
    )
    write_report(attempt.export, written)
    (finding,) = read_exported(attempt).findings
    assert (finding.code, finding.message) == ("P012", failed.message)


def noticed(attempt, step):
    message = f"the checkpoint of step {step} was not written\x1b[2J"
    said = {"code": "P016", "name": "checkpoint-not-written", "severity": "warning", "message": message}
    records.append(attempt.findings, said)


def test_what_was_noticed_comes_as_it_happens_and_is_counted_at_the_end(tmp_path):
    attempt = RunFolder(tmp_path).attempt(1)
    attempt.folder.mkdir(parents=True)
    assert read_noticed(attempt) == () and Noticed(attempt).new() == []
    following = Noticed(attempt)
    for step in (2, 4):
        noticed(attempt, step)
        (line,) = following.new()
        assert line.startswith(f"warning P016 the checkpoint of step {step} was not") and "\x1b" not in line
    assert following.new() == []
    (finding,) = read_noticed(attempt)
    assert finding.message.endswith("(2 such findings; this is the last)") and "step 4" in finding.message
