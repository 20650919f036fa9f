"""The environment of children: who wins over whom, and what is never handed on."""

import os
from pathlib import Path

import pytest

from launcher import environment, paths
from launcher.console import LauncherError
from launcher.environment import (
    application_environment,
    choice,
    dotenv,
    plain_environment,
    production_environment,
    web_environment,
    without_keys,
)
from tests.launcher.conftest import SETTINGS

FILES = ("DATABASE_URL_FILE", "SECRET_KEY_FILE")


@pytest.fixture(autouse=True)
def root(monkeypatch, tmp_path):
    """A checkout without .env, and a person who set nothing."""
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    for name in (*SETTINGS, *FILES):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def settings(root: Path, text: str) -> None:
    (root / ".env").write_text(text)


@pytest.mark.parametrize("name", environment.OWN_VARIABLES)
def test_python_settings_of_the_launcher_are_not_inherited(monkeypatch, name):
    monkeypatch.setenv(name, "/somewhere")
    assert name not in plain_environment()


def test_tools_of_the_checkout_come_first_on_path(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin")
    assert plain_environment()["PATH"] == f"{paths.BIN}:/usr/bin:{paths.HOST_TOOLS}"
    monkeypatch.delenv("PATH")
    assert plain_environment()["PATH"] == f"{paths.BIN}:{os.defpath}:{paths.HOST_TOOLS}"


def test_caches_are_in_the_checkout_unless_named(monkeypatch):
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    monkeypatch.setenv("npm_config_cache", "/var/cache/npm")
    made = plain_environment()
    assert made["UV_CACHE_DIR"] == str(paths.TOOLS / "cache/uv")
    assert made["npm_config_cache"] == "/var/cache/npm"


def test_python_is_never_downloaded(monkeypatch):
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "automatic")
    assert plain_environment()["UV_PYTHON_DOWNLOADS"] == "never"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("  A=1 \n\n  # B=2\n", {"A": "1"}),
        ("A='x y'\nB=\nA= 2\n", {"A": "2", "B": ""}),
    ],
)
def test_dotenv_strips_values_and_the_last_one_wins(root, text, values):
    settings(root, text)
    assert dotenv(root / ".env") == values


@pytest.mark.parametrize("line", ["NAME", "1A=2", "A-B=2", "A =2"])
def test_dotenv_refuses_what_is_no_assignment(root, line):
    settings(root, f"# first\n{line}\n")
    with pytest.raises(LauncherError, match=r"\.env, line 2: expected NAME=value"):
        dotenv(root / ".env")


def test_absent_dotenv_has_no_values(root):
    assert dotenv(root / ".env") == {}


def test_chosen_value_is_of_the_environment_before_dotenv(root, monkeypatch):
    assert choice("DATABASE_URL") is None
    settings(root, "DATABASE_URL=postgres://file\n")
    assert choice("DATABASE_URL") == "postgres://file"
    monkeypatch.setenv("DATABASE_URL", "postgres://shell")
    assert choice("DATABASE_URL") == "postgres://shell"


def test_file_of_a_value_counts_as_chosen_and_an_empty_value_does_not(root, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "")
    assert choice("DATABASE_URL") is None
    monkeypatch.setenv("DATABASE_URL_FILE", "/run/secrets/database")
    assert choice("DATABASE_URL") == "/run/secrets/database"


def test_application_gets_generated_secrets_and_the_defaults_of_the_stack(state):
    made = application_environment(state, {"DATABASE_URL": "postgres://embedded"})
    secrets = state.secrets()
    for name in ("SECRET_KEY", "CREDENTIAL_KEY", "TOKEN_PEPPER"):
        assert made[name] == secrets[name]
    assert made["DATABASE_URL"] == "postgres://embedded"
    assert (made["HTTPS_ONLY"], made["PUBLIC_READ"]) == ("0", "1")
    assert made["DJANGO_SETTINGS_MODULE"] == "backend.config.settings"


def test_passwords_of_the_services_are_not_in_the_application_environment(state):
    made = application_environment(state, {})
    assert "DATABASE_PASSWORD" not in made
    assert state.secrets()["BROKER_PASSWORD"] not in made.values()


def test_shell_wins_over_dotenv_and_dotenv_over_generated_values(root, state, monkeypatch):
    settings(root, "SECRET_KEY=of-the-file\nPUBLIC_READ=0\n")
    monkeypatch.setenv("PUBLIC_READ", "yes")
    made = application_environment(state, {"DATABASE_URL": "postgres://embedded"})
    assert (made["SECRET_KEY"], made["PUBLIC_READ"]) == ("of-the-file", "yes")
    assert made["HTTPS_ONLY"] == "0"


def test_generated_value_gives_precedence_to_a_file_of_that_value(state, monkeypatch):
    monkeypatch.setenv("SECRET_KEY_FILE", "/run/secrets/key")
    made = application_environment(state, {})
    assert "SECRET_KEY" not in made  # both at once are an error of the settings
    assert made["SECRET_KEY_FILE"] == "/run/secrets/key"
    assert made["TOKEN_PEPPER"] == state.secrets()["TOKEN_PEPPER"]


def test_web_has_its_own_keys_as_files_and_beat_has_none(tmp_path):
    given = dict.fromkeys((*environment.KEYS, "SECRET_KEY", "CREDENTIAL_KEY_FILE"), "x")
    assert without_keys(given) == {"SECRET_KEY": "x"}
    assert web_environment(given, tmp_path) == {
        "SECRET_KEY": "x",
        "CREDENTIAL_PUBLIC_KEY_FILE": f"{tmp_path}/credential_public_key",
        "WEB_KEY_FILE": f"{tmp_path}/web_key",
        "WEB_KEYS_PREVIOUS_FILE": f"{tmp_path}/web_keys_previous",
    }


def test_settings_module_is_not_what_the_person_set(state, monkeypatch):
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "other.settings")
    assert application_environment(state, {})["DJANGO_SETTINGS_MODULE"] == "backend.config.settings"
    assert production_environment()["DJANGO_SETTINGS_MODULE"] == "backend.config.settings"


def test_checks_reach_no_service_of_the_person(root, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://real")
    monkeypatch.setenv("SECRET_KEY", "real")
    made = production_environment()
    assert "127.0.0.1:1/" in made["DATABASE_URL"]
    assert "127.0.0.1:1/" in made["REDIS_URL"]
    assert "real" not in made.values()
    assert (made["DEBUG"], made["HTTPS_ONLY"]) == ("0", "1")
