"""What an account at a cloud must say and what it may: ways in, settings and secret fields.

A refusal names the field and never quotes a secret.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from backend.domain.errors import InvalidValue
from backend.domain.webhooks import endpoint

WORKLOAD_IDENTITY = "workload_identity"
ASSUME_ROLE = "assume_role"
TOKEN = "token"  # noqa: S105  (the name of a way in)
STATIC_KEY = "static_key"
GOOGLE_TOKEN_URI = "https://oauth2.googleapis.com/token"  # noqa: S105  (an address)
MAX_REGIONS = 50
MAX_SECRET_CHARACTERS = 20_000
MIN_SCRUBBED = 8


@dataclass(frozen=True)
class Way:
    """A way in: settings it needs beside the provider's, and its secret fields."""

    settings: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    optional: tuple[tuple[str, ...], ...] = ()
    """Groups of secret fields of which all are given, or none."""

    @property
    def secret_fields(self) -> tuple[str, ...]:
        """Every secret field that the way knows."""
        return (*self.secret, *(name for group in self.optional for name in group))


@dataclass(frozen=True)
class Cloud:
    """What accounts at one provider are made of."""

    ways: Mapping[str, Way]
    """By accounts.AccessKind, the preferred ones first."""
    region: re.Pattern[str]
    example: str
    """A region's code, to show the form."""
    settings: tuple[str, ...] = ()
    """Settings beside those of every account."""
    needed: tuple[str, ...] = ()
    """Which of the settings must be given."""
    is_renting: bool = True
    """Whether machines can be rented there; else only its prices are read."""
    is_internal: bool = False
    """For tests: only where addresses of one's own are allowed."""


COMMON = ("regions", "zones", "image", "username", "ssh_port", "endpoint_url")
_KEY_PAIR = ("access_key_id", "secret_access_key")
_PRICES_ONLY = {TOKEN: Way(secret=("token",))}
CLOUDS: Mapping[str, Cloud] = MappingProxyType(
    {
        "aws": Cloud(
            ways={
                WORKLOAD_IDENTITY: Way(),
                ASSUME_ROLE: Way(settings=("role_arn", "external_id"), optional=(_KEY_PAIR,)),
                STATIC_KEY: Way(secret=_KEY_PAIR),
            },
            region=re.compile(r"[a-z]{2}(-[a-z]{2,12}){1,2}-[0-9]{1,2}"),
            example="eu-west-1",
            settings=("subnet_id",),
        ),
        "gcp": Cloud(
            ways={
                WORKLOAD_IDENTITY: Way(optional=(("api_key",),)),
                STATIC_KEY: Way(secret=("service_account_json",), optional=(("api_key",),)),
            },
            region=re.compile(r"[a-z]{2,15}-[a-z]{3,15}[0-9]{1,2}"),
            example="europe-west1",
            settings=("project", "network"),
            needed=("project",),
        ),
        "hetzner": Cloud(
            ways={TOKEN: Way(secret=("token",))},
            region=re.compile(r"[a-z]{3}[0-9]{0,2}"),
            example="fsn1",
        ),
        "digitalocean": Cloud(
            ways=_PRICES_ONLY, region=re.compile(r"[a-z]{3}[0-9]"), example="fra1", is_renting=False
        ),
        "linode": Cloud(
            ways=_PRICES_ONLY,
            region=re.compile(r"[a-z]{2}(-[a-z]{2,12}){1,2}(-[0-9]{1,2})?"),
            example="eu-central",
            is_renting=False,
        ),
        "fake": Cloud(
            ways={WORKLOAD_IDENTITY: Way(), TOKEN: Way(secret=("token",))},
            region=re.compile(r"[a-z][a-z0-9-]{0,40}"),
            example="here-1",
            settings=("folder",),
            needed=("folder",),
            is_internal=True,
        ),
    }
)


# --- one value ------------------------------------------------------------------------------------


def _matching(pattern: str, meaning: str) -> Callable[[object, str], object]:
    """A reader of text that the pattern matches whole."""
    compiled = re.compile(pattern, re.ASCII)

    def read(value: object, pointer: str) -> object:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise InvalidValue(pointer, meaning)
        return value

    return read


def _port(value: object, pointer: str) -> object:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 65_535:
        raise InvalidValue(pointer, "a whole number from 1 to 65535 is needed")
    return value


def _endpoint_url(value: object, pointer: str) -> object:
    if not isinstance(value, str):
        raise InvalidValue(pointer, "an address is needed")
    endpoint(value, is_private_allowed=True, field=pointer)
    return value


_NAMES = "letters, digits and . _ - / : { } are allowed, a letter or / first"
SETTINGS: Mapping[str, Callable[[object, str], object]] = MappingProxyType(
    {
        "image": _matching(r"[A-Za-z/][A-Za-z0-9._:/{}-]{0,249}", _NAMES),
        "username": _matching(
            r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", "letters, digits, _ . - are allowed, a letter first"
        ),
        "ssh_port": _port,
        "endpoint_url": _endpoint_url,
        "role_arn": _matching(
            r"arn:aws[a-z-]{0,20}:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512}",
            "a role looks like arn:aws:iam::123456789012:role/name",
        ),
        "external_id": _matching(
            r"[A-Za-z0-9+=,.@:/_-]{2,1224}", "2 or more letters, digits and + = , . @ : / _ -"
        ),
        "subnet_id": _matching(r"subnet-[0-9a-f]{8,17}", "a subnet looks like subnet-0a1b2c3d"),
        "project": _matching(
            r"[a-z][a-z0-9-]{4,28}[a-z0-9]", "6 to 30 lower-case letters, digits and hyphens"
        ),
        "network": _matching(
            r"[a-z][a-z0-9/_-]{0,199}", "a name such as default, or projects/…/networks/…"
        ),
        "folder": _matching(r"/[A-Za-z0-9._/-]{1,300}", "an absolute path is needed"),
    }
)
"""Checks of the settings with one value; regions and zones belong together."""


# --- settings -------------------------------------------------------------------------------------


def checked_settings(
    provider: str, access: str, settings: Mapping[str, object], *, are_endpoints_allowed: bool
) -> dict[str, Any]:
    """The settings as they are stored, regions and zones without repetition.

    Raises InvalidValue with a JSON pointer: /provider, /access or below /settings.
    """
    cloud, way = _known(provider, access, are_endpoints_allowed)
    allowed = known_settings(provider, access)
    for name in settings:
        if name not in allowed:
            raise InvalidValue(_pointer("/settings", name), f"unknown; known are {_list(allowed)}")
    given = {name: value for name, value in settings.items() if value not in (None, "", [], {})}
    if "endpoint_url" in given and not are_endpoints_allowed:
        raise InvalidValue(
            "/settings/endpoint_url", "addresses of one's own are not allowed on this server"
        )
    for name in (*cloud.needed, *way.settings):
        if name not in given:
            raise InvalidValue(f"/settings/{name}", f"needed by {provider} with {access}")
    found: dict[str, Any] = {
        name: SETTINGS[name](given[name], f"/settings/{name}") for name in SETTINGS & given.keys()
    }
    if cloud.is_renting:
        found["regions"] = _regions(cloud, given.get("regions", []))
        zones = _zones(found["regions"], given.get("zones", {}))
        found |= {"zones": zones} if zones else {}
    return found


def known_settings(provider: str, access: str) -> tuple[str, ...]:
    """Names of the settings that an account may have."""
    cloud = CLOUDS[provider]
    if not cloud.is_renting:
        return ("endpoint_url",)
    return (*COMMON, *cloud.settings, *cloud.ways[access].settings)


def _known(provider: str, access: str, are_endpoints_allowed: bool) -> tuple[Cloud, Way]:
    clouds = [
        name for name, cloud in CLOUDS.items() if are_endpoints_allowed or not cloud.is_internal
    ]
    if provider not in clouds:
        raise InvalidValue("/provider", f"{provider!r} is not one of {_list(clouds)}")
    cloud = CLOUDS[provider]
    if access not in cloud.ways:
        raise InvalidValue("/access", f"{access!r} is not one of {_list(list(cloud.ways))}")
    return cloud, cloud.ways[access]


def _regions(cloud: Cloud, value: object) -> list[str]:
    if not isinstance(value, list) or len(value) > MAX_REGIONS:
        raise InvalidValue(
            "/settings/regions", f"a list of at most {MAX_REGIONS} regions is needed"
        )
    if not value:
        raise InvalidValue("/settings/regions", "at least one region is needed")
    for place, region in enumerate(value):
        if not isinstance(region, str) or not cloud.region.fullmatch(region):
            raise InvalidValue(
                f"/settings/regions/{place}", f"not a region's code such as {cloud.example}"
            )
    return list(dict.fromkeys(value))


_ZONE = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


def _zones(regions: Sequence[str], value: object) -> dict[str, list[str]]:
    if not isinstance(value, Mapping):
        raise InvalidValue("/settings/zones", "an object of lists by region is needed")
    found: dict[str, list[str]] = {}
    for region, zones in value.items():
        pointer = _pointer("/settings/zones", str(region))
        if region not in regions:
            raise InvalidValue(pointer, "not one of the account's regions")
        if not isinstance(zones, list) or not zones:
            raise InvalidValue(pointer, "a list of zones is needed")
        for place, zone in enumerate(zones):
            if not isinstance(zone, str) or not _ZONE.fullmatch(zone):
                raise InvalidValue(f"{pointer}/{place}", "not a zone's code")
            if not zone.startswith(region):
                raise InvalidValue(f"{pointer}/{place}", f"not a zone of {region}")
        found[region] = list(dict.fromkeys(zones))
    return found


def _pointer(parent: str, name: str) -> str:
    return f"{parent}/{name[:60].replace('~', '~0').replace('/', '~1')}"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)


# --- secrets --------------------------------------------------------------------------------------


def checked_secret(
    provider: str, access: str, secret: Mapping[str, object], *, are_endpoints_allowed: bool
) -> dict[str, str]:
    """The secret fields of the way in; empty where it has none.

    Raises InvalidValue with a JSON pointer: /provider, /access or below /secret.
    """
    _, way = _known(provider, access, are_endpoints_allowed)
    for name in secret:
        if name not in way.secret_fields:
            known = _list(way.secret_fields) or "none"
            raise InvalidValue(_pointer("/secret", name), f"unknown; known are {known}")
    given = {name: value for name, value in secret.items() if value not in (None, "")}
    for group in way.optional:
        if given.keys() & set(group):
            _demand(given, group)
    _demand(given, way.secret)
    return {name: _secret_text(name, value, are_endpoints_allowed) for name, value in given.items()}


def _demand(given: Mapping[str, object], names: Sequence[str]) -> None:
    for name in names:
        if name not in given:
            raise InvalidValue(f"/secret/{name}", "needed")


_PRINTABLE = re.compile(r"[!-~]{8,4096}")


def _secret_text(name: str, value: object, are_endpoints_allowed: bool) -> str:
    pointer = f"/secret/{name}"
    if not isinstance(value, str) or len(value) > MAX_SECRET_CHARACTERS:
        raise InvalidValue(pointer, f"a text of up to {MAX_SECRET_CHARACTERS} characters is needed")
    text = value.strip()
    if name == "service_account_json":
        _service_account(text, pointer, are_endpoints_allowed)
    elif not _PRINTABLE.fullmatch(text):
        raise InvalidValue(pointer, "8 or more printable characters without blanks are needed")
    return text


def _service_account(text: str, pointer: str, are_endpoints_allowed: bool) -> None:
    """A key file of a service account and of nothing else: other kinds of credential file name
    programs to start and addresses to ask."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidValue(pointer, "not JSON") from None
    if not isinstance(document, dict) or document.get("type") != "service_account":
        raise InvalidValue(pointer, "not the key file of a service account")
    for name in ("project_id", "client_email", "private_key"):
        if not isinstance(document.get(name), str) or not document[name]:
            raise InvalidValue(pointer, f"{name} is missing in the key file")
    if (
        document.get("token_uri", GOOGLE_TOKEN_URI) != GOOGLE_TOKEN_URI
        and not are_endpoints_allowed
    ):
        raise InvalidValue(pointer, f"token_uri is not {GOOGLE_TOKEN_URI}")
    if document.get("universe_domain", "googleapis.com") != "googleapis.com":
        raise InvalidValue(pointer, "universe_domain is not googleapis.com")


def needs_secret(provider: str, access: str) -> bool:
    """Whether nothing can be asked of the provider without a stored secret."""
    return bool(CLOUDS[provider].ways[access].secret)


def is_static_key(provider: str, access: str, *, has_secret: bool) -> bool:
    """Whether a key is kept that lives until somebody replaces it, where the provider also knows a
    way in without one."""
    ways = CLOUDS[provider].ways if provider in CLOUDS else {}
    return access == STATIC_KEY or (has_secret and any(not way.secret for way in ways.values()))


def scrubbed(text: str, secret: Mapping[str, str]) -> str:
    """The text without the values of a secret, those inside of a JSON document included."""
    for value in sorted(_values(secret), key=len, reverse=True):
        text = text.replace(value, "(secret)")
    return text


def _values(secret: Mapping[str, str]) -> set[str]:
    found = set(secret.values())
    for value in secret.values():
        try:
            document = json.loads(value)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            found |= {
                str(document[name])
                for name in ("private_key", "private_key_id")
                if name in document
            }
    return {value for value in found if len(value) >= MIN_SCRUBBED}
