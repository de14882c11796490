"""One rank under FSDP1: a LoRA model saved and loaded by Accelerate, with and without our names.

Prints a JSON document: entries PEFT finds itself, and whether the adapters come back, by state-dict type.
"""

import functools
import json
import os
import sys
import tempfile

import torch
import torch.distributed as dist
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.utils.fsdp_utils import load_fsdp_model, save_fsdp_model
from peft import LoraConfig, get_peft_model
from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from fsdpwiz.train import adapter_state, cpu_fsdp


def wrapped():
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    base = LlamaForCausalLM(LlamaConfig(vocab_size=64, **shape))
    adapted = get_peft_model(base, LoraConfig(r=2, target_modules=["q_proj"], modules_to_save=["lm_head"]))
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})
    return FullyShardedDataParallel(
        adapted, auto_wrap_policy=policy, device_id=torch.device("cpu"), use_orig_params=True
    )


def values(model):
    return torch.cat([p.detach().flatten() for p in model.parameters() if p.requires_grad])


def round_trip(accelerator, model, kind):
    plugin = FullyShardedDataParallelPlugin(fsdp_version=1, state_dict_type=kind)
    before = values(model).clone()
    with tempfile.TemporaryDirectory() as folder:
        save_fsdp_model(plugin, accelerator, model, folder, adapter_only=True)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.add_(1.0)
        changed = bool(torch.any(values(model) != before))
        load_fsdp_model(plugin, accelerator, model, folder, adapter_only=True)
    return changed and bool(torch.equal(values(model), before))


def main():
    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"
    os.environ["ACCELERATE_USE_CPU"] = "true"
    cpu_fsdp.enable(timeout_s=60)
    accelerator, model = Accelerator(cpu=True), wrapped()
    from peft import get_peft_model_state_dict

    found = {}
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        found["upstream"] = len(get_peft_model_state_dict(model))
    adapter_state.enable()
    for kind in ("FULL_STATE_DICT", "SHARDED_STATE_DICT"):
        found[kind] = round_trip(accelerator, model, kind)
    sys.stdout.write(json.dumps(found))
    dist.destroy_process_group()


main()
