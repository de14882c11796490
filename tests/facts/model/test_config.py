import json

import pytest

from fsdpwiz.facts.model.config import read_config

GOOD = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8, "head_dim": None}


@pytest.fixture
def config_file(tmp_path):
    def write(content):
        path = tmp_path / "config.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


def test_good(config_file):
    assert read_config(config_file(GOOD)) == (GOOD, None)
    assert read_config(config_file(b"\xef\xbb\xbf" + json.dumps(GOOD).encode())) == (GOOD, None)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON: Expecting property name enclosed in double quotes in line 1"),
        (b'{"a": 1,\n "b" 2}', "in line 2"),
        (b"\xff\xfe{", "not UTF-8 text"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b"1" * 6000, "not JSON"),
        ([1, 2], "holds a list, not an object"),
        ("text", "holds text, not an object"),
        (None, "holds null, not an object"),
        (b" " * (8 * 2**20 + 1), "larger than"),
        ({**GOOD, "hidden_size": "4096"}, "`hidden_size` in `config.json` is text, not a whole number"),
        ({**GOOD, "vocab_size": 1.5}, "`vocab_size` in `config.json` is a number, not a whole number"),
        ({**GOOD, "n_layer": True}, "`n_layer` in `config.json` is a truth value"),
        ({**GOOD, "num_hidden_layers": 0}, "`num_hidden_layers` in `config.json` is 0"),
        ({**GOOD, "model_type": {}}, "`model_type` in `config.json` is an object, not text"),
        ({**GOOD, "architectures": "LlamaForCausalLM"}, "not a list of class names"),
        ({**GOOD, "architectures": [1]}, "not a list of class names"),
        ({"hidden_size": 3}, "neither `model_type` nor `architectures`"),
    ],
)
def test_bad(config_file, content, problem):
    _, found = read_config(config_file(content))
    assert problem in found


def test_not_there(tmp_path):
    assert read_config(tmp_path / "config.json") == ({}, "`config.json`: no such file")


def test_a_pipe_does_not_hang(tmp_path):
    import os

    os.mkfifo(tmp_path / "config.json")
    assert read_config(tmp_path / "config.json") == ({}, "`config.json`: not a plain file")
    (tmp_path / "folder").mkdir()
    assert read_config(tmp_path / "folder")[1] == "`config.json`: not a plain file"
