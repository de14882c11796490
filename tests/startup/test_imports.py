"""Start-up stays light: what the cheap commands load, and what no command may load."""

from __future__ import annotations

import subprocess
import sys

import pytest

TRAINING = {
    "torch",
    "accelerate",
    "transformers",
    "trl",
    "peft",
    "datasets",
    "bitsandbytes",
    "numpy",
    "pandas",
}
HEAVY = TRAINING | {
    "pydantic",
    "ruamel",
    "rich",
    "huggingface_hub",
    "jinja2",
    "questionary",
    "psutil",
    "asyncio",
}
LIST_MODULES = """
import sys
from fsdpwiz.cli.main import main
code = main(sys.argv[1:])
sys.stdout.flush()
print("\\n" + " ".join(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
sys.exit(code)
"""


def _loaded(*arguments: str) -> set[str]:
    result = subprocess.run(
        [sys.executable, "-c", LIST_MODULES, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode in (0, 1), result.stderr
    loaded = set(result.stderr.splitlines()[-1].split())
    assert {"fsdpwiz", "typer"} <= loaded
    return loaded


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["recipes"], ["recipes", "--json"]])
def test_cheap_commands_load_nothing_heavy(arguments: list[str]) -> None:
    assert _loaded(*arguments) & HEAVY == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["schema"],
        ["explain", "S001"],
        ["validate", "smollm2-135m-sft"],
        ["render", "smollm2-135m-sft", "--effective"],
        ["render", "llama2-70b-sft", "--json"],
        ["run", "smollm2-135m-sft", "--dry-run"],
    ],
)
def test_no_command_loads_the_training_libraries(arguments: list[str]) -> None:
    assert _loaded(*arguments) & TRAINING == set()
