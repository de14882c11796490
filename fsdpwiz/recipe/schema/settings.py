"""The whole recipe as one validated tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model

from fsdpwiz.methods.method import methods
from fsdpwiz.recipe.schema.part import AsText, Part, one_of, other_than
from fsdpwiz.recipe.schema.sections import (
    CheckpointSection,
    ClusterSection,
    DataSection,
    ModelSection,
    Positive,
    SlurmSection,
)
from fsdpwiz.recipe.schema.upstream_section import UpstreamSection, section_model

_EnvironmentKeys = AsText(r"[A-Za-z_][A-Za-z0-9_]*", "a variable's name")


class CommonSettings(Part):
    """The keys of a recipe, but for the sections of the training methods."""

    name: Annotated[str | None, other_than("last", "the latest run")] = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Folder of the runs: letters, digits, `.`, `-` and `_`. Null: the recipe file's name.",
    )
    model: ModelSection = Field(
        ModelSection(), description="The base model and how its weights reach the ranks."
    )
    data: DataSection = Field(DataSection(), description="What to train on.")
    global_batch_size: Positive | None = Field(
        None,
        description="Sequences per optimizer step; accumulation is solved from it on any number of ranks.",
    )
    mixed_precision: one_of("bf16", "fp16", "no") | None = Field(  # type: ignore[valid-type]
        None, description="Compute type over fp32 weights. Null: bf16 where the card has it, else no."
    )
    reduce_dtype: one_of("float32") | None = Field(  # type: ignore[valid-type]
        None, description="Type in which gradients are summed. Null: the compute type."
    )
    checkpoint: CheckpointSection = Field(CheckpointSection(), description="How checkpoints are written.")
    process_group_timeout_s: Positive | None = Field(
        None, description="Seconds a rank waits for the others in one collective. Null: 1800."
    )
    cluster: ClusterSection | None = Field(
        None, description="The machines the run is for. Absent: this machine."
    )
    launcher: one_of("local", "slurm") | None = Field(  # type: ignore[valid-type]
        None, description="What starts the ranks. Null: local."
    )
    slurm: SlurmSection | None = Field(None, description="The batch job with `launcher: slurm`.")
    output_dir: str | None = Field(None, min_length=1, description="Folder of the run folders. Null: `runs`.")
    script: str | None = Field(
        None, min_length=1, description="A training script of one's own, in place of ours."
    )
    script_args: list[Annotated[str, AsText()]] = Field([], description="Arguments of `script`.")
    env: Annotated[dict[str, str], _EnvironmentKeys] = Field(
        {}, description="Variables exported to every rank."
    )
    ignore: Annotated[dict[str, str], AsText(unset_by_null=False, any_scalar=False)] = Field(
        {}, description="Codes of findings to ignore, each with a reason."
    )
    fsdp: section_model("fsdp") | None = Field(  # type: ignore[valid-type]
        None, description="Accelerate's fsdp_config keys without `fsdp_`. Absent: FSDP2; null: no FSDP."
    )
    peft: section_model("peft") | None = Field(  # type: ignore[valid-type]
        None, description="PEFT's LoraConfig keys. Null: all weights are trained."
    )
    quantization: section_model("quantization") | None = Field(  # type: ignore[valid-type]
        None, description="transformers' BitsAndBytesConfig keys."
    )
    parallelism: section_model("parallelism") | None = Field(  # type: ignore[valid-type]
        None, description="Accelerate's parallelism_config keys without their prefix."
    )

    def section(self, name: str) -> UpstreamSection:
        """The section of a training method; empty where the recipe has none."""
        found = getattr(self, name)
        assert isinstance(found, UpstreamSection)  # noqa: S101
        return found


def _method_fields() -> dict[str, Any]:
    described = {name: f"{method.config_class} keys: {method.title}." for name, method in methods().items()}
    return {
        name: (section_model(name), Field(section_model(name)(), description=text))
        for name, text in described.items()
    }


if TYPE_CHECKING:

    class Settings(CommonSettings):
        """All that a recipe says; one section per training method beside the common keys."""

else:
    Settings = create_model(
        "Settings",
        __base__=CommonSettings,
        __module__=__name__,
        __doc__=CommonSettings.__doc__,
        **_method_fields(),
    )
