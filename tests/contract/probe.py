"""A training script of one's own that trains nothing: each rank writes down the world it finds itself in."""

import json
import os
import sys
from pathlib import Path

import torch.distributed as dist
from accelerate import Accelerator

accelerator = Accelerator()
plugin = getattr(accelerator.state, "fsdp_plugin", None)
seen = {
    "distributed_type": accelerator.distributed_type.value,
    "processes": accelerator.num_processes,
    "group": dist.get_world_size() if dist.is_initialized() else 1,
    "device": accelerator.device.type,
    "mixed_precision": accelerator.mixed_precision,
    "fsdp_version": plugin.fsdp_version if plugin else None,
    "threads": os.environ.get("OMP_NUM_THREADS"),
    "arguments": sys.argv[2:],
    "mesh": dict(zip(mesh.mesh_dim_names, mesh.shape, strict=True))
    if (mesh := accelerator.torch_device_mesh) is not None
    else None,
}
Path(sys.argv[1], f"{accelerator.process_index}.json").write_text(json.dumps(seen), encoding="utf-8")
if dist.is_initialized():
    dist.destroy_process_group()
