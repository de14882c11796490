"""The demo: fine-tune a small pretrained model on this machine and compare its answers before and after.

python scripts/demo.py [SECTION.KEY=VALUE…]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import demo_model

from fsdpwiz.runs.find import find_run

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
RECIPE = "recipes/smollm2-135m-sft"
ANSWERS = ROOT / ".cache" / "demo-answers"
WIDTH = 100


def main(overrides: list[str]) -> int:
    start = time.monotonic()
    model = demo_model.main()
    say("Asking the model before it is trained")
    before = sample(model, "before")
    for question, text in before.items():
        say(f"\nQ       {question}\n{column('before', text)}")
    say(f"\nTraining: fsdpwiz run {RECIPE} model.name_or_path={shown(model)}\n")
    command = [str(BIN / "fsdpwiz"), "run", RECIPE, f"model.name_or_path={model}", *overrides]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        return code
    trained = find_run(Path(RECIPE).name, output_dir=ROOT / "runs").model
    say("\nAsking the trained model the same")
    after = sample(trained, "after")
    for question, text in before.items():
        say(f"\nQ       {question}\n{column('before', text)}\n{column('after', after[question])}")
    say(f"\nThe model is in {shown(trained)}; the demo took {time.monotonic() - start:.0f} s")
    return 0 if all(after[question] != text for question, text in before.items()) else 1


def sample(model: Path, name: str) -> dict[str, str]:
    """Question to answer, from a process of its own that gives its memory back."""
    ANSWERS.mkdir(parents=True, exist_ok=True)
    file = ANSWERS / f"{name}.json"
    command = [sys.executable, str(ROOT / "scripts" / "sample_answers.py"), str(model), "--json", str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    answers: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return answers


def column(label: str, text: str) -> str:
    lines = textwrap.wrap(text, WIDTH - 8) or ["(nothing)"]
    return "\n".join(f"{label if index == 0 else '':<8}{line}" for index, line in enumerate(lines))


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    os.environ.update(TRANSFORMERS_VERBOSITY="error", TQDM_DISABLE="1")
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode if error.returncode > 0 else 130)
