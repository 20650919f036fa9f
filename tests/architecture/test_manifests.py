"""deploy/: the manifests of Kubernetes by the schemas of its API, and the units by systemd's own judge."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from launcher.environment import KEYS
from launcher.stack import QUEUES
from tests.architecture.test_deployment_files import (
    OF_WEB,
    SECRETS,
    given_keys,
    settings_variables,
)

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy/kubernetes"
UNITS = ROOT / "deploy/systemd"
# The oldest that is looked at, and the newest of the schemas.
VERSIONS = ("1.29", "1.37")


def manifests() -> list[dict[str, Any]]:
    resources = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    assert set(resources) == {
        path.name for path in KUBERNETES.glob("*.yaml") if path.name != "kustomization.yaml"
    }
    return [
        document
        for name in resources
        for document in yaml.safe_load_all((KUBERNETES / name).read_text())
    ]


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in manifests() if one["kind"] == kind}


def pods() -> dict[str, dict[str, Any]]:
    """Specifications of pods by the name of what makes them."""
    made = {**of_kind("Deployment"), **of_kind("Job")}
    found = {name: one["spec"]["template"]["spec"] for name, one in made.items()}
    for name, one in of_kind("CronJob").items():
        found[name] = one["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return found


def containers() -> list[dict[str, Any]]:
    return [
        one
        for pod in pods().values()
        for one in [*pod.get("initContainers", []), *pod["containers"]]
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_follow_the_schemas_when_read_strictly(version):
    documents = manifests()
    for document in documents:
        kubernetes_validate.validate(document, version, strict=True)  # raises what is wrong
    assert {"Deployment", "Service"} <= {document["kind"] for document in documents}


def test_manifest_with_a_slip_is_refused_by_the_schemas():
    """The judge itself: a field that does not exist passes no strict schema."""
    document = of_kind("Deployment")["web"]
    document["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, VERSIONS[-1], strict=True)


def test_pods_run_without_root_and_with_secrets_as_files():
    for name, pod in pods().items():
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["automountServiceAccountToken"] is False, name
    for one in containers():
        context = one["securityContext"]
        assert context["readOnlyRootFilesystem"], one["name"]
        assert context["allowPrivilegeEscalation"] is False, one["name"]
        assert context["capabilities"]["drop"] == ["ALL"], one["name"]
        assert "memory" in one["resources"]["limits"], one["name"]
        assert not {entry["name"] for entry in one.get("env", [])} & SECRETS
    settings = of_kind("ConfigMap")["rackrate-settings"]["data"]
    assert {f"{secret}_FILE" for secret in SECRETS} <= set(settings)
    assert {name.removesuffix("_FILE") for name in settings} <= settings_variables()
    assert not set(settings) & SECRETS


def test_each_pod_has_the_keys_that_it_needs():
    opens = {"CREDENTIAL_KEY"}
    keys = {
        name: {
            one["name"]: given_keys(entry["name"] for entry in one.get("env", []))
            for one in [*pod.get("initContainers", []), *pod["containers"]]
        }
        for name, pod in pods().items()
    }
    assert keys == {
        "migrate": {"migrate": opens | OF_WEB - {"CREDENTIAL_PUBLIC_KEY"}},
        "web": {"migrated": set(), "web": OF_WEB},
        "worker-runs": {"migrated": set(), "worker": opens},
        "worker-lists": {"migrated": set(), "worker": opens},
        "beat": {"migrated": set(), "beat": set()},
        "reaper": {"reaper": opens},
    }
    assert given_keys(of_kind("ConfigMap")["rackrate-settings"]["data"]) == set()
    for name, pod in pods().items():
        volumes = {one["name"]: one.get("secret", {}) for one in pod["volumes"]}
        files = {entry["key"] for entry in volumes["secrets"].get("items", [])}
        # A file that is not named in a variable could still be read.
        is_without = {secret.lower() for secret in SECRETS} == files
        assert is_without == (name in {"web", "beat"}), name
        assert ("web-keys" in volumes) == (name in {"web", "migrate"}), name


def test_workers_listen_to_every_queue_together():
    queues = [
        queue
        for one in containers()
        if one["name"] == "worker"
        for queue in one["command"][one["command"].index("-Q") + 1].split(",")
    ]
    assert sorted(queues) == sorted(QUEUES.split(","))


def test_web_and_engine_are_asked_for_what_they_do():
    (web,) = pods()["web"]["containers"]
    assert web["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert web["readinessProbe"]["httpGet"]["path"].startswith("/readyz")
    beat = of_kind("Deployment")["beat"]["spec"]
    assert (beat["replicas"], beat["strategy"]["type"]) == (1, "Recreate")
    assert set(of_kind("PodDisruptionBudget")) == {"web", "worker-runs"}
    assert len(of_kind("NetworkPolicy")) >= 3


def ports_out(policies: list[dict[str, Any]], component: str) -> set[int]:
    """Ports that the policies let a component connect to."""
    found = set()
    for policy in policies:
        selector = policy["spec"]["podSelector"]
        labels = selector.get("matchLabels", {}).get("app.kubernetes.io/component")
        listed = [name for one in selector.get("matchExpressions", []) for name in one["values"]]
        if "Egress" in policy["spec"]["policyTypes"] and component in {labels, *listed}:
            found |= {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}
    return found


def test_web_reaches_single_sign_on_and_bucket_by_the_component_alone():
    folder = KUBERNETES / "web-https"
    component = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert component["kind"] == "Component"
    more = [
        policy
        for name in component["resources"]
        for policy in yaml.safe_load_all((folder / name).read_text())
    ]
    for version in VERSIONS:
        for policy in more:
            kubernetes_validate.validate(policy, version, strict=True)
    policies = list(of_kind("NetworkPolicy").values())
    assert ports_out(policies, "web") == {53, 5432, 6379}
    assert ports_out([*policies, *more], "web") == {53, 443, 5432, 6379}
    assert ports_out([*policies, *more], "beat") == {53, 5432, 6379}


def test_every_pod_is_selected_by_its_own_labels():
    for name, one in of_kind("Deployment").items():
        wanted = one["spec"]["selector"]["matchLabels"]
        assert wanted == one["spec"]["template"]["metadata"]["labels"], name
    labels = [
        tuple(sorted(one["metadata"]["labels"].items())) for one in of_kind("Deployment").values()
    ]
    assert len(set(labels)) == len(labels)


# --- systemd ----------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_units_are_sound_when_systemd_reads_them(tmp_path):
    for path in UNITS.iterdir():
        text = path.read_text().replace("/srv/rackrate/.venv/", f"{ROOT}/.venv/")
        (tmp_path / path.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    ours = [line for line in done.stderr.splitlines() if "rackrate" in line]
    assert (done.returncode, ours) == (0, [])


def test_each_unit_has_the_keys_that_it_needs():
    """All read one file of settings, which systemd opens; what is not theirs is taken out again."""
    left = {}
    for path in UNITS.glob("*.service"):
        text = path.read_text()
        unset = set(" ".join(re.findall(r"^UnsetEnvironment=(.+)$", text, re.MULTILINE)).split())
        given = set(re.findall(r"\b(\w+)=%t/rackrate-keys/", text))
        names = {*KEYS, *(f"{name}_FILE" for name in KEYS)} - unset
        left[path.stem] = given_keys(names)
        is_alone = {"PrivateUsers=true", "InaccessiblePaths=/etc/rackrate/settings.env"} <= set(
            text.splitlines()
        )
        assert is_alone == (path.stem in {"rackrate-web", "rackrate-beat"}), path.name
        if path.stem == "rackrate-web":
            assert given == {f"{name}_FILE" for name in OF_WEB}
    opens = {"CREDENTIAL_KEY", "CREDENTIAL_KEYS_PREVIOUS", "CREDENTIAL_PUBLIC_KEY"}
    assert left == {
        "rackrate-web": OF_WEB,
        "rackrate-beat": set(),
        "rackrate-worker": opens,
        "rackrate-reap": opens,
        "rackrate-migrate": set(KEYS),
        "rackrate-backup": set(KEYS),
    }
    migrate = (UNITS / "rackrate-migrate.service").read_text()
    assert "RuntimeDirectory=rackrate-keys\n" in migrate
    assert "python -m backend.config.web_keys %t/rackrate-keys\n" in migrate


def test_units_start_what_the_compose_file_starts():
    said = {path.name: path.read_text().replace("\\\n    ", "") for path in UNITS.glob("*.service")}
    assert f"worker -Q {QUEUES} " in said["rackrate-worker.service"]
    assert "manage.py migrate_when_ready" in said["rackrate-migrate.service"]
    assert "manage.py reap\n" in said["rackrate-reap.service"]
    target = (UNITS / "rackrate.target").read_text()
    for path in UNITS.iterdir():
        is_started = re.search(rf"\b{re.escape(path.name)}\b", target)
        has_timer = path.with_suffix(".timer").exists() and path.suffix == ".service"
        assert (
            is_started or has_timer or path.name in {"rackrate.target", "rackrate-migrate.service"}
        )
    for name, text in said.items():
        assert {"User=rackrate", "NoNewPrivileges=true", "ProtectSystem=strict"} <= set(
            text.splitlines()
        ), name
