"""What stands beside the weights: configuration, generation configuration, tokenizer, chat template."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from fsdpwiz.train.export.architecture import Architecture


def write_companions(
    folder: Path,
    architecture: Architecture,
    *,
    generation_config: Any,
    tokenizer: Any,
    code_folder: Path | None = None,
) -> None:
    """Write the files that `from_pretrained` and generation need into `folder`.

    `code_folder` has the model's own code, where the configuration refers to files beside it.
    """
    config = architecture.config
    config.architectures = [type(architecture.skeleton).__name__]
    config.save_pretrained(str(folder))
    if generation_config is not None:
        # Not save_pretrained: it refuses the contradictory settings that published models come with.
        generation_config.to_json_file(str(folder / "generation_config.json"))
    if tokenizer is not None:
        tokenizer.save_pretrained(str(folder))
    if code_folder is not None and _names_code_beside_it(config):
        for source in sorted(code_folder.glob("*.py")):
            if source.is_file():
                shutil.copyfile(source, folder / source.name)


def _names_code_beside_it(config: Any) -> bool:
    auto_map = getattr(config, "auto_map", None) or {}
    return any(isinstance(value, str) and "--" not in value for value in auto_map.values())
