"""The sections that upstream has no names for. An absent key reads None; the plan fills in defaults."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fsdpwiz.recipe.schema.part import AsText, Part, one_of

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Gigabytes = Annotated[float, Field(gt=0)]
Dtype = one_of("float32", "bfloat16", "float16")


class ModelSection(Part):
    """The base model and how its weights reach the ranks."""

    name_or_path: str | None = Field(
        None, min_length=1, description="Hub id, or folder beside the recipe or here."
    )
    revision: str | None = Field(None, description="Branch, tag or commit on the hub.")
    loading: one_of("streaming", "rank0", "every_rank") | None = Field(  # type: ignore[valid-type]
        None,
        description="How weights reach the ranks: each reads its shard, rank 0 reads and sends, or "
        "every rank reads all. Null: by what the world can do.",
    )
    dtype: Dtype | None = Field(  # type: ignore[valid-type]
        None,
        description="Type of frozen weights, and of all under `mixed_precision: no`. Null: float32 for what "
        "is trained, the compute type for what is frozen.",
    )
    attn_implementation: str | None = Field(
        None,
        description="Attention kernel: `sdpa`, `flash_attention_2`, a hub kernel. Null: transformers' own.",
    )
    trust_remote_code: bool | None = Field(
        None, description="Run Python code that comes with the model. Null: false."
    )


class DataSection(Part):
    """What to train on; the format (messages, prompt/completion, text) is seen from the columns."""

    name_or_path: str | None = Field(
        None, min_length=1, description="Hub id, or .jsonl/.parquet file or folder beside the recipe or here."
    )
    split: str | None = Field(None, min_length=1, description="Split to train on. Null: `train`.")
    eval_name_or_path: str | None = Field(
        None,
        min_length=1,
        description="Data set to evaluate on, where it is another one than the training data's.",
    )
    eval_split: str | None = Field(
        None, min_length=1, description="Split to evaluate on. Null: none is held out."
    )


class CheckpointSection(Part):
    """How checkpoints are written; when and how many is what `save_steps` and its kin say."""

    mode: one_of("async", "sync") | None = Field(  # type: ignore[valid-type]
        None, description="Write while training goes on, or block the loop. Null: by what the world can do."
    )
    staging_gb: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Host memory per rank, in GB, for what is not yet written when the optimizer steps."
    )
    export_dtype: Dtype | None = Field(  # type: ignore[valid-type]
        None, description="Type of the exported model's weights. Null: the base model's own."
    )


class ClusterSection(Part):
    """The machines the run is for. Absent: this machine. GB are 1e9 bytes."""

    device: one_of("cuda", "cpu") | None = Field(  # type: ignore[valid-type]
        None, description="`cpu` trains on processes with gloo. Null: cuda."
    )
    nodes: Positive | None = Field(None, description="Number of nodes. Null: 1.")
    gpus_per_node: Positive | None = Field(None, description="GPUs, and so ranks, on each node.")
    processes_per_node: Positive | None = Field(
        None, description="Ranks on each node with `device: cpu`. Null: 2."
    )
    gpu: str | None = Field(None, min_length=1, description="The card's catalogue name, e.g. `A100-80GB`.")
    gpu_memory_gb: Gigabytes | None = Field(None, description="Memory of a card that the catalogue lacks.")
    host_memory_gb: Gigabytes | None = Field(None, description="Memory of one node.")


class ContainerSection(Part):
    """The container that the ranks run in."""

    runtime: one_of("pyxis", "apptainer") | None = Field(  # type: ignore[valid-type]
        None, description="What starts the container."
    )
    image: str | None = Field(None, min_length=1, description="Image file or name.")
    mounts: list[str] | None = Field(None, description="Mounts, as the runtime writes them.")


class RestartSection(Part):
    """What happens when the time of a job is up."""

    limit: Count | None = Field(None, description="How often a job may be queued again. Null: 3.")
    margin_s: Count | None = Field(
        None, description="Seconds before the end at which the job saves. Null: from the measured save time."
    )
    signal: one_of("USR1", "USR2", "TERM") | None = Field(  # type: ignore[valid-type]
        None, description="The signal that asks for the save. Null: USR2."
    )


class SlurmSection(Part):
    """The batch job with `launcher: slurm`."""

    options: Annotated[
        dict[str, str] | None, AsText(r"[a-z][a-z0-9-]*", "a long option of sbatch without its dashes")
    ] = Field(None, description="sbatch's long options, verbatim.")
    flags: list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]] | None = Field(
        None, description="sbatch's long options that take no value, e.g. `exclusive`."
    )
    shape: one_of("launcher", "srun") | None = Field(  # type: ignore[valid-type]
        None, description="One launcher per node, or one task per GPU. Null: launcher."
    )
    setup: list[str] | None = Field(
        None, description="Shell lines before the launch, the only shell in a recipe."
    )
    container: ContainerSection | None = Field(None, description="The container that the ranks run in.")
    restart: RestartSection | None = Field(None, description="What happens when the time of a job is up.")
