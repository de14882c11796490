"""What `render --effective` shows: every value with what hands it on, and whose decision it is."""

from __future__ import annotations

import json

from fsdpwiz.render.effective import Setting, effective
from tests.plan.recipes import FILE, cpu, cuda, make_facts, make_plan


def by_name(settings: tuple[Setting, ...]) -> dict[str, Setting]:
    return {setting.name: setting for setting in settings}


def test_a_setting_is_traced_through_every_stage() -> None:
    found = effective(make_plan(cluster=cuda(8), fsdp={"reshard_after_forward": False}))
    yaml = by_name(found.yaml)["fsdp_config.fsdp_reshard_after_forward"]
    variable = by_name(found.environment)["FSDP_RESHARD_AFTER_FORWARD"]
    field = by_name(found.plugin)["reshard_after_forward"]
    assert (yaml.value, variable.value, field.value) == (False, "false", False)
    assert (yaml.via, variable.via, field.via) == (
        "plan.json",
        "accelerate.yaml",
        "FSDP_RESHARD_AFTER_FORWARD",
    )
    for setting in (yaml, variable, field):
        assert setting.plan_key == "fsdp.reshard_after_forward"
        assert setting.origin is not None and setting.origin["file"] == FILE


def test_every_setting_of_a_stage_is_explained() -> None:
    for given in ({"cluster": cuda(8)}, {"cluster": cpu(2), "fsdp": {"version": 1}}):
        found = effective(make_plan(**given))
        unexplained = {
            setting.name for setting in (*found.plugin, *found.training_arguments) if not setting.origin
        }
        assert unexplained == {"limit_all_gathers", "push_to_hub", "disable_tqdm"}


def test_what_the_trainer_changes_is_shown_as_it_will_be() -> None:
    plan = make_plan(
        cluster=cuda(8), mixed_precision="bf16", reduce_dtype="float32", sft={"save_total_limit": 3}
    )
    shown = by_name(effective(plan).trainer)
    assert shown["mixed_precision_policy.reduce_dtype"].value == "float32"
    assert shown["mixed_precision_policy.output_dtype"].value is None
    assert shown["checkpoints kept"].value == 3
    assert not effective(make_plan(cluster=cuda(8), script="train.py")).trainer


def test_text_and_document_have_all_stages() -> None:
    found = effective(make_plan(make_facts(gpus=8), parallelism={"dp_replicate_size": 2}))
    document = json.loads(json.dumps(found.to_json()))
    assert list(document) == ["yaml", "environment", "plugin", "parallelism", "training_arguments", "trainer"]
    assert all(document.values())
    text = found.text()
    assert f"{FILE}:" in text and "default of trl 1.16.0" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_hostile_values_stay_on_their_line() -> None:
    plan = make_plan(cluster=cpu(2), env={"A": "x\x1b[2Jy\nz"}, data={"name_or_path": "org/data"})
    assert "\x1b" not in effective(plan).text()
