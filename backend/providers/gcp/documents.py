"""Requests to Compute Engine and the meaning of its answers and errors; nothing here calls it."""

import datetime as dt
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from backend.foundation.errors import DriverError, Reason
from backend.providers.gcp import volume
from backend.providers.gcp.os_login import uses_os_login
from backend.providers.machines import (
    INSTALLATION,
    Access,
    LaunchSpec,
    ProviderResource,
    ProviderResourceState,
    ResourceKind,
    plain_words,
    time_of_label,
    unsupported_error,
)

if TYPE_CHECKING:
    from google.api_core.exceptions import GoogleAPICallError
    from google.cloud import compute_v1

USERNAME = "rackrate"
IMAGE = "projects/debian-cloud/global/images/family/"
# The network of whole servers (IDPF) has its driver in Linux since 6.7: with Debian 12 they boot without one.
FAMILIES = {"x86_64": "debian-13", "arm64": "debian-13-arm64"}
# As image families call them: what `{arch}` in the account's image stands for.
ARCHES = {"x86_64": "amd64", "arm64": "arm64"}
WORKSPACE, TOKEN, EXPIRES = "rackrate-workspace", "rackrate-token", "expires"
# Labels take lower-case letters, digits, hyphens and underscores: no colon, no plus.
EXPIRES_FORMAT = "%Y%m%dt%H%M%Sz"
NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
# Of machines. Any other state is on the way to the end, or stopped.
STATES: Mapping[str, ProviderResourceState] = MappingProxyType(
    {
        "PROVISIONING": ProviderResourceState.PENDING,
        "STAGING": ProviderResourceState.PENDING,
        "REPAIRING": ProviderResourceState.PENDING,
        "RUNNING": ProviderResourceState.RUNNING,
    }
)
# Parts of the words by which the API names an error: answers spell them otherwise than operations.
NO_CAPACITY = ("ZONE_RESOURCE_POOL_EXHAUSTED", "RESOURCE_POOL_EXHAUSTED", "STOCKOUT")
TOO_MANY_CALLS = (
    "rateLimitExceeded",
    "userRateLimitExceeded",
    "RATE_LIMIT_EXCEEDED",
    "RATE_EXCEEDED",
)
NO_QUOTA = ("quotaExceeded", "QUOTA_EXCEEDED", "limitExceeded", "LIMIT_EXCEEDED")
NOT_NOW = ("resourceNotReady", "resourceInUse", "RESOURCE_NOT_READY", "RESOURCE_IN_USE")


# Reaction to maintenance of the physical machine.
TERMINATE, MIGRATE = "TERMINATE", "MIGRATE"
# Types that Google refuses with TERMINATE: E2, and Z3 with up to 18,000 GiB of local disks
# (docs.cloud.google.com/compute/docs/instances/setting-vm-host-options, read 2026-11-28;
# github.com/GoogleCloudPlatform/cloud-image-tests/issues/346). Spot machines and whole servers can only end.
MIGRATED = re.compile(r"e2-|z3-(?!highmem-(?:88-highlssd|176-standardlssd)$)(?!.*-metal$)")
POLICY_REFUSED = re.compile(r"on_?host_?maintenance", re.IGNORECASE)


# --- what we send ---------------------------------------------------------------------------------


def maintenance_policies(spec: LaunchSpec) -> tuple[str, str]:
    """The one to ask for, and the one to ask for where Google refuses the first.

    A machine that moves while it is measured is measured wrongly, so it ends instead wherever it may.
    """
    if MIGRATED.match(spec.machine_type) and not spec.is_spot:
        return MIGRATE, TERMINATE
    return TERMINATE, MIGRATE


def instance(
    spec: LaunchSpec, token: str, zone: str, access: Access, maintenance: str
) -> dict[str, Any]:
    """The machine to insert; DriverError(UNSUPPORTED) for what the API would not take."""
    name = f"rackrate-{token}"
    if not NAME.fullmatch(name) or spec.arch not in FAMILIES:
        raise unsupported_error(f"{token!r} on {spec.arch!r}")
    labels = _labels(spec, token, access.settings.get("tags", {}))
    platform = access.settings.get("min_cpu_platform")
    return {
        "name": name,
        "machine_type": f"zones/{zone}/machineTypes/{spec.machine_type}",
        "labels": labels,
        # By this a firewall rule of its own names it (backend.providers.gcp.firewall).
        "tags": {"items": [name]},
        "metadata": {"items": _metadata(access, spec.public_key)},
        "scheduling": {
            "provisioning_model": "SPOT" if spec.is_spot else "STANDARD",
            # Google itself deletes the machine then, counted from its start, whatever became of us.
            "max_run_duration": {"seconds": spec.lifetime_s},
            "instance_termination_action": "DELETE",
            # Started again it would get its whole lifetime anew.
            "automatic_restart": False,
            "on_host_maintenance": maintenance,
        },
        # Nothing on the machine can act in the project.
        "service_accounts": [],
        "disks": [_boot_disk(spec, zone, access.in_region("image", spec.region), labels)],
        "network_interfaces": [_interface(access, spec.region)],
        **({"min_cpu_platform": platform} if platform else {}),
    }


def _interface(access: Access, region: str) -> dict[str, Any]:
    """Without an access configuration a machine has no public address."""
    network = access.in_region("network", region) or "default"
    if "/" not in network:
        network = f"global/networks/{network}"
    asked: dict[str, Any] = {"subnetwork" if "subnetworks/" in network else "network": network}
    if not access.is_private:
        asked["access_configs"] = [{"name": "External NAT", "type_": "ONE_TO_ONE_NAT"}]
    return asked


def _labels(spec: LaunchSpec, token: str, further: Mapping[str, str]) -> dict[str, str]:
    expires = spec.expires_at.astimezone(dt.UTC).strftime(EXPIRES_FORMAT)
    labels = {**further, **spec.labels, WORKSPACE: spec.tag, TOKEN: token, EXPIRES: expires}
    for key in labels:
        if not LABEL_KEY.fullmatch(key):
            raise unsupported_error(f"{key!r} is no name of a label")
    return {key: label(value) for key, value in labels.items()}


def label(value: str) -> str:
    """The value as it is; DriverError(UNSUPPORTED) where a label cannot have it."""
    if not LABEL_VALUE.fullmatch(value):
        raise unsupported_error(f"{value!r} is no value of a label")
    return value


def _metadata(access: Access, public_key: str) -> list[dict[str, str]]:
    username = access.settings.get("username") or USERNAME
    by_keys = {
        "ssh-keys": f"{username}:{' '.join(public_key.split()[:2])}",
        "enable-oslogin": "FALSE",  # with it the keys above would count for nothing
    }
    items = {
        **({"enable-oslogin": "TRUE"} if uses_os_login(access) else by_keys),
        # Keys of the project's people must not open a machine that is being measured.
        "block-project-ssh-keys": "TRUE",
        # Google's images write the host keys of the machine there.
        "enable-guest-attributes": "TRUE",
        "serial-port-enable": "FALSE",  # nobody logs in there; what it prints is read all the same
    }
    return [{"key": key, "value": value} for key, value in items.items()]


def _boot_disk(
    spec: LaunchSpec, zone: str, image: str, labels: Mapping[str, str]
) -> dict[str, Any]:
    rented = volume(spec.machine_type)
    return {
        "boot": True,
        "auto_delete": True,
        "initialize_params": {
            "source_image": (image or IMAGE + FAMILIES[spec.arch]).replace(
                "{arch}", ARCHES[spec.arch]
            ),
            "disk_size_gb": rented.size_gib,
            "disk_type": f"zones/{zone}/diskTypes/{rented.type}",
            "labels": labels,
        },
    }


# --- what we are told -----------------------------------------------------------------------------


def machine(answer: "compute_v1.Instance", access: Access) -> ProviderResource:
    """A machine as it is now."""
    zone, settings = answer.zone.rpartition("/")[2], access.settings
    interfaces = answer.network_interfaces
    public = [nat.nat_i_p for interface in interfaces for nat in interface.access_configs]
    private = [interface.network_i_p for interface in interfaces]
    addresses = private if access.is_private else public
    return ProviderResource(
        id=f"{zone}/{answer.name}",
        state=STATES.get(answer.status, ProviderResourceState.ENDING),
        token=answer.labels.get(TOKEN, ""),
        installation=answer.labels.get(INSTALLATION, ""),
        region=zone.rpartition("-")[0],
        zone=zone,
        address=next(filter(None, addresses), ""),
        private_address=next(filter(None, private), ""),
        port=access.ssh_port,
        username=settings.get("username") or USERNAME,
        launched_at=moment(answer.creation_timestamp),
        expires_at=time_of_label(answer.labels.get(EXPIRES, ""), EXPIRES_FORMAT),
        detail=answer.status_message,
    )


def disk(answer: "compute_v1.Disk") -> ProviderResource:
    """A disk as it is now."""
    zone = answer.zone.rpartition("/")[2]
    return ProviderResource(
        id=f"{zone}/disks/{answer.name}",
        state=ProviderResourceState.ENDING
        if answer.status == "DELETING"
        else ProviderResourceState.RUNNING,
        kind=ResourceKind.DISK,
        token=answer.labels.get(TOKEN, ""),
        installation=answer.labels.get(INSTALLATION, ""),
        region=zone.rpartition("-")[0],
        zone=zone,
        launched_at=moment(answer.creation_timestamp),
        expires_at=time_of_label(answer.labels.get(EXPIRES, ""), EXPIRES_FORMAT),
    )


def moment(text: str) -> dt.datetime | None:
    """A time of the API, in UTC; None for an empty one."""
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC) if text else None


def operation_text(operation: "compute_v1.Operation") -> str:
    """The event, in the provider's words."""
    errors = "; ".join(f"{error.code}: {error.message}" for error in operation.error.errors)
    return ": ".join(filter(None, (operation.operation_type, errors or operation.status_message)))


# --- what went wrong ------------------------------------------------------------------------------


def demand_success(operation: "compute_v1.Operation") -> None:
    """Raise what a failed operation means; it succeeded or goes on otherwise."""
    if operation.error.errors or operation.http_error_status_code >= 400:
        codes = " ".join(error.code for error in operation.error.errors)
        status = operation.http_error_status_code
        raise _error_of_codes(
            codes, status, operation_text(operation) or operation.http_error_message
        )


def words(error: "GoogleAPICallError") -> str:
    """The reasons that an answer names; newer ones have no list of errors, but one reason."""
    return " ".join(str(entry.get("reason", "")) for entry in error.errors) or error.reason or ""


def failures() -> tuple[type[Exception], ...]:
    """Exceptions that the library lets through."""
    from google.api_core.exceptions import GoogleAPIError
    from google.auth.exceptions import GoogleAuthError
    from requests import RequestException

    return GoogleAPIError, GoogleAuthError, RequestException


def call_error(error: Exception) -> DriverError:
    """Meaning of a failed call: of the library, of its login or of the network."""
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError, TransportError

    if isinstance(error, GoogleAPICallError):
        messages = [str(entry["message"]) for entry in error.errors if entry.get("message")]
        detail = plain_words("; ".join(messages) or error.message)
        return _error_of_codes(words(error), error.code or 0, detail)
    if isinstance(error, GoogleAuthError) and not isinstance(error, TransportError):
        # Its text may quote what it was given.
        return DriverError(Reason.AUTH, "Google does not accept our credentials", retryable=False)
    return DriverError(Reason.UNREACHABLE, f"no answer: {type(error).__name__}", retryable=True)


def _error_of_codes(codes: str, status: int, detail: str) -> DriverError:
    if "compute.requireOsLogin" in detail:
        detail = f"{detail.removesuffix('.')}: set Login of the account to os_login"

    def says(parts: tuple[str, ...]) -> bool:
        return any(part in codes for part in parts)

    if says(NO_CAPACITY):
        reason, is_retryable = Reason.CAPACITY, True
    elif says(TOO_MANY_CALLS) or (status == 429 and not says(NO_QUOTA)):
        reason, is_retryable = Reason.TIMEOUT, True
    elif says(NO_QUOTA):
        reason, is_retryable = Reason.QUOTA, False
    elif says(NOT_NOW) or status == 409:
        reason, is_retryable = Reason.UNSUPPORTED, True
    elif status in {401, 403}:
        reason, is_retryable = Reason.AUTH, False
    elif status >= 500 or "INTERNAL_ERROR" in codes:
        # A fault of theirs; of a launch nobody knows then whether it was heard.
        reason, is_retryable = Reason.UNREACHABLE, True
    else:
        reason, is_retryable = Reason.UNSUPPORTED, False
    return DriverError(reason, f"{codes or status}: {detail}"[:500], retryable=is_retryable)
