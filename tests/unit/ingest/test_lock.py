from pathlib import Path

import pytest

from ingest.errors import RunRefused
from ingest.lock import writer_lock


def test_second_run_is_refused_while_the_first_goes_on(tmp_path: Path) -> None:
    with writer_lock(tmp_path / "lock"), pytest.raises(RunRefused, match="already running"), writer_lock(tmp_path / "lock"):
        pass


def test_lock_is_free_again_after_a_run_that_failed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"), writer_lock(tmp_path / "lock"):
        raise ValueError("broken")
    with writer_lock(tmp_path / "lock"):
        pass
