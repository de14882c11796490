"""A training under FSDP2 that starts from a checkpoint of another layout."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.train.test_losses import LORA
from tests.train.test_resume import reseal

pytestmark = pytest.mark.slow

STEPS, SAVED = 6, 4
FSDP1: dict[str, Any] = {"kind": "FSDP1", "ranks": 2}
FSDP2: dict[str, Any] = {"kind": "FSDP2", "ranks": 2}
SAVING = {"save_strategy": "steps", "save_steps": SAVED, "max_steps": SAVED}


def saved(bench: Any, name: str, **how: Any) -> Path:
    """The checkpoint after step SAVED of a training of that kind, made once."""
    root = bench.root / f"saved-{name}"
    if not root.exists():
        bench.train(root.name, bench.plan(**how, training=SAVING))
    return root / "checkpoints" / f"step-{SAVED}"


def begun(bench: Any, name: str, start: Path, **changes: Any) -> Any:
    """A training that starts from the checkpoint."""
    training = {"max_steps": STEPS, "resume_from_checkpoint": str(start), **changes.pop("training", {})}
    plan = bench.plan(**{**FSDP2, **changes}, training=training)
    return bench.ranks.train(plan, bench.root / name)


def notices(outcome: Any) -> list[dict[str, Any]]:
    path = outcome.folder.attempt(1).findings
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def tensors_of(folder: Path) -> dict[str, Any]:
    """Every tensor of a distributed checkpoint, whole."""
    from fsdpwiz.train.export.weights import DistributedWeights

    weights = DistributedWeights(folder)
    return {name: weights.read(name) for name in weights.tensors}


def whole(checkpoint: Path, target: Path) -> Path:
    """The checkpoint as FSDP1 leaves it under FULL_STATE_DICT: one file each, written by hand.

    On a CPU torch itself crashes there.
    """
    import torch

    shutil.copytree(checkpoint, target, ignore=shutil.ignore_patterns("*_0", "fsdpwiz.json"))
    weights = tensors_of(checkpoint / "pytorch_model_fsdp_0")
    torch.save(
        {name.removeprefix("model."): tensor for name, tensor in weights.items()},
        target / "pytorch_model_fsdp.bin",
    )
    state: dict[str, dict[str, Any]] = {}
    for name, tensor in tensors_of(checkpoint / "optimizer_0").items():
        parameter, _, key = name.removeprefix("optimizer.state.").rpartition(".")
        state.setdefault(parameter, {})[key] = tensor
    groups = [{"params": sorted(state), "lr": 1e-3}]
    torch.save({"state": state, "param_groups": groups}, target / "optimizer.bin")
    return target


def of_accelerate(checkpoint: Path, target: Path) -> Path:
    """What `Accelerator.save_state` leaves of it: no step, no manifest."""
    target.mkdir()
    for name in ("pytorch_model_fsdp_0", "optimizer_0"):
        shutil.copytree(checkpoint / name, target / name)
    return target


def plain(checkpoint: Path, target: Path) -> Path:
    """A model folder of two safetensors files with the checkpoint's weights."""
    from safetensors.torch import save_file

    target.mkdir()
    weights = tensors_of(checkpoint / "pytorch_model_fsdp_0")
    named = {name.removeprefix("model."): tensor for name, tensor in weights.items()}
    index, files = {}, sorted(named)
    for number, part in enumerate((files[:7], files[7:])):
        file = f"model-{number}.safetensors"
        save_file({name: named[name].contiguous() for name in part}, str(target / file))
        index |= dict.fromkeys(part, file)
    (target / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    return target


GOES_ON: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "sharded": ({}, None, {}),
    "sharded-to-4-ranks": ({}, None, {"ranks": 4}),
    "sharded-to-1-rank": ({}, None, {"ranks": 1}),
    "sharded-to-offload": ({}, None, {"ranks": 1, "fsdp": {"offload_params": True}}),
    "sharded-to-full": ({}, None, {"fsdp": {"state_dict_type": "FULL_STATE_DICT"}}),
    "sharded-to-checkpointing": ({}, None, {"fsdp": {"activation_checkpointing": True}}),
    "sharded-streamed": (
        {},
        None,
        {"model": {"loading": "streaming"}, "fsdp": {"cpu_ram_efficient_loading": True}},
    ),
    "whole-file": ({}, whole, {}),
    "whole-file-to-4-ranks": ({}, whole, {"ranks": 4}),
    "lora": ({"peft": LORA, "fsdp": {"activation_checkpointing": True}}, None, {"peft": LORA}),
    "lora-whole-file": ({"peft": LORA}, whole, {"peft": LORA}),
    "warm-up": ({"training": {"lr_scheduler_type": "linear", "warmup_steps": 6}}, None, {}),
}


@pytest.mark.parametrize("name", GOES_ON)
def test_the_very_same_losses(name: str, bench: Any, tmp_path: Path) -> None:
    before, convert, after = GOES_ON[name]
    schedule = before.get("training", {})
    what = {key: value for key, value in before.items() if key == "peft"}
    undisturbed = bench.once(bench.plan(**FSDP2, **what, training={"max_steps": STEPS, **schedule}))
    how = {**FSDP1, **before, "training": {**SAVING, **schedule}}
    kind = "-".join(before) or "plain"
    root = bench.root / f"saved-{kind}"
    if not root.exists():
        bench.train(root.name, bench.plan(**how))
    start = root / "checkpoints" / f"step-{SAVED}"
    if convert is not None:
        start = convert(start, tmp_path / "converted")
    outcome = begun(bench, f"begun-{name}", start, **after, training=schedule)
    assert outcome.errors == []
    assert outcome.column("step") == [5, 6]
    assert outcome.column("loss") == pytest.approx(undisturbed.column("loss")[SAVED:], abs=2e-6)
    assert outcome.column("learning_rate") == undisturbed.column("learning_rate")[SAVED:]
    assert outcome.column("grad_norm") == pytest.approx(undisturbed.column("grad_norm")[SAVED:], rel=1e-4)
    assert notices(outcome) == []


@pytest.mark.parametrize("convert", [of_accelerate, plain])
def test_weights_bit_for_bit_where_no_step_is_known(convert: Any, bench: Any, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    checkpoint = saved(bench, "plain", **FSDP1)
    start = convert(checkpoint, tmp_path / "start")
    outcome = begun(
        bench, f"begun-{convert.__name__}", start, training={"max_steps": 1, "learning_rate": 0.0}
    )
    assert outcome.errors == []
    assert outcome.column("step") == [1]
    weights = tensors_of(checkpoint / "pytorch_model_fsdp_0")
    exported = load_file(outcome.folder.model / "model.safetensors")
    assert exported.keys() == {name.removeprefix("model.") for name in weights}
    for name, tensor in weights.items():
        assert tensor.equal(exported[name.removeprefix("model.")])
    codes = [notice["code"] for notice in notices(outcome)]
    assert codes == ([] if convert is of_accelerate else ["I037"])


def test_moments_of_a_checkpoint_without_a_step_are_taken(bench: Any, tmp_path: Path) -> None:
    import torch

    checkpoint = saved(bench, "plain", **FSDP1)
    start = of_accelerate(checkpoint, tmp_path / "start")
    saving = {
        "max_steps": 1,
        "learning_rate": 0.0,
        "save_strategy": "steps",
        "save_steps": 1,
        "adam_beta1": 0.999999999,
    }
    outcome = begun(bench, "begun-moments", start, training=saving)
    assert outcome.errors == []
    before = tensors_of(checkpoint / "optimizer_0")
    after = tensors_of(outcome.folder.checkpoint(1) / "optimizer_0")
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        if name.endswith(".step"):
            assert torch.equal(after[name], tensor + 1)
        elif name.endswith(".exp_avg"):
            torch.testing.assert_close(after[name], tensor, rtol=0, atol=1e-7)


def without_optimizer(checkpoint: Path) -> str:
    shutil.rmtree(checkpoint / "optimizer_0")
    return "holds no state of it"


def by_position(checkpoint: Path) -> str:
    import torch

    shutil.rmtree(checkpoint / "optimizer_0")
    torch.save({"state": {0: {"step": torch.tensor(1.0)}}, "param_groups": []}, checkpoint / "optimizer.pt")
    return "by the parameters' position"


def of_less(checkpoint: Path) -> str:
    import torch

    shutil.rmtree(checkpoint / "optimizer_0")
    torch.save({"state": {"lm_head.weight": {"step": torch.tensor(1.0)}}}, checkpoint / "optimizer.bin")
    return "holds no state of `"


@pytest.mark.parametrize("spoil", [without_optimizer, by_position, of_less])
def test_an_optimizer_that_does_not_map_starts_anew(spoil: Any, bench: Any, tmp_path: Path) -> None:
    start = tmp_path / "start"
    shutil.copytree(saved(bench, "plain", **FSDP1), start)
    said = spoil(start)
    reseal(start)
    outcome = begun(bench, f"begun-{spoil.__name__}", start)
    assert outcome.errors == []
    undisturbed = bench.once(bench.plan(**FSDP2, training={"max_steps": STEPS})).column("loss")
    assert outcome.column("loss")[0] == pytest.approx(undisturbed[SAVED], abs=2e-6)
    assert outcome.column("loss")[1] != pytest.approx(undisturbed[SAVED + 1], abs=1e-4)
    (notice,) = notices(outcome)
    assert (notice["code"], notice["severity"]) == ("I037", "warning") and said in notice["message"]


def test_another_kind_of_optimizer_starts_anew(bench: Any) -> None:
    outcome = begun(bench, "begun-sgd", saved(bench, "plain", **FSDP1), training={"optim": "sgd"})
    assert outcome.errors == []
    (notice,) = notices(outcome)
    assert notice["code"] == "I037"


def test_a_run_goes_on_under_fsdp2_from_its_own_checkpoint(bench: Any) -> None:
    undisturbed = bench.once(bench.plan(**FSDP2, training={"max_steps": STEPS}))
    root = bench.root / "own"
    shutil.copytree(saved(bench, "plain", **FSDP1).parent.parent, root)
    saving = {"max_steps": STEPS, "save_strategy": "steps", "save_steps": 2}
    outcome = bench.ranks.train(bench.plan(**FSDP2, training=saving), root, attempt=2)
    assert outcome.errors == []
    assert outcome.column("loss", attempt=2) == pytest.approx(undisturbed.column("loss")[SAVED:], abs=2e-6)
    assert (outcome.folder.checkpoint(6) / "pytorch_model_fsdp_0").is_dir()


def test_a_run_prefers_its_own_checkpoints(bench: Any) -> None:
    start = saved(bench, "plain", **FSDP1)
    saving = {"max_steps": 5, "save_strategy": "steps", "save_steps": 1}
    first = begun(bench, "begun-twice", start, training=saving)
    assert first.errors == []
    plan = bench.plan(**FSDP2, training={**saving, "max_steps": STEPS, "resume_from_checkpoint": str(start)})
    again = bench.ranks.train(plan, first.folder.root, attempt=2)
    assert again.errors == []
    assert (again.column("step"), again.column("step", attempt=2)) == ([5], [6])


class Payload:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def gone(start: Path, _: Path) -> None:
    shutil.rmtree(start)


def without_weights(start: Path, _: Path) -> None:
    shutil.rmtree(start / "pytorch_model_fsdp_0")


def payload_in_metadata(start: Path, mark: Path) -> None:
    (start / "pytorch_model_fsdp_0" / ".metadata").write_bytes(pickle.dumps(Payload(mark)))


def payload_in_weights(start: Path, mark: Path) -> None:
    import torch

    shutil.rmtree(start / "pytorch_model_fsdp_0")
    torch.save({"lm_head.weight": Payload(mark)}, start / "pytorch_model_fsdp.bin")


def payload_in_optimizer(start: Path, mark: Path) -> None:
    import torch

    shutil.rmtree(start / "optimizer_0")
    torch.save({"state": Payload(mark)}, start / "optimizer.bin")


def of_other_sizes(start: Path, _: Path) -> None:
    import torch

    shutil.rmtree(start / "pytorch_model_fsdp_0")
    torch.save({"model.embed_tokens.weight": torch.zeros(4, 4)}, start / "pytorch_model_fsdp.bin")


REFUSED: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "gone": (gone, {}, "I036", "not a folder"),
    "no-weights": (without_weights, {}, "I036", "it has neither"),
    "unsafe-metadata": (payload_in_metadata, {}, "I036", "posix.mkdir"),
    "unsafe-weights": (payload_in_weights, {}, "I036", "holds what no training saves (`posix.mkdir`)"),
    "unsafe-optimizer": (payload_in_optimizer, {}, "I032", "posix.mkdir"),
    "other-sizes": (of_other_sizes, {}, "I036", "has shape [4, 4]"),
    "adapters-wanted": (None, {"peft": LORA}, "I036", "it holds no `base_model"),
    "ddp": (None, {"kind": "DDP", "fsdp": None}, "I036", "only a run under FSDP2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_started_from_is_refused_by_every_rank(name: str, bench: Any, tmp_path: Path) -> None:
    spoil, changes, code, said = REFUSED[name]
    start = tmp_path / "start"
    shutil.copytree(saved(bench, "plain", **FSDP1), start)
    if spoil is not None:
        spoil(start, tmp_path / "mark")
    if start.exists():
        reseal(start)
    changes = {key: value for key, value in changes.items() if value is not None}
    outcome = begun(bench, f"refused-{name}", start, **changes)
    assert [report["finding"] and report["finding"]["code"] for report in outcome.ranks] == [code] * 2
    assert said in outcome.ranks[0]["finding"]["message"]
    assert not (tmp_path / "mark").exists()
    assert not outcome.folder.metrics.exists()


def test_fsdp1_does_not_start_from_fsdp2(bench: Any) -> None:
    outcome = begun(bench, "refused-fsdp1", saved(bench, "fsdp2", **FSDP2), kind="FSDP1")
    assert [report["finding"]["code"] for report in outcome.ranks] == ["I012", "I012"]


def test_fsdp2_starts_from_fsdp2(bench: Any) -> None:
    undisturbed = bench.once(bench.plan(**FSDP2, training={"max_steps": STEPS}))
    outcome = begun(bench, "begun-fsdp2", saved(bench, "fsdp2", **FSDP2).parent.parent)
    assert outcome.errors == []
    assert outcome.column("loss") == pytest.approx(undisturbed.column("loss")[SAVED:], abs=2e-6)
