"""The cache is resolved as the installed huggingface_hub resolves it."""

import json
import os
import subprocess
import sys

import pytest

from fsdpwiz.facts.model.hub_cache import cache_folder, find_snapshot

COMMIT = "a" * 40
ENVIRONMENTS = [
    {},
    {"HF_HOME": "/x/hf"},
    {"HF_HOME": "~/hf"},
    {"HF_HOME": "$BASE/hf"},
    {"HF_HUB_CACHE": "/cache"},
    {"HF_HUB_CACHE": "${BASE}/cache", "HF_HOME": "/x"},
    {"HUGGINGFACE_HUB_CACHE": "/old"},
    {"HUGGINGFACE_HUB_CACHE": "/old", "HF_HOME": "/x"},
    {"HUGGINGFACE_HUB_CACHE": "/old", "HF_HUB_CACHE": "/new"},
    {"XDG_CACHE_HOME": "/xdg"},
    {"XDG_CACHE_HOME": "/xdg", "HF_HOME": "/x"},
]


@pytest.mark.parametrize("environ", ENVIRONMENTS, ids=str)
def test_the_cache_is_where_the_library_has_it(environ):
    environ = {"HOME": "/home/someone", "BASE": "/base", "PATH": os.environ["PATH"], **environ}
    program = "from huggingface_hub import constants; print(constants.HF_HUB_CACHE)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=60
    )
    assert str(cache_folder(environ)) == done.stdout.strip(), done.stderr


@pytest.fixture
def cache(tmp_path):
    repository = tmp_path / "models--org--name"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(json.dumps({"model_type": "llama"}))
    for reference in ("main", "v1", "refs/pr/1"):
        (repository / "refs" / reference).parent.mkdir(parents=True, exist_ok=True)
        (repository / "refs" / reference).write_text(COMMIT)
    return tmp_path


@pytest.mark.parametrize("revision", [None, "main", "v1", "refs/pr/1", COMMIT, "gone", "b" * 40])
def test_revisions_as_the_library_finds_them(cache, revision):
    from huggingface_hub import try_to_load_from_cache

    found = find_snapshot("org/name", revision, {"HF_HUB_CACHE": str(cache)})
    theirs = try_to_load_from_cache("org/name", "config.json", cache_dir=cache, revision=revision)
    assert (None if found is None else str(found / "config.json")) == theirs


@pytest.mark.parametrize("revision", ["../../..", "/etc", "a/../../b", "x\0y", "", "x" * 5000])
def test_a_revision_stays_inside_the_cache(cache, revision):
    found = find_snapshot("org/name", revision, {"HF_HUB_CACHE": str(cache)})
    assert found is None or found.parent.parent.parent == cache


@pytest.mark.parametrize("content", [b"../../../..", b"/etc", b"\xff\xfe", b"", b"x" * 10_000])
def test_a_hostile_reference(cache, content):
    (cache / "models--org--name" / "refs" / "main").write_bytes(content)
    assert find_snapshot("org/name", None, {"HF_HUB_CACHE": str(cache)}) is None
