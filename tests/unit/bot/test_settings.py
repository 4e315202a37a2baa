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
        "owner:one-secret-of-16-letters",
        "query:short",
        "query:one secret of 16 letters",
        "query:sedici-lettere-è",
    ],
)
def test_a_token_without_scope_or_too_short_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch, tokens: str) -> None:
    monkeypatch.setenv("SALUS_API_TOKENS", tokens)
    with pytest.raises(SettingsInvalid) as caught:
        load_settings()
    assert "SALUS_API_TOKENS: each must be SCOPE:TOKEN, the scope one of query, reindex, metrics, admin" in str(caught.value)
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


SERVED = {"generator": "openai:qwen3", "generator_url": "http://127.0.0.1:8000/v1/"}


def test_a_generator_on_a_server_needs_its_address() -> None:
    with pytest.raises(SettingsInvalid, match=r"^SALUS_GENERATOR_URL: must be the address"):
        load_settings(generator="openai:qwen3")


def test_a_generator_on_a_server_of_ones_own_is_no_other_party() -> None:
    settings = load_settings(**SERVED, generator_key="a-key", remote_generator_name="ACME")
    assert settings.generator_server is not None
    assert (settings.generator_server.url, settings.generator_server.key) == ("http://127.0.0.1:8000/v1", "a-key")
    assert not settings.generator_server.may_be_public
    assert settings.remote_generator_party is None
    assert "a-key" not in repr(settings)


def test_a_remote_generator_must_be_named_to_patients() -> None:
    with pytest.raises(SettingsInvalid, match=r"^SALUS_REMOTE_GENERATOR_NAME: must name"):
        load_settings(**SERVED, remote_generator=True, remote_generator_name=" ")


def test_a_remote_generator_is_a_party_only_while_it_is_used() -> None:
    remote = {"remote_generator": True, "remote_generator_name": "ACME S.p.A."}
    assert load_settings(**SERVED, **remote).remote_generator_party == "ACME S.p.A."
    assert load_settings(generator="none", generator_url=SERVED["generator_url"], **remote).remote_generator_party is None


@pytest.mark.parametrize("key", ["two words", "a\r\nHost: elsewhere", "chiave-è"])
def test_a_key_that_fits_no_header_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(SettingsInvalid, match=r"^SALUS_GENERATOR_KEY: must be ASCII without spaces\.$"):
        load_settings(**SERVED, generator_key=key)


def secrets_in(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> None:
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    monkeypatch.setenv("SALUS_SECRETS_DIR", str(folder))


def secret_settings() -> list[str]:
    return [name for name, field in Settings.model_fields.items() if "Secret" in str(field.annotation)]


@pytest.mark.parametrize("name", secret_settings())
@pytest.mark.parametrize("form", ["{0}", "SALUS_{1}", "salus_{0}"])
def test_every_secret_can_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, form: str) -> None:
    value = "query:one-secret-of-16-letters" if name == "api_tokens" else "one-secret-of-16-letters"
    secrets_in(tmp_path, monkeypatch, **{form.format(name, name.upper()): f"{value}\n"})
    read = getattr(load_settings(), name)
    assert (read[0] if name == "api_tokens" else read).get_secret_value() == value
    assert "one-secret" not in repr(load_settings())


def test_a_variable_wins_over_a_file_of_secrets_and_that_over_the_toml_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = tmp_path / "salus.toml"
    toml.write_text('hash_key = "toml"\ncms_secret = "toml"\ntelegram_token = "toml"\n', encoding="utf-8")
    folder = tmp_path / "secrets"
    folder.mkdir()
    secrets_in(folder, monkeypatch, hash_key="file", cms_secret="file")
    monkeypatch.setenv("SALUS_CONFIG", str(toml))
    monkeypatch.setenv("SALUS_HASH_KEY", "variable")
    settings = load_settings()
    found = [secret and secret.get_secret_value() for secret in (settings.hash_key, settings.cms_secret, settings.telegram_token)]
    assert found == ["variable", "file", "toml"]


def test_hidden_files_beside_secrets_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "..data").mkdir()
    secrets_in(tmp_path, monkeypatch, hash_key="file", **{".gitkeep": "x"})
    assert load_settings().hash_key is not None


def test_a_folder_of_secrets_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALUS_SECRETS_DIR", str(tmp_path / "missing"))
    with pytest.raises(SettingsInvalid, match=r"SALUS_SECRETS_DIR names .*missing, which is not a folder"):
        load_settings()


@pytest.mark.parametrize("content", [b"", b"  \n", b"\xff\xfe", b"x" * 70_000])
def test_a_file_of_secrets_without_a_readable_value_is_named_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    secrets_in(tmp_path, monkeypatch)
    (tmp_path / "telegram_token").write_bytes(content)
    with pytest.raises(SettingsInvalid, match="telegram_token is") as caught:
        load_settings()
    assert "xxx" not in str(caught.value)


def test_a_secret_that_is_a_folder_or_leads_nowhere_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets_in(tmp_path, monkeypatch)
    (tmp_path / "hash_key").symlink_to(tmp_path / "nowhere")
    with pytest.raises(SettingsInvalid, match="hash_key is not a file"):
        load_settings()


def test_a_file_of_secrets_that_is_named_wrongly_is_reported_without_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets_in(tmp_path, monkeypatch, telegram_tokne="123:secret")
    with pytest.raises(SettingsInvalid, match="SALUS_TELEGRAM_TOKNE: no setting has this name") as caught:
        load_settings()
    assert "123:secret" not in str(caught.value)


def test_a_wrong_value_in_a_file_of_secrets_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets_in(tmp_path, monkeypatch, api_tokens="query:short")
    with pytest.raises(SettingsInvalid, match="SALUS_API_TOKENS") as caught:
        load_settings()
    assert "short" not in str(caught.value)


@pytest.mark.parametrize(
    "contact", ["+39 06 1234567", "900 123 456", "ayuda@example.org", "https://example.org/contatti", " +39 06 1234567 "]
)
def test_a_human_contact_is_a_number_a_mail_address_or_a_page(monkeypatch: pytest.MonkeyPatch, contact: str) -> None:
    monkeypatch.setenv("SALUS_HUMAN_CONTACT", contact)
    assert load_settings().human_contact == contact.strip()


@pytest.mark.parametrize(
    "contact", ["chiamateci", "example.org", "@nome", "javascript:alert(1)", "+39 06 1234567\nVISITA http://x.y"]
)
def test_a_human_contact_that_reaches_nobody_is_refused(monkeypatch: pytest.MonkeyPatch, contact: str) -> None:
    monkeypatch.setenv("SALUS_HUMAN_CONTACT", contact)
    with pytest.raises(SettingsInvalid, match="SALUS_HUMAN_CONTACT: must be a telephone number"):
        load_settings()
