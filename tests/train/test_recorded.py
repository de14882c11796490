"""What a run on two ranks leaves in its folder, and what its ranks share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fsdpwiz.runs.records import read
from tests.train import tiny

pytestmark = pytest.mark.slow

PHASES = ["start", "data", "load", "prepare", "data", "train", "export", "end"]


def test_events_of_every_rank(bench: Any) -> None:
    outcome = bench.once(bench.plan(kind="FSDP2", ranks=2))
    for rank in (0, 1):
        events = read(outcome.folder.attempt(1).events(rank))
        assert [event["phase"] for event in events if event["event"] == "begin"] == PHASES
        assert sorted(event["phase"] for event in events if event["event"] == "end") == sorted(PHASES)
        assert [event["step"] for event in events if event["event"] == "step"] == [1, 2, 3]
        assert all(
            event["rss_peak_bytes"] >= event["rss_bytes"] > 0 for event in events if event["event"] == "end"
        )


def test_phases_of_saves_and_evaluations(bench: Any) -> None:
    training = {
        "max_steps": -1,
        "num_train_epochs": 2,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "logging_steps": 2,
    }
    rows = {"split": "train[:12]", "eval_split": "train[12:20]"}
    outcome = bench.train("epochs", bench.plan(kind="FSDP2", ranks=2, data=rows, training=training))
    events = read(outcome.folder.attempt(1).events(1))
    inside = [event["phase"] for event in events if event["event"] == "begin" and event["step"]]
    assert inside == ["evaluate", "save", "evaluate", "save", "export", "end"]
    lines = outcome.metrics()
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert [line["loss"] is not None for line in lines] == [False, True, False, True, False, True]
    assert [line["eval_loss"] is not None for line in lines] == [False, False, True, False, False, True]
    assert [line["save_stall_s"] > 0 for line in lines] == [False, False, True, False, False, True]
    assert {path.name for path in outcome.folder.checkpoints.iterdir()} == {"step-3", "step-6"}


@pytest.mark.parametrize("kind", ["FSDP2", "FSDP1"])
def test_where_the_time_of_a_step_goes(kind: str, bench: Any) -> None:
    for line in bench.once(bench.plan(kind=kind, ranks=2)).metrics():
        assert line["optimizer_s"] > 0 and line["data_s"] > 0
        assert line["optimizer_s"] + line["data_s"] < line["step_s"]
        assert line["tokens_per_s"] == pytest.approx(line["tokens"] / line["step_s"], abs=0.1)


def test_the_manifest_says_who_wrote_the_checkpoint(bench: Any) -> None:
    plan = bench.plan(kind="FSDP2", ranks=2, training={"save_strategy": "steps", "save_steps": 2})
    checkpoint = bench.train("manifest", plan).folder.checkpoint(2)
    manifest = json.loads((checkpoint / "fsdpwiz.json").read_text())
    assert manifest["step"] == 2
    assert manifest["world_size"] == 2
    assert (manifest["distributed_type"], manifest["state_dict_type"]) == ("FSDP2", "SHARDED_STATE_DICT")
    assert manifest["model"]["name_or_path"] == str(bench.model)
    assert manifest["plan_hash"] == plan.hash
    assert {"config.json", "generation_config.json", "tokenizer.json", "chat_template.jinja"} <= {
        path.name for path in checkpoint.iterdir()
    }


def test_data_is_prepared_once_for_all_ranks(bench: Any, tmp_path: Any) -> None:
    rows = tmp_path / "text.jsonl"
    rows.write_text("".join(json.dumps({"text": f"Only here: {text}"}) + "\n" for text in tiny.sentences(16)))
    cache = bench.root / "hf" / "datasets"
    before = set(cache.rglob("cache-*.arrow"))
    data = {"name_or_path": str(rows), "format": "text"}
    bench.train("prepared-by-two", bench.plan(kind="FSDP2", ranks=2, data=data))
    by_two = set(cache.rglob("cache-*.arrow")) - before
    bench.train("prepared-by-one", bench.plan(data=data))
    assert by_two
    assert set(cache.rglob("cache-*.arrow")) - before == by_two
    assert "Tokenizing" in bench.ranks.log(0)
    assert "Tokenizing" not in bench.ranks.log(1)


def test_chats_without_template_are_refused(bench: Any, tmp_path: Any) -> None:
    import shutil

    model = tmp_path / "model"
    shutil.copytree(bench.model, model)
    (model / "chat_template.jinja").unlink()
    plan = bench.plan(rows="messages", model={"name_or_path": str(model)})
    outcome = bench.ranks.train(plan, bench.root / "no-template")
    assert outcome.ranks[0]["finding"]["code"] == "J034"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model": {"loading": "streaming"}}, "F024"),
        ({"checkpoint": {"mode": "async", "staging_gb": None, "export_dtype": None}}, "I034"),
        ({"kind": "DDP", "ranks": 2, "reduce_dtype": "bfloat16"}, "E028"),
    ],
)
def test_what_is_not_obeyed_is_refused(changes: dict[str, Any], code: str, bench: Any) -> None:
    outcome = bench.ranks.train(bench.plan(**changes), bench.root / f"refused-{code}-{len(str(changes))}")
    assert {report["finding"]["code"] for report in outcome.ranks} == {code}
    assert not outcome.folder.metrics.exists()
