"""A training that goes on from a checkpoint has the losses of one that was never interrupted."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.train.checksums import listed
from tests.train.test_losses import LORA, QLORA

pytestmark = pytest.mark.slow

STEPS, SAVED = 6, 4
QLORA_FSDP2 = {**QLORA, "kind": "FSDP2", "ranks": 2, "reduce_dtype": "bfloat16"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one": ({}, {}),
    "one-lora": ({"peft": LORA}, {}),
    "one-qlora": (QLORA, {}),
    "ddp": ({"kind": "DDP", "ranks": 2}, {}),
    "ddp-then-one": ({"kind": "DDP", "ranks": 2}, {"kind": "NO", "ranks": 1}),
    "fsdp2": ({"kind": "FSDP2", "ranks": 2}, {}),
    "fsdp2-lora": ({"kind": "FSDP2", "ranks": 2, "peft": LORA}, {}),
    "fsdp2-lora-checkpointed": (
        {"kind": "FSDP2", "ranks": 2, "peft": LORA, "fsdp": {"activation_checkpointing": True}},
        {},
    ),
    "fsdp2-qlora": (QLORA_FSDP2, {}),
    "fsdp2-full-state-dict": (
        {"kind": "FSDP2", "ranks": 2, "fsdp": {"state_dict_type": "FULL_STATE_DICT"}},
        {},
    ),
    "fsdp2-2-then-4": ({"kind": "FSDP2", "ranks": 2}, {"ranks": 4}),
    "fsdp2-4-then-2": ({"kind": "FSDP2", "ranks": 4}, {"ranks": 2}),
    "fsdp2-then-offload": (
        {"kind": "FSDP2", "ranks": 2},
        {"ranks": 1, "fsdp": {"offload_params": True}},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_very_same_losses(name: str, bench: Any) -> None:
    before, changes = CASES[name]
    uninterrupted = {
        **before,
        "ranks": min(before.get("ranks", 1), 2),
        **({"fsdp": {}} if "fsdp" in before else {}),
    }
    whole = bench.once(bench.plan(**uninterrupted, training={"max_steps": STEPS}))
    saving = {"save_strategy": "steps", "save_steps": 2, "save_total_limit": 1}
    bench.train(f"resumed-{name}", bench.plan(**before, training={"max_steps": SAVED, **saving}))
    after = {**before, **changes, "training": {"max_steps": STEPS, **saving}}
    resumed = bench.train(f"resumed-{name}", bench.plan(**after), attempt=2)
    assert resumed.column("step", attempt=2) == [5, 6]
    assert resumed.column("loss", attempt=2) == pytest.approx(whole.column("loss")[SAVED:], abs=2e-6)
    assert resumed.column("grad_norm", attempt=2) == pytest.approx(
        whole.column("grad_norm")[SAVED:], rel=1e-4
    )
    assert [path.name for path in resumed.folder.checkpoints.iterdir()] == ["step-6"]


def test_sharded_checkpoints_of_fsdp1_are_refused(bench: Any) -> None:
    saving = {"save_strategy": "steps", "save_steps": 2}
    plan = bench.plan(kind="FSDP1", ranks=2, training=saving)
    saved = bench.train("fsdp1-sharded", plan)
    files = {path.name for path in saved.folder.checkpoint(2).iterdir()}
    assert {"pytorch_model_fsdp_0", "optimizer_0", "config.json", "tokenizer.json", "fsdpwiz.json"} <= files
    refused = bench.ranks.train(plan, saved.folder.root, attempt=2)
    assert [report["finding"]["code"] for report in refused.ranks] == ["I022", "I022"]
    assert saved.column("step", attempt=2) == []


EVALUATED = {
    "max_steps": 6,
    "learning_rate": 0.05,
    "eval_strategy": "steps",
    "eval_steps": 2,
    "save_strategy": "steps",
    "save_steps": 2,
    "save_total_limit": 1,
    "load_best_model_at_end": True,
    "metric_for_best_model": "eval_loss",
}


@pytest.mark.parametrize(
    "how",
    [{}, {"kind": "DDP", "ranks": 2}, {"kind": "FSDP2", "ranks": 2}, {"kind": "FSDP1", "ranks": 2}],
    ids=["one", "ddp", "fsdp2", "fsdp1"],
)
def test_the_best_model_is_kept_and_exported(how: dict[str, Any], bench: Any) -> None:
    name = f"best-{how.get('kind', 'one')}"
    plan = bench.plan(**how, data={"eval_split": "train[:8]"}, training=EVALUATED)
    outcome = bench.train(name, plan)
    losses = [line["eval_loss"] for line in outcome.metrics() if line["eval_loss"] is not None]
    assert len(losses) == 3
    best = 2 * (1 + losses.index(min(losses)))
    assert best == 2
    assert {path.name for path in outcome.folder.checkpoints.iterdir()} == {"step-2", "step-6"}
    state = json.loads((outcome.folder.checkpoint(6) / "trainer_state.json").read_text())
    assert state["best_model_checkpoint"] == str(outcome.folder.checkpoint(2))
    short = bench.train(f"{name}-short", bench.plan(**how, training={"learning_rate": 0.05, "max_steps": 2}))
    assert _weights(outcome.folder.model) == _weights(short.folder.model)


def _weights(model: Any) -> dict[str, bytes]:
    from safetensors import safe_open

    with safe_open(str(model / "model.safetensors"), framework="np") as file:
        return {name: file.get_tensor(name).tobytes() for name in file.keys()}  # noqa: SIM118


ONE_OR_SHARDED = pytest.mark.parametrize(
    "how", [{}, {"kind": "FSDP2", "ranks": 2}, {"kind": "FSDP2", "ranks": 2, "peft": LORA}]
)


@ONE_OR_SHARDED
@pytest.mark.parametrize("steps", [{"max_steps": 3}, {"max_steps": -1, "num_train_epochs": 0.1}])
def test_a_run_at_its_last_step_only_exports(
    how: dict[str, Any], steps: dict[str, Any], bench: Any, tmp_path: Path
) -> None:
    plan = bench.plan(**how, training={**steps, "save_strategy": "steps", "save_steps": 1})
    saved = bench.train(str(tmp_path), plan)
    output = saved.folder.model
    before = {path.name: path.read_bytes() for path in output.glob("*.safetensors")}
    names = {path.name for path in saved.folder.checkpoints.iterdir()}
    assert before and f"step-{len(saved.column('step'))}" in names
    shutil.rmtree(output)
    resumed = bench.train(str(tmp_path), plan, attempt=2)
    assert resumed.column("step", attempt=2) == []
    assert {path.name: path.read_bytes() for path in output.glob("*.safetensors")} == before
    assert {path.name for path in resumed.folder.checkpoints.iterdir()} == names


class Payload:
    """Makes a folder where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def metadata_of(folder: str) -> Any:
    def spoil(checkpoint: Path, mark: Path) -> None:
        (checkpoint / folder / ".metadata").write_bytes(pickle.dumps(Payload(mark)))

    return spoil


def cut(name: str) -> Any:
    def spoil(checkpoint: Path, _: Path) -> None:
        path = checkpoint / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return spoil


def saved_over(name: str) -> Any:
    def spoil(checkpoint: Path, mark: Path) -> None:
        import torch

        torch.save({"python": Payload(mark)}, checkpoint / name)

    return spoil


def value_in_shards(checkpoint: Path, mark: Path) -> None:
    """Every value of the optimizer that is not a tensor is the payload; the metadata stays sound."""
    import torch

    path = checkpoint / "optimizer_0" / ".metadata"
    metadata = pickle.loads(path.read_bytes())
    payload = io.BytesIO()
    torch.save(Payload(mark), payload)
    changed = 0
    for index, info in metadata.storage_data.items():
        if type(metadata.state_dict_metadata[index.fqn]).__name__ == "BytesStorageMetadata":
            shard = path.with_name(info.relative_path)
            info.offset, info.length = shard.stat().st_size, len(payload.getvalue())
            shard.write_bytes(shard.read_bytes() + payload.getvalue())
            changed += 1
    assert changed
    path.write_bytes(pickle.dumps(metadata))


SHARDED = {"kind": "FSDP2", "ranks": 2}
SPOILT: dict[str, tuple[dict[str, Any], Any]] = {
    "model-metadata": (SHARDED, metadata_of("pytorch_model_fsdp_0")),
    "optimizer-metadata": (SHARDED, metadata_of("optimizer_0")),
    "optimizer-values": (SHARDED, value_in_shards),
    "model-shard-cut": (SHARDED, cut("pytorch_model_fsdp_0/__1_0.distcp")),
    "optimizer-shard-cut": (SHARDED, cut("optimizer_0/__0_0.distcp")),
    "state-cut": (SHARDED, cut("trainer_state.json")),
    "one-random-state": ({}, saved_over("rng_state.pth")),
    "one-random-state-cut": ({}, cut("rng_state.pth")),
    "one-optimizer": ({}, saved_over("optimizer.pt")),
    "one-scheduler": ({}, saved_over("scheduler.pt")),
    "one-weights-cut": ({}, cut("model.safetensors")),
}


def reseal(checkpoint: Path) -> None:
    """Let the manifest list the files as they are now."""
    path = checkpoint / "fsdpwiz.json"
    manifest = json.loads(path.read_text())
    path.unlink()
    path.write_text(json.dumps({**manifest, "files": listed(checkpoint, {})}))


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_checkpoint_is_one_finding_and_runs_nothing(name: str, bench: Any, tmp_path: Path) -> None:
    """Also one whose manifest was changed with it: nothing in it is run."""
    how, spoil = SPOILT[name]
    saving = {"save_strategy": "steps", "save_steps": 2}
    bench.train(str(tmp_path / "run"), bench.plan(**how, training={"max_steps": 2, **saving}))
    plan = bench.plan(**how, training={"max_steps": 4, **saving})
    spoil(tmp_path / "run" / "checkpoints" / "step-2", tmp_path / "mark")
    reseal(tmp_path / "run" / "checkpoints" / "step-2")
    refused = bench.ranks.train(plan, tmp_path / "run", attempt=2)
    assert [report["finding"] and report["finding"]["code"] for report in refused.ranks] == ["I032"] * len(
        refused.ranks
    ), refused.errors
    for report in refused.ranks:
        assert "step-2" in report["finding"]["message"] and "weights_only" not in report["finding"]["message"]
    assert not (tmp_path / "mark").exists()
    assert refused.column("step", attempt=2) == []


@pytest.mark.parametrize("name", ["pytorch_model_fsdp.bin", "optimizer.bin"])
def test_whole_files_of_fsdp_are_opened_safely(name: str, tmp_path: Path) -> None:
    """Rank 0 alone opens them, and the launcher ends the others: judged without ranks."""
    import torch

    from fsdpwiz.core.errors import FsdpwizError
    from fsdpwiz.train.stored import opening

    saved_over(name)(tmp_path, tmp_path / "mark")
    with pytest.raises(FsdpwizError) as caught, opening(tmp_path):
        torch.load(tmp_path / name, weights_only=True)
    (finding,) = caught.value.findings
    assert finding.code == "I032" and "posix.mkdir" in finding.message
    assert not (tmp_path / "mark").exists()


def flipped(name: str) -> Any:
    def spoil(checkpoint: Path) -> None:
        path = checkpoint / name
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 16
        path.write_bytes(data)

    return spoil


def removed(name: str) -> Any:
    return lambda checkpoint: (checkpoint / name).unlink()


def shortened(name: str) -> Any:
    return lambda checkpoint: os.truncate(checkpoint / name, (checkpoint / name).stat().st_size - 1)


DAMAGED: dict[str, tuple[dict[str, Any], Any, str]] = {
    "bit-of-a-shard": (SHARDED, flipped("optimizer_0/__1_0.distcp"), "its checksum differs"),
    "bit-of-the-weights": ({}, flipped("model.safetensors"), "its checksum differs"),
    "bit-of-the-scheduler": (SHARDED, flipped("scheduler.pt"), "its checksum differs"),
    "shard-shortened": (SHARDED, shortened("pytorch_model_fsdp_0/__0_0.distcp"), "bytes"),
    "shard-missing": (SHARDED, removed("pytorch_model_fsdp_0/__1_0.distcp"), "is missing"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_the_checkpoint_before_a_damaged_one_is_used(name: str, bench: Any, tmp_path: Path) -> None:
    how, spoil, reason = DAMAGED[name]
    whole = bench.once(bench.plan(**how, training={"max_steps": STEPS}))
    saving = {"save_strategy": "steps", "save_steps": 2}
    bench.train(str(tmp_path / "run"), bench.plan(**how, training={"max_steps": 4, **saving}))
    spoil(tmp_path / "run" / "checkpoints" / "step-4")
    resumed = bench.train(
        str(tmp_path / "run"), bench.plan(**how, training={"max_steps": STEPS, **saving}), attempt=2
    )
    assert resumed.column("step", attempt=2) == [3, 4, 5, 6]
    assert resumed.column("loss", attempt=2) == pytest.approx(whole.column("loss")[2:], abs=2e-6)
    (line,) = resumed.folder.attempt(2).findings.read_text().splitlines()
    notice = json.loads(line)
    assert (notice["code"], notice["severity"]) == ("I032", "warning")
    assert reason in notice["message"] and "goes on from `step-2`" in notice["message"]


def test_without_a_sound_checkpoint_nothing_is_trained(bench: Any, tmp_path: Path) -> None:
    saving = {"save_strategy": "steps", "save_steps": 2}
    plan = bench.plan(**SHARDED, training={"max_steps": 4, **saving})
    outcome = bench.train(str(tmp_path / "run"), plan)
    for step in (2, 4):
        flipped("optimizer_0/__0_0.distcp")(outcome.folder.checkpoint(step))
    refused = bench.ranks.train(plan, tmp_path / "run", attempt=2)
    assert [report["finding"]["code"] for report in refused.ranks] == ["I032", "I032"]
    assert "step-4" in refused.ranks[0]["finding"]["message"]


ASYNC = {"checkpoint": {"mode": "async", "staging_gb": None, "export_dtype": None}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({**SHARDED, **ASYNC}, {"kind": "FSDP2", "ranks": 4}),
        ({**SHARDED, **ASYNC, "peft": LORA}, {**SHARDED, "peft": LORA}),
        (
            {**SHARDED, **ASYNC, "peft": LORA, "fsdp": {"activation_checkpointing": True}},
            {**SHARDED, **ASYNC, "peft": LORA, "fsdp": {"activation_checkpointing": True}},
        ),
        ({**QLORA_FSDP2, **ASYNC}, QLORA_FSDP2),
        (SHARDED, {**SHARDED, **ASYNC}),
    ],
)
def test_checkpoints_written_beside_the_steps(
    before: dict[str, Any], after: dict[str, Any], bench: Any, tmp_path: Path
) -> None:
    """Saved before every step, evaluated in between: the same training, and it can be gone on from."""
    plain = {key: value for key, value in before.items() if key not in ("checkpoint", "fsdp")}
    whole = bench.once(bench.plan(**plain, training={"max_steps": STEPS}))
    busy = {"save_strategy": "steps", "save_steps": 1, "save_total_limit": 2}
    saved = bench.train(str(tmp_path / "run"), bench.plan(**before, training={"max_steps": SAVED, **busy}))
    assert saved.column("loss") == pytest.approx(whole.column("loss")[:SAVED], abs=2e-6)
    assert sorted(path.name for path in saved.folder.checkpoints.iterdir()) == ["step-3", "step-4"]
    resumed = bench.train(
        str(tmp_path / "run"), bench.plan(**after, training={"max_steps": STEPS, **busy}), attempt=2
    )
    assert resumed.column("loss", attempt=2) == pytest.approx(whole.column("loss")[SAVED:], abs=2e-6)


def test_neither_an_export_nor_another_run_takes_a_damaged_checkpoint(bench: Any, tmp_path: Path) -> None:
    from fsdpwiz.core.errors import FsdpwizError
    from fsdpwiz.train.export.offline import Request, export_checkpoint

    saving = {"save_strategy": "steps", "save_steps": 2, "max_steps": 2}
    saved = bench.train(str(tmp_path / "run"), bench.plan(**SHARDED, training=saving)).folder.checkpoint(2)
    flipped("optimizer_0/__0_0.distcp")(saved)
    export_checkpoint(Request(source=saved, target=tmp_path / "without-the-optimizer"))
    flipped("pytorch_model_fsdp_0/__1_0.distcp")(saved)
    with pytest.raises(FsdpwizError) as caught:
        export_checkpoint(Request(source=saved, target=tmp_path / "model"))
    (finding,) = caught.value.findings
    assert finding.code == "P013" and "its checksum differs" in finding.message
    assert not (tmp_path / "model").exists()
    plan = bench.plan(**SHARDED, training={"max_steps": 4, "resume_from_checkpoint": str(saved)})
    refused = bench.ranks.train(plan, tmp_path / "other")
    assert [report["finding"]["code"] for report in refused.ranks] == ["I032", "I032"]
