"""A checkpoint's `.metadata` is judged without torch, and what it names is not run."""

import os
import pickle
import subprocess
import sys

import pytest

from fsdpwiz.runs import soundness
from fsdpwiz.runs.soundness import is_admitted, why_unsound

FOLDERS = ("pytorch_model_fsdp_0", "optimizer_0")


class Payload:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (os.mkdir, (str(self.mark),))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What torch itself writes, from a process of its own."""
    folder = tmp_path_factory.mktemp("written")
    code = (
        "import sys, torch, torch.distributed.checkpoint as c\n"
        "state = {'model': {'a': torch.ones(3, 2), 'b': torch.ones(4, dtype=torch.bfloat16)}, 'lr': 0.1}\n"
        "c.save(state, checkpoint_id=sys.argv[1], no_dist=True)"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(folder)], check=True, timeout=120)
    return (folder / ".metadata").read_bytes()


@pytest.fixture
def checkpoint(tmp_path, written):
    for name in FOLDERS:
        (tmp_path / "step-6" / name).mkdir(parents=True)
        (tmp_path / "step-6" / name / ".metadata").write_bytes(written)
    return tmp_path / "step-6"


def test_what_torch_writes_is_sound(checkpoint):
    assert why_unsound(checkpoint) is None


def test_a_checkpoint_without_distributed_folders_has_nothing_to_judge(tmp_path):
    assert why_unsound(tmp_path) is None
    assert why_unsound(tmp_path / "nowhere") is None


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("protocol", range(6))
def test_a_payload_is_named_and_not_run(name, protocol, checkpoint, tmp_path):
    (checkpoint / name / ".metadata").write_bytes(pickle.dumps(Payload(tmp_path / "mark"), protocol))
    reason = why_unsound(checkpoint)
    assert reason is not None and f"`{name}/.metadata` names `posix.mkdir`" in reason
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cannot be read"),
        (b"junk", "cannot be read"),
        (pickle.dumps({"a": 1}), "not that of a torch checkpoint"),
        (b"Pobject\n.", "refers to objects outside itself"),
        (b"cbuiltins\neval\n(S'1'\ntR.", "`builtins.eval`"),
        (b"ctorch\nload\n.", "`torch.load`"),
        (b"ctorch.distributed.checkpoint.metadata\nMetadata.__init__\n.", "names"),
    ],
)
def test_anything_else_is_unsound(name, content, said, checkpoint):
    (checkpoint / name / ".metadata").write_bytes(content)
    assert said in (why_unsound(checkpoint) or "")


def test_every_shorter_file_is_unsound(checkpoint, written):
    for length in range(0, len(written) - 1, 7):
        (checkpoint / "optimizer_0" / ".metadata").write_bytes(written[:length])
        assert why_unsound(checkpoint) is not None


def test_links_pipes_and_what_is_missing(checkpoint):
    path = checkpoint / "optimizer_0" / ".metadata"
    path.unlink()
    assert "missing" in (why_unsound(checkpoint) or "")
    path.symlink_to(checkpoint / "pytorch_model_fsdp_0" / ".metadata")
    assert "cannot be read" in (why_unsound(checkpoint) or "")
    path.unlink()
    os.mkfifo(path)
    assert "is not a file" in (why_unsound(checkpoint) or "")


def test_its_size_is_bounded(checkpoint, monkeypatch):
    monkeypatch.setattr(soundness, "LIMIT_BYTES", 10)
    assert "size" in (why_unsound(checkpoint) or "")


@pytest.mark.slow
def test_the_names_are_those_that_the_trainer_admits():
    import torch

    from fsdpwiz.train.export import metadata

    assert set(metadata._CLASSES) == soundness.NAMES
    dtypes = {name for module, name in metadata._DTYPES if module == "torch"}
    assert {name for name in dir(torch) if is_admitted("torch", name)} == {"Size", *dtypes}
