"""docker-compose.yml on a real engine, as a project of a test's own."""

import json
import os
import secrets
import shlex
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any

from launcher.loopback import free_port
from tests.e2e.stack import eventually

ROOT = Path(__file__).resolve().parents[2]
BASE_IMAGES = ROOT / "tests/containers/base_images.sh"
UID = 10001
WITHIN_S = 600
SERVICES = {"postgres", "redis", "web", "worker", "beat", "reaper"}
PROXY = ["--profile", "tls"]
SSH_TARGET = ["--profile", "e2e"]
# The settings of the test run would win over those of the file.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name in {"PATH", "HOME"} or "DOCKER" in name
}
# Every character that once broke an address, a shell or the file itself.
PASSWORD = 'p/w#%41?@: "x$HOME\\y'


def unavailable() -> str:
    """Why nothing can be tried here; empty where it can."""
    if shutil.which("docker") is None:
        return "the docker client is not installed"
    if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        return "no Docker engine answers (DOCKER_HOST)"
    if subprocess.run(
        ["docker", "compose", "version"], capture_output=True, check=False
    ).returncode:
        return "docker compose is not installed"
    return ""


def base_images() -> None:
    """Pulled by the build where a registry is reached, else made of packages."""
    bases = ["debian:bookworm-slim", "python:3.11-slim-bookworm", "node:22-bookworm-slim"]
    for base in bases:
        here = subprocess.run(
            ["docker", "image", "inspect", base], capture_output=True, check=False
        )
        if here.returncode:
            pulled = subprocess.run(["docker", "pull", base], capture_output=True, check=False)
            if pulled.returncode:
                subprocess.run([str(BASE_IMAGES)], check=True)
                return


class Deployment:
    """The services of docker-compose.yml; `remove` takes them and their volumes away."""

    def __init__(self, directory: Path) -> None:
        self.project = f"rackrate-{secrets.token_hex(3)}"
        self.proxy_port = free_port()
        self._file = directory / "env"
        self._file.write_text(
            "\n".join(
                f"{name}='{value}'"
                for name, value in {
                    "SECRET_KEY": secrets.token_hex(32),
                    "TOKEN_PEPPER": secrets.token_hex(32),
                    "CREDENTIAL_KEY": b64encode(secrets.token_bytes(32)).decode(),
                    "BACKUP_KEY": b64encode(secrets.token_bytes(32)).decode(),
                    "POSTGRES_PASSWORD": PASSWORD,
                    "REDIS_PASSWORD": PASSWORD[::-1],
                    "ALLOWED_HOSTS": "localhost",
                    "PUBLIC_URL": "https://localhost",
                    "SSH_ALLOW_PRIVATE": "1",
                    "LEASE_S": "20",
                    "WEB_PORT": f"{free_port()}",
                    "PROXY_PORT": f"{self.proxy_port}",
                }.items()
            )
            + "\n"
        )

    def set(self, name: str, value: str) -> None:
        """A setting, or one more variable of docker-compose.yml; the later line wins."""
        with self._file.open("a") as file:
            file.write(f"{name}='{value}'\n")

    def value(self, name: str) -> str:
        """Of a setting, as docker compose reads it."""
        lines = [line.partition("=") for line in self._file.read_text().splitlines()]
        return [value.strip("'") for key, _, value in lines if key == name][-1]

    def run(self, *arguments: str, files: tuple[str, ...] = ()) -> str:
        """`docker compose …`; its stdout. AssertionError with what it said when it fails."""
        names = ["docker-compose.yml", *files, "tests/containers/compose.yml"]
        command = ["docker", "compose", "-p", self.project, "--env-file", str(self._file)]
        for name in names:
            command += ["-f", str(ROOT / name)]
        done = subprocess.run(
            [*command, *arguments], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True,
            check=False, timeout=WITHIN_S,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(
                f"{shlex.join(arguments)}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
            )
        return done.stdout

    def up(self, *arguments: str) -> None:
        self.run(*PROXY, "up", "--detach", "--wait", *arguments)

    def manage(self, *arguments: str) -> str:
        return self.run("exec", "-T", "web", "python", "manage.py", *arguments)

    def once(self, directory: Path, *arguments: str) -> str:
        """manage.py in a container of its own, with a directory of ours at /in."""
        volume = f"{directory}:/in"
        command = ["commands", "python", "manage.py", *arguments]
        return self.run("run", "--rm", "-T", "-v", volume, *command)

    def states(self) -> dict[str, str]:
        """Health of each running container; `running` for one without a check."""
        lines = self.run(*PROXY, *SSH_TARGET, "ps", "--format", "json").splitlines()
        found: list[dict[str, Any]] = [json.loads(line) for line in lines]
        return {one["Service"]: one["Health"] or one["State"] for one in found}

    def become(self, states: dict[str, str], *, within_s: float = 180) -> None:
        eventually(
            lambda: states.items() <= self.states().items(),
            f"{states}, but {self.states()}: {self.run('logs', '--tail', '20')}",
            within_s=within_s,
        )

    def container(self, service: str) -> dict[str, Any]:
        """What the engine says of it."""
        number = self.run("ps", "--quiet", service).split()[0]
        (said,) = json.loads(
            subprocess.run(
                ["docker", "inspect", number], capture_output=True, text=True, check=True
            ).stdout
        )
        return dict(said)

    def authority(self, path: Path) -> Path:
        """The certificate of the authority that the proxy made for localhost, as a file."""
        inside = "/data/caddy/pki/authorities/local/root.crt"
        path.write_text(self.run(*PROXY, "exec", "-T", "proxy", "cat", inside))
        return path

    def remove(self) -> None:
        self.run(*PROXY, *SSH_TARGET, "down", "--volumes", "--timeout", "5", "--remove-orphans")
