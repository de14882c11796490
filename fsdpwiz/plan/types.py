"""Everything decided about a run, in plain values; written as plan.json and read by the trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

DistributedType = Literal["FSDP2", "FSDP1", "DDP", "NO"]
Precision = Literal["aligned", "memory_constrained", "float32", "quantised"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Mesh(_Part):
    """Sizes of the device mesh's axes; their product is the world size."""

    dp_replicate: int = 1
    dp_shard: int = 1
    cp: int = 1
    tp: int = 1


class World(_Part):
    """The processes of the run. `distributed_type` NO is a world of one without FSDP."""

    nodes: int
    ranks_per_node: int
    world_size: int
    device: Literal["cuda", "cpu"]
    mesh: Mesh
    distributed_type: DistributedType


class Batch(_Part):
    """Sequences per rank and forward, forwards per step, sequences per step, token upper bound per step."""

    micro: int
    accumulation: int
    global_: int
    tokens_per_step: int | None

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class ModelPlan(_Part):
    """`loading` is how weights reach the ranks.

    `dtype` is the type of frozen weights, and of all under mixed_precision no; what is trained is
    held in `trainable_dtype`. Without frozen weights the two are the same.
    """

    name_or_path: str
    revision: str | None
    loading: Literal["streaming", "rank0", "every_rank"]
    dtype: str
    trainable_dtype: str
    attn_implementation: str | None
    trust_remote_code: bool


class DataPlan(_Part):
    """`format` is the method's data format, None where only the trainer will see it (hub)."""

    name_or_path: str
    split: str
    eval_name_or_path: str | None
    eval_split: str | None
    format: str | None


class CheckpointPlan(_Part):
    """How checkpoints are written; `export_dtype` None is the base model's own."""

    mode: Literal["async", "sync"]
    staging_gb: float | None
    export_dtype: str | None


class ClusterPlan(_Part):
    """The machines, memory in GB (1e9 bytes): of `gpus_per_node` and `processes_per_node` one is None."""

    device: Literal["cuda", "cpu"]
    nodes: int
    gpus_per_node: int | None
    processes_per_node: int | None
    gpu: str | None
    gpu_memory_gb: float | None
    host_memory_gb: float | None


class Plan(_Part):
    """One run, decided. `method` names the section (also a field of `training`) that trains.

    `training` holds the method section's upstream keys, only those decided (given, derived or
    pinned by us); `fsdp` is None without FSDP. `origins` maps dotted keys to {source, by, file, line}.
    """

    name: str
    method: str
    model: ModelPlan
    data: DataPlan
    training: dict[str, Any]
    fsdp: dict[str, Any] | None
    mixed_precision: Literal["bf16", "fp16", "no"]
    reduce_dtype: str | None
    precision: Precision
    checkpoint: CheckpointPlan
    process_group_timeout_s: int
    peft: dict[str, Any] | None
    quantization: dict[str, Any] | None
    parallelism: dict[str, Any] | None
    cluster: ClusterPlan
    launcher: Literal["local", "slurm"]
    slurm: dict[str, Any] | None
    output_dir: str
    script: str | None
    script_args: tuple[str, ...]
    env: dict[str, str]
    world: World
    batch: Batch
    units: tuple[str, ...]
    versions: dict[str, str]
    hash: str
    origins: dict[str, dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """The document of plan.json: the method's keys stand under the method's own section name."""
        document = self.model_dump(mode="json")
        document[self.method] = document.pop("training")
        document["batch"]["global"] = document["batch"].pop("global_")
        return {"schema": 1, **document}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Plan:
        """The plan that `to_json` gave; raises pydantic.ValidationError on anything else."""
        values = {key: value for key, value in document.items() if key != "schema"}
        values["training"] = values.pop(str(values.get("method")), None)
        batch = dict(values.get("batch") or {})
        batch["global_"] = batch.pop("global", None)
        values["batch"] = batch
        return cls.model_validate(values)

    @classmethod
    def read(cls, path: Path) -> Plan:
        """The plan of a plan.json file."""
        import json

        return cls.from_json(json.loads(path.read_text(encoding="utf-8")))
