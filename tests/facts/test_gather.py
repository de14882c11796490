import json

import pytest

from fsdpwiz.facts.gather import gather
from fsdpwiz.facts.wanted import Wanted
from fsdpwiz.methods.sft import METHOD

NODE = {"gpus_per_node": 8, "gpu": "A100-80GB", "host_memory_gb": 1000}


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b"}\n')
    return path


def test_with_launcher_local_this_machine_is_the_target(tmp_path, rows):
    wanted = Wanted(
        model="meta-llama/Llama-2-70b-hf",
        data="rows.jsonl",
        data_formats=METHOD.data_formats,
        output_dir=tmp_path / "runs",
        cluster=NODE,
        base_folders=(tmp_path,),
    )
    facts = gather(wanted, environ={"PATH": "", "HF_HOME": str(tmp_path)}, port=45991)
    assert facts.gpus is None or facts.gpus.source == "measured"
    assert facts.host.source == "measured"
    assert facts.declared_gpus.cards[7].name == "A100-80GB"
    assert facts.declared_host.memory_bytes == 10**12
    assert facts.disk.path == tmp_path
    assert facts.software.versions
    assert facts.port.number == 45991
    assert facts.model.layer_classes == ("LlamaDecoderLayer",)
    assert (facts.data.format, facts.data.rows) == ("text", 2)
    assert facts.eval_data is None
    assert facts.absent["eval_data"] == "the recipe names no evaluation data"


def test_with_launcher_slurm_nothing_measured_here_is_a_fact_of_the_target(tmp_path, rows):
    wanted = Wanted(data=str(rows), output_dir=tmp_path, cluster=NODE, launcher="slurm")
    facts = gather(wanted, environ={"PATH": ""}, port=29500)
    assert facts.gpus == facts.declared_gpus
    assert facts.gpus.source == "catalogued"
    assert facts.host.source == "declared"
    assert (facts.disk, facts.software, facts.port) == (None, None, None)
    assert all("launcher: slurm" in facts.absent[name] for name in ("disk", "software", "port"))
    assert facts.slurm.present is False
    assert facts.data.rows == 2
    assert gather(Wanted(launcher="slurm"), environ={}).gpus is None


def test_another_split_of_the_data_for_evaluation(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_text('{"text": "a"}\n' * (3 if split == "train" else 1))
    facts = gather(
        Wanted(data=str(tmp_path), eval_split="test", data_formats=METHOD.data_formats), environ={}
    )
    assert (facts.data.rows, facts.eval_data.rows) == (3, 1)


def test_every_absent_fact_has_a_reason():
    facts = gather(Wanted(), environ={})
    names = ("model", "data", "eval_data", "disk", "port", "declared_gpus", "declared_host")
    assert all(getattr(facts, name) is None and facts.absent[name] for name in names)


def test_secrets_of_the_environment_are_hidden():
    environ = {"HF_TOKEN": "abc", "X": "hf_" + "a" * 20, "ACCELERATE_USE_FSDP": "true"}
    facts = gather(Wanted(), environ=environ)
    assert "abc" not in json.dumps(dict(facts.environment))
    assert "hf_a" not in facts.environment["X"]
    assert facts.environment["ACCELERATE_USE_FSDP"] == "true"


def test_a_reader_that_fails_leaves_its_fact_absent(monkeypatch):
    def explode(*_):
        raise RuntimeError("boom")

    monkeypatch.setattr("fsdpwiz.facts.gather.read_slurm", explode)
    facts = gather(Wanted(), environ={})
    assert facts.slurm is None
    assert facts.absent["slurm"] == "it could not be read: RuntimeError: boom"
