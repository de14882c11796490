import pytest

from fsdpwiz.facts.model.catalogue import architecture_of, catalogued_model, families

# Published parameter counts, tied weights counted once.
PARAMETERS = {
    "HuggingFaceTB/SmolLM2-135M": 134_515_008,
    "HuggingFaceTB/SmolLM2-135M-Instruct": 134_515_008,
    "meta-llama/Llama-2-7b-hf": 6_738_415_616,
    "meta-llama/Llama-2-7b-chat-hf": 6_738_415_616,
    "meta-llama/Llama-2-13b-hf": 13_015_864_320,
    "meta-llama/Llama-2-70b-hf": 68_976_648_192,
    "meta-llama/Llama-2-70b-chat-hf": 68_976_648_192,
    "meta-llama/Meta-Llama-3-8B": 8_030_261_248,
    "meta-llama/Meta-Llama-3-8B-Instruct": 8_030_261_248,
    "meta-llama/Llama-3.1-8B": 8_030_261_248,
    "meta-llama/Meta-Llama-3-70B": 70_553_706_496,
    "mistralai/Mistral-7B-v0.1": 7_241_732_096,
    "mistralai/Mistral-7B-v0.3": 7_248_023_552,
    "openai-community/gpt2": 124_439_808,
    "openai-community/gpt2-medium": 354_823_168,
    "openai-community/gpt2-large": 774_030_080,
    "openai-community/gpt2-xl": 1_557_611_200,
}


def gated_parameters(config):
    """Llama and Mistral: grouped attention, gated MLP, two norms a layer."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    head = config.get("head_dim") or hidden // heads
    attention = 2 * hidden * heads * head + 2 * hidden * config["num_key_value_heads"] * head
    layer = attention + 3 * hidden * config["intermediate_size"] + 2 * hidden
    ends = config["vocab_size"] * hidden * (1 if config["tie_word_embeddings"] else 2) + hidden
    return config["num_hidden_layers"] * layer + ends


def gpt2_parameters(config):
    hidden = config["n_embd"]
    layer = 12 * hidden * hidden + 13 * hidden
    return config["n_layer"] * layer + (config["vocab_size"] + config["n_positions"]) * hidden + 2 * hidden


@pytest.mark.parametrize(("name", "expected"), PARAMETERS.items())
def test_configs_give_the_published_parameter_counts(name, expected):
    config = catalogued_model(name).config
    count = gpt2_parameters if config["model_type"] == "gpt2" else gated_parameters
    assert count(config) == expected


def test_every_model_is_of_its_family():
    for family in families():
        for name, entry in family.models.items():
            assert entry.config["model_type"] == family.model_type, name
            assert entry.config["architectures"][0] in family.architectures, name
            assert architecture_of(entry.config)[1], name
            assert isinstance(entry.chat_template, bool), name


def test_ids_are_found_without_regard_to_case():
    assert catalogued_model("meta-llama/llama-2-70B-HF") is catalogued_model("meta-llama/Llama-2-70b-hf")
    assert catalogued_model("nobody/nothing") is None


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "llama"}, ("LlamaForCausalLM", ("LlamaDecoderLayer",))),
        (
            {"model_type": "gpt2", "architectures": ["GPT2DoubleHeadsModel"]},
            ("GPT2LMHeadModel", ("GPT2Block",)),
        ),
        ({"architectures": ["Qwen2ForCausalLM"]}, ("Qwen2ForCausalLM", ("Qwen2DecoderLayer",))),
        ({"model_type": "new", "architectures": ["NewForCausalLM"]}, ("NewForCausalLM", None)),
        ({"model_type": "new"}, (None, None)),
        ({"model_type": ["llama"], "architectures": [3]}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_architecture(config, expected):
    assert architecture_of(config) == expected


@pytest.mark.slow
@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_layer_classes_are_the_installed_librarys(family):
    transformers = pytest.importorskip("transformers")
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    assert MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[family.model_type] == next(iter(family.architectures))
    for name, layers in family.architectures.items():
        assert set(getattr(transformers, name)._no_split_modules) == set(layers)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARAMETERS)
def test_the_installed_library_builds_that_many_parameters(name):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = dict(catalogued_model(name).config)
    made = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(made)
    assert sum(parameter.numel() for parameter in model.parameters()) == PARAMETERS[name]
