"""What the shell is offered: verbs, recipe names, override keys, codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FSDPWIZ = Path(sys.executable).with_name("fsdpwiz")


def _complete(line: str) -> list[str]:
    words = line.split(" ")
    environment = {
        **os.environ,
        "_FSDPWIZ_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    result = subprocess.run(
        [str(FSDPWIZ)], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return result.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("fsdpwiz val", "validate"),
        ("fsdpwiz validate smol", "smollm2-135m-sft"),
        ("fsdpwiz run llama2-70b", "llama2-70b-qlora"),
        ("fsdpwiz render x sft.max_st", "sft.max_steps="),
        ("fsdpwiz run x fsdp.resh", "fsdp.reshard_after_forward="),
        ("fsdpwiz explain S00", "S001"),
        ("fsdpwiz validate x --ignore A0", "A003"),
        ("fsdpwiz recipes sh", "show"),
        ("fsdpwiz recipes copy gpt2", "gpt2-xl-sft"),
        ("fsdpwiz render --eff", "--effective"),
    ],
)
def test_completion(line: str, offered: str) -> None:
    assert offered in _complete(line)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_the_shell_names_the_program(shell: str) -> None:
    environment = {**os.environ, "_FSDPWIZ_COMPLETE": f"source_{shell}"}
    result = subprocess.run(
        [str(FSDPWIZ)], env=environment, capture_output=True, text=True, timeout=60, check=True
    )

    assert "_FSDPWIZ_COMPLETE" in result.stdout
