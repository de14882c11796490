"""The verified model goes to the hub once, by the real client; nothing unverified ever does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.train.export import spoilers
from tests.train.export.hub_server import Hub, hub_server
from tests.train.export.live_case import export_case
from tests.train.export.pool import Pool
from tests.train.plans import make_plan

TOKEN = "hf_local"
KEYS = {"push_to_hub": True, "hub_model_id": "me/tiny", "hub_token": TOKEN, "hub_private_repo": True}
CHILD = """
import json, sys
from pathlib import Path
from fsdpwiz.train.export.push import push
address, finding = push(Path(sys.argv[1]), json.loads(sys.argv[2]), name="tiny")
print(json.dumps([address, finding.to_json() if finding else None]))
"""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server() as running:
        yield running


def _environment(hub: Hub) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


def _push(hub: Hub, model: Path, keys: dict[str, Any]) -> list[Any]:
    """In a process of its own: huggingface_hub reads its endpoint once, when it is imported."""
    environ = {**os.environ, **_environment(hub)}
    command = [sys.executable, "-c", CHILD, str(model), json.dumps(keys)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout, done.stderr
    assert TOKEN not in done.stdout
    answer: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 100)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("revision", [None, "main", "candidate"])
def test_every_file_arrives(revision: str | None, hub: Hub, model: Path) -> None:
    address, finding = _push(hub, model, {**KEYS, "hub_revision": revision})
    assert finding is None
    assert address == f"{hub.url}/me/tiny/commit/{'1' * 40}"
    assert hub.files == {path.name: path.read_bytes() for path in model.iterdir()}
    assert hub.commits == [revision or "main"]
    assert hub.branches == (["candidate"] if revision == "candidate" else [])
    assert {item.get("private") or item.get("visibility") for item in hub.created} <= {True, "private"}


@pytest.mark.slow
@pytest.mark.parametrize(("token", "refuse"), [("hf_other", 0), (TOKEN, 403)])
def test_a_refused_push_is_a_finding(token: str, refuse: int, hub: Hub, model: Path) -> None:
    hub.token, hub.refuse = token, refuse
    address, finding = _push(hub, model, KEYS)
    assert address is None
    assert finding["code"] == "P012"
    assert "stays in" in finding["message"]
    assert hub.files == {}
    assert model.is_dir()


def test_no_hub_at_all_is_a_finding(model: Path) -> None:
    hub = Hub(url="http://127.0.0.1:9")
    address, finding = _push(hub, model, KEYS)
    assert address is None
    assert finding["code"] == "P012"


@dataclass(frozen=True)
class Setting:
    """Runs on every rank before the export."""

    environ: dict[str, str]
    then: Any = None

    def __call__(self) -> None:
        from huggingface_hub import constants

        constants.ENDPOINT, constants.HF_HUB_DISABLE_XET = self.environ["HF_ENDPOINT"], True
        os.environ.update(self.environ)
        if self.then is not None:
            self.then()


@pytest.mark.slow
def test_the_export_pushes_once_and_only_what_it_verified(
    hub: Hub, pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    plan = make_plan(bases["odd"], Path("messages.jsonl"), kind="FSDP2", ranks=2, training=KEYS)
    broken = Setting(_environment(hub), spoilers.Spoiler(spoilers.flip_a_bit))
    answers = pool.run(export_case, 2, plan=plan, root=tmp_path, spoil=broken)
    assert answers[0]["finding"]["code"] == "P011"
    assert hub.requests == []
    answers = pool.run(export_case, 2, plan=plan, root=tmp_path, spoil=Setting(_environment(hub)))
    assert [answer["report"].pushed for answer in answers] == [f"{hub.url}/me/tiny/commit/{'1' * 40}", None]
    assert hub.commits == ["main"]
    assert hub.files == {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    assert TOKEN.encode() not in b"".join(hub.files.values())
    hub.refuse = 403
    answers = pool.run(export_case, 2, plan=plan, root=tmp_path, spoil=Setting(_environment(hub)))
    assert answers[0]["report"].findings[0].code == "P012"
    assert (tmp_path / "model" / "config.json").is_file()
