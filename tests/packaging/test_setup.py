"""The set-up script: what it refuses, each with its remedy, and when it has nothing to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.packaging.scripts import load_script

GB = 10**9


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = load_script("setup")
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "setup-stamp.json")
    return module


def test_an_old_python_is_refused_with_a_remedy(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup.shutil, "which", lambda _name: None)

    with pytest.raises(setup.SetupError, match=r"Python 3\.10 is too old[\s\S]*help: install python3\.11"):
        setup.require_python((3, 10))


def test_an_old_python_hands_over_to_a_newer_one(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(setup.shutil, "which", lambda name: f"/bin/{name}" if name == "python3.12" else None)
    monkeypatch.setattr(setup.os, "execv", lambda _path, words: started.append(words) or sys.exit(0))

    with pytest.raises(SystemExit):
        setup.require_python((3, 9))

    assert started[0][0] == "/bin/python3.12"


def test_a_python_without_venv_is_refused_with_a_remedy(setup: ModuleType) -> None:
    with pytest.raises(
        setup.SetupError, match=r"`ensurepip`[\s\S]*help: `apt-get install python3\.\d+-venv`"
    ):
        setup.require_venv(find=lambda name: None if name == "ensurepip" else object())


@pytest.mark.parametrize(("free", "enough"), [(3.9 * GB, False), (4.1 * GB, True)])
def test_a_full_disk_is_refused_with_a_remedy(setup: ModuleType, free: float, enough: bool) -> None:
    if enough:
        return setup.require_disk(setup.FREE_BYTES_CPU, "the libraries", free=free)
    with pytest.raises(
        setup.SetupError, match=r"3\.9 GB free in .*, the libraries take up to 4 GB\n  help: free"
    ):
        setup.require_disk(setup.FREE_BYTES_CPU, "the libraries", free=free)
    return None


@pytest.mark.parametrize(
    ("urls", "cuda"),
    [
        (["https://host/torch-2.13.0-cp311-manylinux.whl", "https://host/nvidia_cublas-13.0-py3.whl"], True),
        (["https://host/torch-2.13.0%2Bcu130-cp311.whl"], True),
        (["file:///wheels/torch-2.13.0+cpu-cp311.whl", "https://host/sympy-1.14.0.whl"], False),
        ([], False),
    ],
)
def test_a_cuda_build_is_seen_before_it_is_fetched(setup: ModuleType, urls: list[str], cuda: bool) -> None:
    assert setup.is_cuda(urls) is cuda


def test_a_cuda_build_is_announced_with_its_size_and_needs_room(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    urls = ["https://host/torch-2.13.0.whl", "https://host/nvidia_nccl-2.29.whl"]
    monkeypatch.setattr(setup, "download_urls", lambda _torch: urls)
    monkeypatch.setattr(setup, "content_length", lambda _url: 1_200_000_000)
    monkeypatch.setattr(setup.shutil, "disk_usage", lambda _root: type("Usage", (), {"free": 11 * GB}))

    with pytest.raises(setup.SetupError, match="take up to 12 GB"):
        setup.announce_cuda("torch==2.13.0")

    assert "the CUDA build of torch==2.13.0: 2.4 GB to download" in capsys.readouterr().out


def test_a_stamp_of_the_same_inputs_is_reused(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = setup.stamp("")
    assert not setup.is_current(wanted)
    setup.PYTHON.parent.mkdir(parents=True)
    setup.PYTHON.touch()
    setup.STAMP.write_text(json.dumps(wanted), encoding="utf-8")

    assert setup.is_current(wanted)
    assert not setup.is_current({**wanted, "inputs": "other"})
    assert not setup.is_current({**wanted, "root": "/elsewhere"})
    assert not setup.is_current({**wanted, "torch_index": "https://index"}), (
        "an index that is asked for counts"
    )

    def forbidden(*_words: object) -> None:
        raise AssertionError("a second run installs nothing")

    monkeypatch.setattr(setup, "install", forbidden)
    assert setup.main([]) == 0


def test_a_broken_stamp_is_no_stamp(setup: ModuleType) -> None:
    setup.VENV.mkdir()
    setup.STAMP.write_text("{", encoding="utf-8")

    assert not setup.is_current(setup.stamp(""))


def test_torch_index_is_for_torch_only(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(setup, "run", commands.append)

    setup.install("https://index/cpu")

    with_index = [command for command in commands if "--index-url" in command]
    assert len(with_index) == 1
    assert with_index[0][-1].startswith("torch==")
    assert all("-c" in command for command in commands if "pip" in command)


def test_failures_are_one_message_and_exit_code_1(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_index: str) -> None:
        raise subprocess.CalledProcessError(1, ["pip", "install", "torch"])

    monkeypatch.setattr(setup, "install", fail)

    assert setup.main([]) == 1
    assert capsys.readouterr().err == "setup: `pip install torch` failed with exit code 1\n"


def test_the_script_needs_nothing_but_the_standard_library() -> None:
    script = Path(__file__).parents[2] / "scripts" / "setup.py"
    result = subprocess.run(
        [sys.executable, "-I", "-S", str(script), "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "--torch-index" in result.stdout
