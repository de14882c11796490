"""Where the rows of a plan come from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.plan.types import DataPlan
from fsdpwiz.train import data
from tests.train import tiny
from tests.train.plans import make_plan

pytestmark = pytest.mark.slow


def rows_of(where: Path, **changes: Any) -> tuple[list[str], list[str] | None]:
    plan = {"split": "train", "eval_name_or_path": None, "eval_split": None, "format": None, **changes}
    loaded = data.load(DataPlan(name_or_path=str(where), **plan))
    evaluation = None if loaded.evaluation is None else list(loaded.evaluation["text"])
    return list(loaded.train["text"]), evaluation


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    import datasets
    from datasets import Dataset, DatasetDict

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets")
    (tmp_path / "files").mkdir()
    jsonl = tiny.write_rows(tmp_path, 12)["text"]
    rows = Dataset.from_json(str(jsonl), cache_dir=str(tmp_path / "cache"))
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.to_parquet(tmp_path / "files" / "train.parquet")
    rows.select(range(3)).to_parquet(tmp_path / "files" / "test.parquet")
    rows.save_to_disk(str(tmp_path / "saved"))
    DatasetDict({"train": rows, "held_out": rows.select(range(2))}).save_to_disk(
        str(tmp_path / "saved-splits")
    )
    return {
        "jsonl": jsonl,
        "parquet": tmp_path / "rows.parquet",
        "folder": tmp_path / "files",
        "saved": tmp_path / "saved",
        "saved-splits": tmp_path / "saved-splits",
    }


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "folder", "saved", "saved-splits"])
def test_rows_of_a_path(kind: str, stored: dict[str, Path]) -> None:
    assert rows_of(stored[kind]) == (tiny.sentences(12), None)


def test_rows_to_evaluate_on(stored: dict[str, Path]) -> None:
    texts = tiny.sentences(12)
    assert rows_of(stored["folder"], eval_split="test")[1] == texts[:3]
    assert rows_of(stored["saved-splits"], eval_split="held_out")[1] == texts[:2]
    assert rows_of(stored["jsonl"], split="train[:8]", eval_split="train[8:]") == (texts[:8], texts[8:])
    assert rows_of(stored["jsonl"], eval_name_or_path=str(stored["parquet"]))[1] == texts


def test_chats_need_a_template() -> None:
    plan = make_plan(Path("model"), Path("messages.jsonl"))
    chats, plain = SimpleNamespace(column_names=["messages"]), SimpleNamespace(column_names=["text"])
    with pytest.raises(FsdpwizError, match="has no chat template") as caught:
        data.require_chat_template(chats, SimpleNamespace(chat_template=None), plan)
    assert caught.value.findings[0].code == "J034"
    data.require_chat_template(chats, SimpleNamespace(chat_template="{{ messages }}"), plan)
    data.require_chat_template(plain, SimpleNamespace(chat_template=None), plan)
    named = make_plan(Path("model"), Path("messages.jsonl"), training={"chat_template_path": "other"})
    data.require_chat_template(chats, SimpleNamespace(chat_template=None), named)
