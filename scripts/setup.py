"""Make `.venv` with everything `make demo` and `make test` need, or say what this machine lacks.

Only the standard library, in syntax that any Python 3 reads, so that an old one gets a sentence
and no traceback. A second run finds the stamp of the first and does nothing.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "setup-stamp.json"
CONSTRAINTS = ROOT / "constraints.txt"
EXTRAS = "train,quant,test"
OLDEST_PYTHON = (3, 11)
FREE_BYTES_CPU = 4 * 10**9
FREE_BYTES_CUDA = 12 * 10**9
HEAD_TIMEOUT_S = 5


class SetupError(Exception):
    """Something this machine lacks: what, and the remedy."""

    def __init__(self, what, remedy):
        super().__init__(f"{what}\n  help: {remedy}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-index", default="", help="index to take torch from, and nothing else")
    options = parser.parse_args(arguments)
    try:
        require_python()
        wanted = stamp(options.torch_index)
        if is_current(wanted):
            return 0
        require_venv()
        require_disk(FREE_BYTES_CPU, "the libraries")
        install(options.torch_index)
        STAMP.write_text(json.dumps(wanted), encoding="utf-8")
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        command = " ".join(str(word) for word in error.cmd)
        print(f"setup: `{command}` failed with exit code {error.returncode}", file=sys.stderr)
        return 1
    return 0


def require_python(version=None):
    """Go on in a Python that is new enough; where this one is not, look for one on the path."""
    version = version or sys.version_info[:2]
    if version >= OLDEST_PYTHON:
        return
    for minor in range(14, OLDEST_PYTHON[1] - 1, -1):
        newer = shutil.which(f"python3.{minor}")
        if newer:
            os.execv(newer, [newer, *sys.argv])
    raise SetupError(
        "Python {}.{} is too old, {}.{} or later is needed".format(*version, *OLDEST_PYTHON),
        "install python3.11 (Debian 12: `apt-get install python3.11 python3.11-venv`) or name one: "
        "`make PYTHON=/path/to/python3.11 …`",
    )


def require_venv(find=None):
    """The standard library's venv and ensurepip, which Debian packages apart."""
    find = find or __import__("importlib.util").util.find_spec
    missing = [name for name in ("venv", "ensurepip") if find(name) is None]
    if missing:
        raise SetupError(
            "{} has no {}".format(sys.executable, " and no ".join(f"`{name}`" for name in missing)),
            "`apt-get install python{}.{}-venv`, or a Python that has it: `make PYTHON=… …`".format(
                *sys.version_info[:2]
            ),
        )


def require_disk(bytes_needed, what, free=None):
    """Free space where `.venv` will be."""
    free = shutil.disk_usage(str(ROOT)).free if free is None else free
    if free < bytes_needed:
        raise SetupError(
            f"{free / 1e9:.1f} GB free in {ROOT}, {what} take up to {bytes_needed / 1e9:.0f} GB",
            "free some space, or clone into a folder on a larger disk",
        )


def stamp(torch_index):
    """What the environment depends on; an index is only compared when one is asked for."""
    digest = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", CONSTRAINTS):
        digest.update(path.read_bytes())
    return {
        "inputs": digest.hexdigest(),
        "root": str(ROOT),
        "python": "{}.{}".format(*sys.version_info[:2]),
        "torch_index": torch_index,
    }


def is_current(wanted):
    """Whether `.venv` was made from just this and still starts."""
    try:
        made = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    same = all(made.get(key) == value for key, value in wanted.items() if key != "torch_index")
    index = wanted["torch_index"] in ("", made.get("torch_index"))
    return same and index and PYTHON.exists()


def install(torch_index):
    renewed = PYTHON.exists()
    say(f"{'renewing' if renewed else 'making'} {VENV} (a second run reuses it)")
    run([sys.executable, "-m", "venv", str(VENV)])
    pip("install", "pip", "hatchling", "editables", quiet=True)
    torch = "torch=={}".format(pinned("torch"))
    if torch_index:
        say(f"taking {torch} from {torch_index}")
        pip("install", "--index-url", torch_index, torch)
    else:
        announce_cuda(torch)
    pip("install", "--no-build-isolation", "--editable", f"{ROOT}[{EXTRAS}]", quiet=renewed)


def announce_cuda(torch):
    """Say what a CUDA build of torch weighs before pip fetches it, and ask for the room it needs."""
    urls = download_urls(torch)
    if not is_cuda(urls):
        return
    size = total_bytes(urls)
    weight = f"{size / 1e9:.1f} GB" if size else "several GB"
    say(f"pip takes the CUDA build of {torch}: {weight} to download")
    say("`make … TORCH_INDEX=URL` takes it from another index, for instance one of CPU builds")
    require_disk(FREE_BYTES_CUDA, "the CUDA build of torch and its libraries")


def download_urls(requirement):
    """Where pip would fetch `requirement` and what it depends on from; nothing is installed."""
    report = VENV / "setup-report.json"
    pip("install", "--dry-run", "--quiet", "--report", str(report), requirement)
    planned = json.loads(report.read_text(encoding="utf-8"))["install"]
    report.unlink()
    return [item["download_info"]["url"] for item in planned]


def is_cuda(urls):
    """Whether the CUDA libraries are among what would be fetched."""
    return any(re.search(r"/nvidia_[a-z]|/cuda_|%2Bcu[0-9]|\+cu[0-9]", url) for url in urls)


def total_bytes(urls):
    """The size of all `urls` together, None where a server does not say."""
    sizes = [content_length(url) for url in urls if url.startswith("http")]
    return None if None in sizes else sum(sizes)


def content_length(url):
    try:
        request = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(request, timeout=HEAD_TIMEOUT_S) as response:
            return int(response.headers["Content-Length"])
    except (OSError, ValueError, TypeError):
        return None


def pinned(name):
    """The version that constraints.txt gives `name`."""
    pins = dict(line.split("==") for line in CONSTRAINTS.read_text(encoding="utf-8").split() if "==" in line)
    return pins[name]


def pip(verb, *arguments, **options):
    """pip of `.venv` with this machine's own configuration and our pins."""
    quiet = ["--quiet"] if options.get("quiet") else []
    command = [str(PYTHON), "-m", "pip", verb, "--disable-pip-version-check", *quiet, "-c", str(CONSTRAINTS)]
    run([*command, *arguments])


def run(command):
    subprocess.run(command, check=True)


def say(text):
    print(f"setup: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
