import importlib.util
import io
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

_FILE = Path(__file__).parents[3] / "deploy" / "bootstrap.py"


@pytest.fixture
def bootstrap() -> ModuleType:
    """The script, which is no part of any package, as a module of its own."""
    spec = importlib.util.spec_from_file_location("salus_bootstrap", _FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("version", [(3, 9), (3, 10), (3, 14)])
def test_an_unfit_python_is_named_with_the_way_out(bootstrap: ModuleType, version: tuple[int, int]) -> None:
    with pytest.raises(bootstrap.SetupError, match=rf"this is {version[0]}\.{version[1]}\..*apt install python3\.11"):
        bootstrap.check_python(version)


def test_another_fitting_python_on_the_path_is_found(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bootstrap.other_python() is None
    _program(tmp_path / "python3.12")
    assert bootstrap.other_python() == str(tmp_path / "python3.12")


def test_a_missing_venv_module_names_the_package(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(bootstrap.SetupError, match=r"sudo apt install python3\.12-venv"):
        bootstrap.check_venv_module((3, 12))


def test_a_missing_compiler_is_said_before_anything_is_downloaded(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(bootstrap.SetupError, match=r"C\+\+ compiler is missing.*sudo apt install g\+\+ make"):
        bootstrap.check_compiler(str(tmp_path))
    _program(tmp_path / "g++")
    with pytest.raises(bootstrap.SetupError, match="A C compiler is missing"):
        bootstrap.check_compiler(str(tmp_path))
    _program(tmp_path / "gcc")
    bootstrap.check_compiler(str(tmp_path))


def test_too_little_room_is_said_with_numbers(bootstrap: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(bootstrap.SetupError, match=r"about 4 GB of disk; 1\.5 GB are free"):
        bootstrap.check_disk(tmp_path, free=1_500_000_000)


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("Failed to establish a new connection: [Errno -3] Temporary failure in name resolution", "cannot be reached"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("c++: fatal error: Killed signal terminated program cc1plus", "not enough memory for the compiler"),
        ("ERROR: No matching distribution found for x==1", "lacks one of the locked packages"),
        ("segmentation fault", "lines above say why"),
    ],
)
def test_a_failed_step_ends_in_a_sentence(bootstrap: ModuleType, output: str, sentence: str) -> None:
    assert sentence in str(bootstrap.explain("Installing packages", output))


def test_the_engine_is_compiled_lean_and_for_this_machine(bootstrap: ModuleType) -> None:
    arguments = bootstrap.cmake_args(Path("/p"), portable=False, machine="x86_64")
    assert "-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=/p/deploy/llama-lean.cmake" in arguments
    assert "GGML_NATIVE" not in arguments


def test_a_portable_engine_asks_for_avx2_on_x86_only(bootstrap: ModuleType) -> None:
    x86 = bootstrap.cmake_args(Path("/p"), portable=True, machine="x86_64")
    arm = bootstrap.cmake_args(Path("/p"), portable=True, machine="aarch64")
    assert "-DGGML_NATIVE=OFF" in x86
    assert "-DGGML_AVX2=ON" in x86
    assert "-DGGML_NATIVE=OFF" in arm
    assert "AVX" not in arm


def test_a_step_is_done_only_with_the_same_key_and_after_its_end(bootstrap: ModuleType, tmp_path: Path) -> None:
    stamps = bootstrap.Stamps(tmp_path)
    assert not stamps.done("packages", "a")
    stamps.finish("packages", "a")
    assert stamps.done("packages", "a")
    assert not stamps.done("packages", "b")
    stamps.begin("packages")
    assert not stamps.done("packages", "a")


def test_a_failed_step_prints_its_last_lines_and_keeps_the_rest_in_the_log(
    bootstrap: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = "import sys; print('one'); print('ERROR: Temporary failure in name resolution'); sys.exit(3)"
    with pytest.raises(bootstrap.SetupError, match="Trying failed: the package index cannot be reached"):
        bootstrap.run("Trying", [sys.executable, "-c", script], log=tmp_path / "log")
    assert "one" in capfd.readouterr().err
    assert "== Trying\none" in (tmp_path / "log").read_text()


def test_progress_without_a_terminal_prints_few_lines(bootstrap: ModuleType) -> None:
    out = io.StringIO()
    progress = bootstrap.Progress("Installing", out)
    for number in range(50):
        progress.show(f"line {number}")
    progress.finish("done")
    assert out.getvalue().splitlines() == ["Installing [   0 s] line 0", "Installing: done (0 s)"]


def test_progress_on_a_terminal_rewrites_one_line(bootstrap: ModuleType) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    progress = bootstrap.Progress("Installing", out)
    progress.show("line 1")
    progress.show("line 2")
    assert "\n" not in out.getvalue()
    assert out.getvalue().count("\r") == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("      [12/78] /usr/bin/g++ -DGGML_BUILD -o x.o", "compiling, file 12 of 78"),
        ("Collecting rich<16,>=14 (from -r requirements.lock (line 9))", "Collecting rich<16,>=14"),
        ("Installing collected packages: a, b, c", "Installing collected packages"),
        ("  cwd: /tmp/x", ""),
    ],
)
def test_pips_output_is_boiled_down_to_news(bootstrap: ModuleType, line: str, told: str) -> None:
    assert bootstrap.news(line) == told


def test_a_half_made_environment_is_made_anew(bootstrap: ModuleType, tmp_path: Path) -> None:
    environment = tmp_path / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    (environment / "bin" / "python").chmod(0o755)
    (environment / "rubbish").write_text("")
    bootstrap.make_environment(environment)
    assert not (environment / "rubbish").exists()
    assert (
        subprocess.run([environment / "bin" / "python", "-m", "pip", "--version"], check=False, capture_output=True).returncode
        == 0
    )


def test_an_environment_that_works_is_kept(bootstrap: ModuleType, tmp_path: Path) -> None:
    environment = tmp_path / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").write_text("#!/bin/sh\necho 3 11\n")
    (environment / "bin" / "python").chmod(0o755)
    bootstrap.make_environment(environment)
    assert (environment / "bin" / "python").read_text() == "#!/bin/sh\necho 3 11\n"


def test_what_the_machine_lacks_is_said_before_anything_is_made(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(bootstrap.SetupError, match="compiler is missing"):
        bootstrap.check_machine(tmp_path / ".venv", portable=False)
    assert not (tmp_path / ".venv").exists()


class Calls:
    """Records what the set-up would run, and fails at a step if told to."""

    def __init__(self, failure: type[Exception] | None = None) -> None:
        self.steps: list[str] = []
        self.commands: list[list[str]] = []
        self.failure = failure

    def __call__(self, step: str, command: list[str], *, log: Path, environment: dict[str, str] | None = None) -> None:
        self.steps.append(step.split(" (")[0])
        self.commands.append(command)
        if self.failure is not None:
            raise self.failure("no")


def test_a_second_setup_runs_nothing(bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls()
    monkeypatch.setattr(bootstrap, "run", calls)
    bootstrap.install(tmp_path, portable=False)
    assert calls.steps == ["Installing packages", "Trying the engines", "Installing Salus"]
    calls.steps.clear()
    bootstrap.install(tmp_path, portable=False)
    assert calls.steps == []


def test_a_failed_setup_leaves_no_stamp(bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "run", Calls(bootstrap.SetupError))
    with pytest.raises(bootstrap.SetupError):
        bootstrap.install(tmp_path, portable=False)
    calls = Calls()
    monkeypatch.setattr(bootstrap, "run", calls)
    bootstrap.install(tmp_path, portable=False)
    assert "Installing packages" in calls.steps


def test_the_other_flavour_of_the_engine_is_compiled_anew(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls()
    monkeypatch.setattr(bootstrap, "run", calls)
    bootstrap.install(tmp_path, portable=False)
    bootstrap.install(tmp_path, portable=True)
    compiled = [command for command in calls.commands if "--no-cache-dir" in command]
    assert len(compiled) == 1
    assert compiled[0][-1].startswith("llama-cpp-python==")
    bootstrap.install(tmp_path, portable=False)
    assert len([command for command in calls.commands if "--no-cache-dir" in command]) == 2


def _program(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
