from pathlib import Path

import pytest

from bot.errors import SettingsInvalid
from bot.settings import Settings, is_loopback, load_settings


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("SALUS_")]:
        monkeypatch.delenv(name)


def test_an_empty_variable_means_that_the_setting_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALUS_TELEGRAM_TOKEN", "")
    monkeypatch.setenv("SALUS_PORT", "")
    monkeypatch.setenv("SALUS_TELEGRAM_WEBHOOK_SECRET", "  ")
    settings = load_settings()
    assert settings.telegram_token is None
    assert settings.telegram_webhook_secret is None
    assert settings.port == 8080


def test_a_secret_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALUS_TELEGRAM_TOKEN", "123:very-secret")
    monkeypatch.setenv("SALUS_API_TOKENS", "query:one-secret-of-16-letters, reindex:two-secret-of-16-letters")
    monkeypatch.setenv("SALUS_WHATSAPP_FROM", "+390200000000")
    shown = repr(load_settings())
    assert "secret" not in shown.replace("telegram_webhook_secret", "").replace("cms_secret", "")
    assert "390200000000" not in shown


def test_every_wrong_setting_gets_a_sentence_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALUS_PORT", "my-port")
    monkeypatch.setenv("SALUS_TELEGRAM_MODE", "carrier-pigeon")
    monkeypatch.setenv("SALUS_PUBLIC_BASE_URL", "https://user:hunter2@bot.example.org")
    with pytest.raises(SettingsInvalid) as caught:
        load_settings()
    text = str(caught.value)
    assert "SALUS_PORT: should be a valid integer" in text
    assert "SALUS_TELEGRAM_MODE: should be 'polling' or 'webhook'." in text
    assert "SALUS_PUBLIC_BASE_URL: must be a web address" in text
    assert not any(value in text for value in ("my-port", "carrier-pigeon", "hunter2"))


def test_a_file_is_read_and_a_variable_wins_over_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "salus.toml"
    file.write_text('SALUS_HOST = "0.0.0.0"\nport = 9000\nadmin_ids = ["a", "b"]\ncms_secret = ""\n')
    monkeypatch.setenv("SALUS_CONFIG", str(file))
    monkeypatch.setenv("SALUS_PORT", "9001")
    settings = load_settings()
    assert (settings.host, settings.port, settings.admin_ids, settings.cms_secret) == ("0.0.0.0", 9001, ("a", "b"), None)


def test_a_misspelt_name_in_the_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "salus.toml"
    file.write_text('telegram_tokne = "123:secret"\n')
    monkeypatch.setenv("SALUS_CONFIG", str(file))
    with pytest.raises(SettingsInvalid, match="SALUS_TELEGRAM_TOKNE: no setting has this name") as caught:
        load_settings()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("content", [None, 'telegram_token = "123:secret\n'])
def test_a_file_that_is_missing_or_broken_is_reported_without_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    file = tmp_path / "salus.toml"
    if content:
        file.write_text(content)
    monkeypatch.setenv("SALUS_CONFIG", str(file))
    with pytest.raises(SettingsInvalid) as caught:
        load_settings()
    assert "secret" not in str(caught.value)


def test_words_keep_no_longer_than_patients_are_told() -> None:
    with pytest.raises(SettingsInvalid, match="SALUS_SESSION_IDLE_S"):
        load_settings(session_idle_s=1801)


def test_values_are_taken_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALUS_LOG_LEVEL", "debug")
    monkeypatch.setenv("SALUS_ALLOW_UNREVIEWED", "True")
    settings = load_settings()
    assert settings.log_level == "DEBUG"
    assert settings.allow_unreviewed is True


def test_false_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALUS_ALLOW_UNREVIEWED", "False")
    assert load_settings().allow_unreviewed is False


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8081/bot", True),
        ("http://localhost/bot", True),
        ("http://[::1]:1/bot", True),
        ("https://api.telegram.org/bot", False),
        ("https://127.0.0.1.example.org/bot", False),
        (None, False),
    ],
)
def test_only_this_machine_counts_as_loopback(url: str | None, expected: bool) -> None:
    assert is_loopback(url) is expected


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "tokens",
    [
        "one-secret-of-16-letters",
        "admin:one-secret-of-16-letters",
        "query:short",
        "query:one secret of 16 letters",
        "query:sedici-lettere-è",
    ],
)
def test_a_token_without_scope_or_too_short_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch, tokens: str) -> None:
    monkeypatch.setenv("SALUS_API_TOKENS", tokens)
    with pytest.raises(SettingsInvalid) as caught:
        load_settings()
    assert "SALUS_API_TOKENS: each must be query:TOKEN or reindex:TOKEN" in str(caught.value)
    assert tokens not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NIGHTLY_AT", "25:00"),
        ("NIGHTLY_AT", "3:30"),
        ("NIGHTLY_ZONE", "Europe/Roma"),
        ("NIGHTLY_ZONE", "../etc"),
        ("SHRINK_LIMIT", "0"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"SALUS_{name}", value)
    with pytest.raises(SettingsInvalid, match=f"SALUS_{name}"):
        load_settings()


@pytest.mark.parametrize("name", ["HOME", "SOURCES"])
def test_the_home_of_somebody_who_is_not_here_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"SALUS_{name}", "~nobody-of-that-name/x")
    with pytest.raises(SettingsInvalid, match=f"SALUS_{name}: begins with ~"):
        load_settings()


def test_a_file_in_the_home_of_somebody_who_is_not_here_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALUS_CONFIG", "~nobody-of-that-name/x.toml")
    with pytest.raises(SettingsInvalid, match="which is not a file"):
        load_settings()
