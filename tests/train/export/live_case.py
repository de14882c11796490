"""One rank of a case: wrap a tiny model as the trainer does, train one step, export, keep the truth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.layout import RunFolder

TRUTH = "truth.pt"


def export_case(
    plan: Plan,
    root: Path,
    *,
    spoil: Callable[[], None] | None = None,
    limit: int = 150_000,
    checkpoint: Path | None = None,
) -> dict[str, Any]:
    """Train one step, save `checkpoint` as the Trainer does, export; what was reported, or the finding.

    `spoil` runs before the export.
    """
    import torch

    from fsdpwiz.core.errors import FsdpwizError
    from fsdpwiz.train.export.model import export_model
    from fsdpwiz.train.model import load_tokenizer

    root.mkdir(parents=True, exist_ok=True)
    accelerator = _accelerator(plan)
    model = _trained(plan, accelerator)
    truth = full_state(model)
    if accelerator.is_main_process:
        torch.save(truth, root / TRUTH)
    if checkpoint is not None:
        _save(accelerator, model, checkpoint, adapter_only=plan.peft is not None)
    if spoil is not None:
        spoil()
    try:
        report = export_model(
            model,
            plan=plan,
            folder=RunFolder(root),
            tokenizer=load_tokenizer(plan),
            accelerator=accelerator,
            shard_limit_bytes=limit,
        )
    except FsdpwizError as error:
        return {"finding": error.findings[0].to_json()}
    return {"finding": None, "report": report}


def _save(accelerator: Any, model: Any, folder: Path, *, adapter_only: bool) -> None:
    """The weights of a checkpoint under FSDP, as `Trainer._save_optimizer_and_scheduler` saves them."""
    from accelerate.utils import save_fsdp_model

    folder.mkdir(parents=True, exist_ok=True)
    plugin = accelerator.state.fsdp_plugin
    save_fsdp_model(plugin, accelerator, model, str(folder), adapter_only=adapter_only)
    accelerator.wait_for_everyone()


def full_state(model: Any) -> dict[str, Any]:
    """Every parameter, whole, under its plain name: by upstream's own means, not the export's."""
    import torch
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.tensor import DTensor

    def plain(name: str) -> str:
        for part in ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod."):
            name = name.replace(part, "")
        return name.removeprefix("module.")

    with FullyShardedDataParallel.summon_full_params(model, writeback=False):
        named = [
            *model.named_parameters(remove_duplicate=False),
            *model.named_buffers(remove_duplicate=False),
        ]
        return {
            plain(name): (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).detach().clone()
            for name, tensor in named
            if not isinstance(tensor, torch.distributed.fsdp.FlatParameter)
        }


def _accelerator(plan: Plan) -> Any:
    from accelerate import Accelerator, FullyShardedDataParallelPlugin, ParallelismConfig

    from fsdpwiz.train import cpu_fsdp

    cpu_fsdp.enable(timeout_s=plan.process_group_timeout_s if plan.world.distributed_type != "NO" else None)
    options = dict(plan.fsdp or {})
    mesh = plan.world.mesh
    if not options:
        return Accelerator(cpu=True)
    version = options.pop("version")
    strategy = options.pop("sharding_strategy", None)
    if strategy is not None:
        options["sharding_strategy"] = strategy
    options["transformer_cls_names_to_wrap"] = [options.pop("transformer_layer_cls_to_wrap")]
    options["cpu_offload"] = options.pop("offload_params")
    plugin = FullyShardedDataParallelPlugin(fsdp_version=version, **options)
    parallel = None
    if mesh.dp_replicate > 1 and mesh.dp_shard > 1:
        parallel = ParallelismConfig(dp_replicate_size=mesh.dp_replicate, dp_shard_size=mesh.dp_shard)
    return Accelerator(cpu=True, fsdp_plugin=plugin, parallelism_config=parallel)


def _trained(plan: Plan, accelerator: Any) -> Any:
    import torch
    from accelerate.utils import DistributedType
    from peft import get_peft_model

    from fsdpwiz.train import model as models

    model = models.load_model(plan).model
    if plan.quantization is not None:
        for parameter in model.parameters():
            parameter.requires_grad = False
    if (config := models.adapter_config(plan)) is not None:
        model = get_peft_model(model, config, autocast_adapter_dtype=False)
        torch.manual_seed(3)
        for parameter in model.parameters():
            if parameter.requires_grad and parameter.dim() == 2:
                parameter.data.normal_(std=0.1)
            if parameter.requires_grad and plan.quantization is not None:
                parameter.data = parameter.data.to(torch.bfloat16)
    if config is not None and plan.fsdp and plan.fsdp["version"] == 1:
        from peft.utils.other import fsdp_auto_wrap_policy

        accelerator.state.fsdp_plugin.auto_wrap_policy = fsdp_auto_wrap_policy(model)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trainable, lr=0.5)
    model, optimizer = accelerator.prepare(model, optimizer)
    if plan.fsdp:
        assert accelerator.distributed_type == DistributedType.FSDP
    ids = torch.arange(40).reshape(2, 20) + accelerator.process_index
    loss = model(input_ids=ids, labels=ids).loss
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    return model
