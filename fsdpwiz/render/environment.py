"""The environment of the ranks: what the launcher adds to its own, and what it must not pass on."""

from __future__ import annotations

from collections.abc import Mapping

from fsdpwiz.plan.types import Plan

FLIGHT_RECORDER_ENTRIES = 2000
# Each step on a CPU allocates and frees gigabytes. As it comes, glibc returns them to the kernel and takes
# them again page by page, a fifth of a step's time; so it keeps up to 1 GiB, and takes huge pages.
ALLOCATOR = ":".join(
    (
        "glibc.malloc.hugetlb=1",
        f"glibc.malloc.trim_threshold={2**30}",
        f"glibc.malloc.mmap_threshold={2**30}",
    )
)

# Accelerate and torch read these ahead of every file; a former run's would leak into this one.
_STRAY_PREFIXES = (
    "ACCELERATE_",
    "FSDP_",
    "PARALLELISM_CONFIG_",
    "MEGATRON_LM_",
    "TORCHELASTIC_",
)
_STRAY_NAMES = frozenset(
    {
        "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",
        "ROLE_WORLD_SIZE", "ROLE_NAME", "MASTER_ADDR", "MASTER_PORT", "PMI_SIZE", "PMI_RANK",
        "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK",
    }
)  # fmt: skip


def rank_environment(plan: Plan) -> dict[str, str]:
    """What the launcher adds: FSDP and glibc's allocator on CPU, the flight recorder, and the plan's `env`.

    On a CPU the launcher exports `use_cpu` from the YAML only where it starts a single process,
    and FSDP1 takes the device "cpu" but not "cpu:0".
    """
    variables: dict[str, str] = {}
    if plan.world.device == "cpu":
        variables |= {
            "ACCELERATE_USE_CPU": "true",
            "ACCELERATE_TORCH_DEVICE": "cpu",
            "GLIBC_TUNABLES": ALLOCATOR,
        }
    if plan.world.world_size > 1:
        variables["TORCH_FR_BUFFER_SIZE"] = str(FLIGHT_RECORDER_ENTRIES)
    return {**variables, **plan.env}


def launch_environment(plan: Plan, inherited: Mapping[str, str]) -> dict[str, str]:
    """The whole environment to start the launcher with, made of the one it is started from.

    Variables that would override the plan are left out. One process sees one GPU, for the
    Trainer would split its batches over all it sees. `GLIBC_TUNABLES` that are set stay as they are.
    """
    kept = {name: value for name, value in inherited.items() if not is_stray(name)}
    if plan.world.device == "cuda" and plan.world.distributed_type == "NO":
        kept["CUDA_VISIBLE_DEVICES"] = kept.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    ours = rank_environment(plan)
    if "GLIBC_TUNABLES" in kept and "GLIBC_TUNABLES" not in plan.env:
        ours.pop("GLIBC_TUNABLES", None)
    return {**kept, **ours}


def is_stray(name: str) -> bool:
    """Whether a variable of this name, left in a shell, would change a run behind its plan's back."""
    return name in _STRAY_NAMES or name.startswith(_STRAY_PREFIXES)
