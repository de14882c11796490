from fsdpwiz.runs.checkpoints import complete_checkpoints, latest_checkpoint
from fsdpwiz.runs.layout import RunFolder


def test_only_step_folders_by_number(tmp_path):
    run = RunFolder(tmp_path)
    for name in (
        "step-10",
        "step-9",
        "checkpoint-20",
        "step-",
        "step-x",
        "step-007",
        "step-11.tmp",
        "step--3",
    ):
        (run.checkpoints / name).mkdir(parents=True)
    (run.checkpoints / "step-99").write_text("a file")
    (run.checkpoints / "step-98").symlink_to(run.checkpoints / "step-9")
    assert [path.name for path in complete_checkpoints(run)] == ["step-9", "step-10"]
    assert latest_checkpoint(run) == run.checkpoint(10)


def test_none_where_there_is_no_folder(tmp_path):
    assert complete_checkpoints(RunFolder(tmp_path)) == []
    assert latest_checkpoint(RunFolder(tmp_path)) is None
