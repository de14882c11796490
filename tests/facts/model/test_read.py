import json
import math
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsdpwiz.core.text import visible
from fsdpwiz.facts.model.known_types import is_known_type
from fsdpwiz.facts.model.read import read_model
from fsdpwiz.facts.types import Model
from fsdpwiz.facts.unknown import UnknownFact
from tests.facts.model.test_weights import safetensors

EMBEDDING = "model.embed_tokens.weight"
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8}


def read(name, folder, environ=None) -> Model:
    return read_model(
        name, revision=None, base_folders=[folder], environ=environ or {"HF_HOME": str(folder / "none")}
    )


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text(json.dumps(CONFIG))
    (made / "model.safetensors").write_bytes(safetensors())
    (made / "tokenizer.json").write_text("{}")
    return made


def test_a_whole_folder(folder):
    model = read("model", folder.parent)
    assert model == Model(
        source="measured",
        where="folder",
        path=folder,
        architecture="LlamaForCausalLM",
        layer_classes=("LlamaDecoderLayer",),
        config=CONFIG,
        has_weights=True,
        weight_bytes=len(safetensors()),
        tokenizer=True,
        chat_template=False,
        known_type=is_known_type("llama"),
    )


def test_a_folder_without_weights(folder):
    (folder / "model.safetensors").unlink()
    model = read(str(folder), folder)
    assert (model.has_weights, model.problem, model.weight_bytes) == (False, None, None)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chat_template.jinja", "{{ messages }}"),
        ("tokenizer_config.json", '{"chat_template": "{{ messages }}"}'),
        ("tokenizer_config.json", '{"chat_template": [{"name": "default", "template": "x"}]}'),
    ],
)
def test_a_chat_template(folder, name, content):
    (folder / name).write_text(content)
    assert read("model", folder.parent).chat_template is True


@pytest.mark.parametrize("content", ["{}", "[]", "{", '{"chat_template": null}'])
def test_no_chat_template(folder, content):
    (folder / "tokenizer_config.json").write_text(content)
    assert read("model", folder.parent).chat_template is False


def test_no_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    assert read("model", folder.parent).tokenizer is False


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("./gone", "no such folder"),
        ("model/config.json", "not a folder"),
        ("no/such/model", "no such folder"),
    ],
)
def test_no_folder(folder, name, problem):
    model = read(name, folder.parent)
    assert (model.where, model.problem, model.has_weights) == ("folder", problem, False)


def test_the_hubs_cache(tmp_path):
    snapshot = tmp_path / "hub" / "models--org--name" / "snapshots" / ("c" * 40)
    snapshot.mkdir(parents=True)
    (tmp_path / "hub" / "models--org--name" / "refs").mkdir()
    (tmp_path / "hub" / "models--org--name" / "refs" / "main").write_text("c" * 40)
    blob = tmp_path / "blob"
    blob.write_text(json.dumps(CONFIG))
    (snapshot / "config.json").symlink_to(blob)
    model = read("org/name", tmp_path, {"HF_HOME": str(tmp_path)})
    assert (model.source, model.where, model.path) == ("measured", "cache", snapshot)
    assert (model.has_weights, model.tokenizer, model.problem) == (None, None, None)
    (snapshot / "model.safetensors").write_bytes(safetensors())
    assert read("org/name", tmp_path, {"HF_HOME": str(tmp_path)}).has_weights is True


def test_the_catalogue(tmp_path):
    model = read("meta-llama/Llama-2-70b-hf", tmp_path)
    assert (model.source, model.where, model.path) == ("catalogued", "catalogue", None)
    assert model.config["num_hidden_layers"] == 80
    assert (model.has_weights, model.chat_template) == (None, False)


def test_nothing_known(tmp_path):
    with pytest.raises(UnknownFact, match="`nobody/nothing` is in neither the hub's cache"):
        read("nobody/nothing", tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(
    config=st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["model_type", "architectures", "hidden_size", "n_layer", "x"]),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=10,
        ).map(lambda value: json.dumps(value).encode()),
    ),
    index=st.binary(max_size=80)
    | st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3).map(
        lambda names: json.dumps({"weight_map": names}).encode()
    ),
    weights=st.binary(max_size=100) | st.integers(0, 60).map(lambda length: safetensors()[:length]),
)
def test_any_content_gives_a_model(folder, config, index, weights):
    (folder / "config.json").write_bytes(config)
    (folder / "model.safetensors").write_bytes(weights)
    with_single = read("model", folder.parent)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_bytes(index)
    with_index = read("model", folder.parent)
    for model in (with_single, with_index):
        assert isinstance(model.config, dict)
        assert model.problem is None or visible(model.problem) == model.problem
        assert model.problem is None or not {"\n", "\t"} & set(model.problem)


@pytest.mark.parametrize("content", [b"no JSON", b"[]", b'{"version": ', b"\xff"])
def test_a_tokenizer_that_is_no_json(folder, content):
    (folder / "tokenizer.json").write_bytes(content)
    assert read("model", folder.parent).tokenizer_problem.startswith("`tokenizer.json`: ")


def embedding(name, *shape):
    size_bytes = 2 * math.prod(shape)
    header = json.dumps({name: {"dtype": "BF16", "shape": shape, "data_offsets": [0, size_bytes]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(size_bytes)


@pytest.mark.parametrize(
    ("config", "name", "refused"),
    [
        (
            {"model_type": "llama", "vocab_size": 8, "hidden_size": 4},
            EMBEDDING,
            False,
        ),
        (
            {"model_type": "llama", "vocab_size": 9, "hidden_size": 4},
            EMBEDDING,
            True,
        ),
        (
            {"model_type": "llama", "vocab_size": 8, "hidden_size": 5},
            EMBEDDING,
            True,
        ),
        ({"model_type": "gpt2", "vocab_size": 8, "n_embd": 5}, "wte.weight", True),
        ({"model_type": "gpt2", "vocab_size": 8, "n_embd": 5}, "transformer.wte.weight", True),
        ({"model_type": "llama", "vocab_size": 8}, EMBEDDING, False),
        (
            {"model_type": "mine", "vocab_size": 9, "hidden_size": 4},
            EMBEDDING,
            False,
        ),
    ],
)
def test_weights_of_another_config(folder, config, name, refused):
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(embedding(name, 8, 4))
    problem = read("model", folder.parent).problem
    assert (problem is not None) == refused
    assert problem is None or "[8, 4], and `config.json` says" in problem


def test_model_types_are_the_installed_librarys():
    pytest.importorskip("transformers")
    assert is_known_type("llama") and is_known_type("falcon") and is_known_type("mine") is False
    assert is_known_type(None) is None and is_known_type([]) is None
