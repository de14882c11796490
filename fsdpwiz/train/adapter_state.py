"""Adapters in the checkpoints of FSDP: behind wrappers PEFT 0.21 finds none of them.

Accelerate 1.15 saves and loads adapters by `get_peft_model_state_dict` and `set_peft_model_state_dict`, which
look modules up by names that FSDP1's wrappers and those of activation checkpointing lengthen
(`_fsdp_wrapped_module.`, `_checkpoint_wrapped_module.`) and the state dict does not. So a checkpoint gets an
empty model, without an error, and a resumed run starts from fresh adapters. Under FSDP the adapters are
taken from the state dict, and put back, under its own names.
"""

from __future__ import annotations

from typing import Any

_WRAPPERS = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.")
_MARK = "_fsdpwiz_adapter_state"


def enable() -> None:
    """Make checkpoints of FSDP hold their adapters. Calling it again changes nothing."""
    import peft

    if getattr(peft.get_peft_model_state_dict, _MARK, False):
        return
    upstream_get, upstream_set = peft.get_peft_model_state_dict, peft.set_peft_model_state_dict

    def get_peft_model_state_dict(model: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if _is_wrapped(model) and kwargs.get("state_dict") is None:
            return adapter_state(model)
        return upstream_get(model, *args, **kwargs)

    def set_peft_model_state_dict(model: Any, state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if _is_wrapped(model):
            return load_adapter_state(model, state)
        return upstream_set(model, state, *args, **kwargs)

    setattr(get_peft_model_state_dict, _MARK, True)
    peft.get_peft_model_state_dict = get_peft_model_state_dict
    peft.set_peft_model_state_dict = set_peft_model_state_dict


def adapter_state(model: Any) -> dict[str, Any]:
    """The trainable entries of the state dict of an FSDP model, of the type that is set on it."""
    names = _trainable(model)
    return {name: tensor for name, tensor in model.state_dict().items() if name in names}


def load_adapter_state(model: Any, state: dict[str, Any]) -> Any:
    """Load what `adapter_state` gave; raises ValueError where an entry is missing or unknown."""
    missing, unknown = _trainable(model) - state.keys(), state.keys() - _trainable(model)
    if missing or unknown:
        raise ValueError(
            f"the checkpoint's adapter does not fit the model: {len(missing)} tensors are missing "
            f"({', '.join(sorted(missing)[:3])}), {len(unknown)} unknown ({', '.join(sorted(unknown)[:3])})"
        )
    return model.load_state_dict(state, strict=False)


def _is_wrapped(model: Any) -> bool:
    from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel

    return isinstance(model, FSDPModule | FullyShardedDataParallel)


def _trainable(model: Any) -> set[str]:
    return {_plain(name) for name, parameter in model.named_parameters() if parameter.requires_grad}


def _plain(name: str) -> str:
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name
