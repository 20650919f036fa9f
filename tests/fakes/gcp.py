"""Compute Engine on loopback: the part of its REST API that rents a machine, and real machines.

It refuses what Google refuses: a request id that is no UUID, names and labels out of their rules,
a second machine of a name, unknown zones, types and images. Times are those of `clock`: `tick` lets
what is due happen, and every request begins with one.

Faults (`faults.set`). Any call: throttled, unauthorized, forbidden, broken, conflict, invalid, hung.
A launch, also of one zone: quota, quota_late, capacity, inner, lost_request, lost_answer,
slow_operation, late (seconds unseen), slow_boot (seconds), interrupted (seconds after), no_sshd,
no_attributes, no_console. An end: delete_failed, delete_undone, delete_lost, slow_end (seconds),
disk_left. An inventory: zone_missing.
"""

import copy
import datetime as dt
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fakes.gcp_os_login import POSIX_NAME, GceOsLogin
from tests.fakes.gcp_region import IMAGES, GceRegions, Refused
from tests.fakes.machines import Machines
from tests.fakes.rest import Answer, Asked, HangUp, RestServer
from tests.fakes.sshd import FakeSshd

API = "https://www.googleapis.com/compute/v1/"
ZONES = ("europe-west4-a", "europe-west4-b", "us-central1-a", "us-central1-b", "us-central1-f")
TYPES = (
    *("e2-small", "n2-standard-2", "c4-standard-2", "t2a-standard-1"),
    *("z3-highmem-14-standardlssd", "z3-highmem-176-standardlssd", "z4d-highmem-8-standardlssd"),
    *("c3-standard-192-metal", "h4d-standard-192", "y9-future-2"),
)
# Names of the fourth and of later generations (cloud.google.com/compute/docs/machine-resource).
GENERATION = re.compile(r"[a-z]+(\d+)")
# Types that take one maintenance policy alone; spot machines take TERMINATE whatever they are
# (docs.cloud.google.com/compute/docs/instances/setting-vm-host-options, read 2026-11-28).
MIGRATE_ONLY = ("e2-small", "z3-highmem-14-standardlssd", "y9-future-2")
TERMINATE_ONLY = ("z3-highmem-176-standardlssd", "c3-standard-192-metal", "h4d-standard-192")
NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
CONDITION = re.compile(r'\(?labels\.([a-z0-9_-]+) = "([^"]*)"\)?')
DONE, RUNNING = "DONE", "RUNNING"
CALL_FAULTS = (
    ("throttled", 403, "rateLimitExceeded"),
    ("unauthorized", 401, "authError"),
    ("forbidden", 403, "forbidden"),
    ("broken", 503, "backendError"),
    ("conflict", 409, "conflict"),
    ("invalid", 400, "invalid"),
)
_ZONE, _NAMED = "/zones/(?P<zone>[^/]+)", "/(?P<name>[^/]+)"
# HTTP method, path below the project, method of the API (answered by the one named after it).
ROUTES = (
    ("GET", "", "projects.get"),
    ("GET", "/zones", "zones.list"),
    ("GET", f"/regions{_NAMED}", "regions.get"),
    ("GET", f"/global/networks{_NAMED}", "networks.get"),
    ("GET", f"/regions/(?P<region>[^/]+)/subnetworks{_NAMED}", "subnetworks.get"),
    ("GET", "/global/firewalls", "firewalls.list"),
    ("POST", "/global/firewalls", "firewalls.insert"),
    ("GET", f"/global/firewalls{_NAMED}", "firewalls.get"),
    ("DELETE", f"/global/firewalls{_NAMED}", "firewalls.delete"),
    ("POST", f"/global/operations{_NAMED}/wait", "globalOperations.wait"),
    ("GET", f"/global/images/family{_NAMED}", "images.getFromFamily"),
    ("GET", f"{_ZONE}/machineTypes", "machineTypes.list"),
    ("GET", "/aggregated/machineTypes", "machineTypes.aggregatedList"),
    ("GET", "/aggregated/instances", "instances.aggregatedList"),
    ("GET", "/aggregated/disks", "disks.aggregatedList"),
    ("POST", f"{_ZONE}/instances", "instances.insert"),
    ("GET", f"{_ZONE}/instances{_NAMED}", "instances.get"),
    ("GET", f"{_ZONE}/instances{_NAMED}/getGuestAttributes", "instances.getGuestAttributes"),
    ("GET", f"{_ZONE}/instances{_NAMED}/serialPort", "instances.getSerialPortOutput"),
    ("DELETE", f"{_ZONE}/instances{_NAMED}", "instances.delete"),
    ("GET", f"{_ZONE}/disks{_NAMED}", "disks.get"),
    ("DELETE", f"{_ZONE}/disks{_NAMED}", "disks.delete"),
    ("GET", f"{_ZONE}/operations", "zoneOperations.list"),
    ("POST", f"{_ZONE}/operations{_NAMED}/wait", "zoneOperations.wait"),
)


@dataclass
class Machine:
    """One life, also after its end: the provider's own record."""

    document: dict[str, Any]
    zone: str
    began: dt.datetime
    seen_from: dt.datetime
    runs_from: dt.datetime
    server: FakeSshd
    ends_from: dt.datetime | None = None
    """When the end that was asked for is over."""
    taken_from: dt.datetime | None = None
    """When Google takes it away."""
    ended: dt.datetime | None = None
    why: str = ""
    has_attributes: bool = True
    has_console: bool = True

    @property
    def name(self) -> str:
        return str(self.document["name"])

    @property
    def is_up(self) -> bool:
        return bool(self.document["status"] == "RUNNING")

    @property
    def token(self) -> str:
        return str(self.document.get("labels", {}).get("rackrate-token", ""))

    @property
    def lifetime(self) -> dt.timedelta | None:
        seconds = self.document.get("scheduling", {}).get("maxRunDuration", {}).get("seconds")
        return dt.timedelta(seconds=int(seconds)) if seconds else None


def real_time() -> dt.datetime:
    """In whole milliseconds, as the API tells it."""
    now = dt.datetime.now(dt.UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


@dataclass
class _Operation:
    document: dict[str, Any]
    waits_left: int = 0
    """How often waiting for it ends without an outcome."""
    request: tuple[str, Any] = ("", None)


class Gce(RestServer, GceRegions, GceOsLogin):
    """A project named `project`; a context. `port` is where its machines listen for SSH."""

    project = "rackrate-bench"

    def __init__(self, machines: Machines, *, clock: Callable[[], dt.datetime] = real_time) -> None:
        RestServer.__init__(self)
        GceRegions.__init__(self)
        GceOsLogin.__init__(self)
        self.machines = machines
        self.clock = clock
        self.record: list[Machine] = []
        self.disks: dict[tuple[str, str], dict[str, Any]] = {}
        self.methods: list[str] = []
        """Of the API, as they were called: compute.instances.insert, …"""
        self.asked: list[Asked] = []
        self.sold_out: dict[str, tuple[str, ...]] = {}
        """By type, zones that do not sell it: not every zone of a region sells the same types
        (cloud.google.com/compute/docs/regions-zones)."""
        self.constraints: set[str] = set()
        """Of the organisation, in force: they refuse with 412 conditionNotMet. requireOsLogin
        (cloud.google.com/compute/docs/oslogin/manage-oslogin-in-an-org), vmExternalIpAccess
        (cloud.google.com/compute/docs/ip-addresses/configure-static-external-ip-address),
        disableGuestAttributesAccess (cloud.google.com/compute/docs/metadata/manage-guest-attributes)."""
        self.project_metadata: dict[str, str] = {}
        """Of all machines, unless their own says otherwise."""
        self._operations: list[_Operation] = []

    # --- what the test does -------------------------------------------------------------------

    @property
    def alive(self) -> list[Machine]:
        """Machines that cost money."""
        with self._lock:
            self.tick()
            return [machine for machine in self.record if machine.ended is None]

    def power_off(self, name: str) -> None:
        """What `poweroff` on the machine does: it stops and stays."""
        with self._lock:
            machine = next(one for one in self.record if one.name == name)
            machine.document["status"] = "TERMINATED"

    def tick(self) -> None:
        """Let happen what is due by now."""
        with self._lock:
            now = self.clock()
            for machine in [one for one in self.record if one.ended is None]:
                end = machine.runs_from + machine.lifetime if machine.lifetime else None
                if machine.ends_from is not None and now >= machine.ends_from:
                    self._end(machine, "deleted")
                elif machine.taken_from is not None and now >= machine.taken_from:
                    self._end(machine, "preempted")
                elif end is not None and now >= end:
                    self._end(machine, "max run duration")
                elif machine.document["status"] == "STAGING" and now >= machine.runs_from:
                    machine.document["status"] = "RUNNING"

    # --- the protocol -------------------------------------------------------------------------

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        self.tick()
        try:
            return Answer(self._answer(asked))
        except Refused as refused:
            errors = [{"reason": refused.reason, "message": refused.message, "domain": "global"}]
            error = {"code": refused.status, "message": refused.message, "errors": errors}
            return Answer({"error": error}, refused.status)

    def _answer(self, asked: Asked) -> dict[str, Any]:
        for name, status, reason in CALL_FAULTS:
            if self.faults.happens(name) is not None:
                raise Refused(status, reason)
        if self.faults.happens("hung") is not None:
            raise HangUp
        if asked.path.startswith("/v1/users/"):
            return self.os_login(asked)
        for method, pattern, name in ROUTES:
            owner = "debian-cloud" if name == "images.getFromFamily" else self.project
            found = re.fullmatch(f"/compute/v1/projects/{owner}{pattern}", asked.path)
            if method == asked.method and found and found.groupdict().get("zone") in {None, *ZONES}:
                self.methods.append(f"compute.{name}")
                handler = getattr(self, "_" + name.replace(".", "_"))
                document: dict[str, Any] = handler(asked, **found.groupdict())
                return document
        raise Refused(404, "notFound", asked.path)

    def _projects_get(self, _: Asked) -> dict[str, Any]:
        items = [{"key": key, "value": value} for key, value in self.project_metadata.items()]
        return {"name": self.project, "commonInstanceMetadata": {"items": items}}

    def _zones_list(self, _: Asked) -> dict[str, Any]:
        region = f"{API}projects/{self.project}/regions/"
        return {
            "items": [{"name": zone, "region": region + zone.rpartition("-")[0]} for zone in ZONES]
        }

    def _machineTypes_list(self, _: Asked, zone: str) -> dict[str, Any]:  # noqa: N802
        return {"items": [{"name": name} for name in TYPES]}

    def _machineTypes_aggregatedList(self, asked: Asked) -> dict[str, Any]:  # noqa: N802
        name = asked.query["filter"].partition('"')[2].rstrip('"')
        zones = [zone for zone in ZONES if zone not in self.sold_out.get(name, ())]
        sold = {f"zones/{zone}": {"machineTypes": [{"name": name}]} for zone in zones}
        empty = {"warning": {"code": "NO_RESULTS_ON_PAGE"}}
        none = {f"zones/{zone}": empty for zone in ZONES}
        return {"items": {**none, **(sold if name in TYPES else {})}}

    # --- instances ----------------------------------------------------------------------------

    def _instances_insert(self, asked: Asked, zone: str) -> dict[str, Any]:
        request_id = asked.query.get("requestId", "")
        if uuid.UUID(request_id).int == 0:
            raise Refused(400, "invalid", "requestId")
        if self.faults.happens("lost_request") is not None:
            raise HangUp
        known = [one for one in self._operations if one.request[0] == request_id]
        if known:
            if known[0].request[1] != asked.body:
                raise Refused(400, "invalid", "requestId was used for something else")
            return known[0].document
        if self.faults.happens("quota", zone) is not None:
            raise Refused(403, "quotaExceeded", "Quota 'CPUS' exceeded.")
        self._check(zone, asked.body)
        self._check_policies(asked.body)
        now = self.clock()
        operation = self._operation(zone, asked.body["name"], "insert", now)
        operation.request = (request_id, asked.body)
        operation.waits_left = 1 if self.faults.happens("slow_operation", zone) is not None else 0
        self._make(zone, copy.deepcopy(asked.body), operation.document, now)
        if self.faults.happens("lost_answer", zone) is not None:
            raise HangUp
        # What a client sees first is an operation under way.
        return {**operation.document, "status": RUNNING, "error": {}}

    def _check(self, zone: str, body: dict[str, Any]) -> None:
        name, labels = body["name"], body.get("labels", {})
        disks = [disk["initializeParams"] for disk in body["disks"]]
        for text in (labels, *(disk.get("labels", {}) for disk in disks)):
            for key, value in text.items():
                if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
                    raise Refused(400, "invalid", f"label {key}={value}")
        machine_type = body["machineType"].partition(f"zones/{zone}/machineTypes/")[2]
        families = {disk["sourceImage"].rpartition("/family/")[2] for disk in disks}
        seconds = int(body["scheduling"]["maxRunDuration"]["seconds"])
        if zone in self.sold_out.get(machine_type, ()):
            detail = f"Machine type with name '{machine_type}' does not exist in zone '{zone}'."
            raise Refused(400, "invalid", detail)
        if machine_type not in TYPES or not families <= set(IMAGES):
            raise Refused(404, "notFound", f"{machine_type} or {families} was not found")
        named = GENERATION.match(machine_type)
        is_metal = machine_type.endswith("-metal")
        is_new = is_metal or (named is not None and int(named[1]) >= 4)
        is_hyperdisk = any("hyperdisk" in disk["diskType"] for disk in disks)
        if is_hyperdisk != is_new:
            raise Refused(400, "invalid", "this type of disk is not for this type of machine")
        self._check_maintenance(machine_type, body["scheduling"])
        if not NAME.fullmatch(name) or not 30 <= seconds <= 120 * 86_400:
            raise Refused(400, "invalid", f"{name}, {seconds} s")
        if any(one.name == name and one.zone == zone and not one.ended for one in self.record):
            raise Refused(409, "alreadyExists", f"{name} already exists")

    def _check_maintenance(self, machine_type: str, scheduling: dict[str, Any]) -> None:
        """In Google's words (github.com/chainguard-dev/terraform-infra-common/issues/935,
        github.com/GoogleCloudPlatform/cloud-image-tests/issues/346)."""
        policy = scheduling["onHostMaintenance"]
        is_spot = scheduling["provisioningModel"] == "SPOT"
        if is_spot or machine_type in TERMINATE_ONLY:
            if policy != "TERMINATE":
                detail = "Invalid value for field 'resource.scheduling.onHostMaintenance'"
                raise Refused(400, "invalid", f"{detail}: '{policy}'.")
        elif machine_type in MIGRATE_ONLY and policy != "MIGRATE":
            detail = f"OnHostMaintenance must be set to MIGRATE for machine type - {machine_type}."
            if machine_type.startswith("e2-"):
                detail = f"e2 instances do not support onHostMaintenance={policy} unless they are preemptible."
            raise Refused(400, "badRequest", detail)

    def _check_policies(self, body: dict[str, Any]) -> None:
        metadata = {item["key"]: item["value"] for item in body["metadata"]["items"]}
        (interface,) = body["networkInterfaces"]
        if metadata["enable-oslogin"] != "TRUE":
            self._constrain("requireOsLogin")
        if interface.get("accessConfigs"):
            self._constrain("vmExternalIpAccess")
        network = interface.get("network") or interface.get("subnetwork")
        if self.networks is not None and network not in self.networks:
            detail = f"The referenced network resource cannot be found: {network!r}"
            raise Refused(400, "invalid", f"Invalid value for field 'resource.network'. {detail}")

    def _constrain(self, name: str) -> None:
        if name in self.constraints:
            detail = f"Constraint constraints/compute.{name} violated for project {self.project}."
            raise Refused(412, "conditionNotMet", detail)

    def _make(
        self, zone: str, body: dict[str, Any], operation: dict[str, Any], now: dt.datetime
    ) -> None:
        for fault, code in (
            ("capacity", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"),
            ("quota_late", "QUOTA_EXCEEDED"),
            ("inner", "INTERNAL_ERROR"),
        ):
            if self.faults.happens(fault, zone) is not None:
                operation["error"] = {"errors": [{"code": code, "message": f"no: {code}"}]}
                operation["httpErrorStatusCode"] = 503
                return
        late = dt.timedelta(seconds=self.faults.happens("late", zone) or 0)
        boot = dt.timedelta(seconds=self.faults.happens("slow_boot", zone) or 0)
        server = self._server(body)
        machine = Machine(
            {
                **body,
                "zone": f"{API}projects/{self.project}/zones/{zone}",
                "creationTimestamp": now.isoformat(timespec="milliseconds"),
                "status": "STAGING" if boot else "RUNNING",
            },
            zone,
            now,
            now + late,
            now + boot,
            server,
            has_attributes=self.faults.happens("no_attributes", zone) is None,
            has_console=self.faults.happens("no_console", zone) is None,
        )
        if (seconds := self.faults.happens("interrupted", zone)) is not None:
            machine.taken_from = now + dt.timedelta(seconds=seconds)
        if self.faults.happens("no_sshd", zone) is not None:
            server.refuse()
        (interface,) = machine.document["networkInterfaces"]
        interface["networkIP"] = server.address
        for access in interface.get("accessConfigs", ()):
            access["natIP"] = server.address
        self.record.append(machine)
        self.disks[zone, machine.name] = {
            "name": machine.name,
            "zone": machine.document["zone"],
            "labels": body["disks"][0]["initializeParams"].get("labels", {}),
            "creationTimestamp": machine.document["creationTimestamp"],
            "status": "READY",
            "users": [f"{API}projects/{self.project}/zones/{zone}/instances/{machine.name}"],
        }

    def _server(self, body: dict[str, Any]) -> FakeSshd:
        """With OS Login the keys of the profile are let in, and those of the metadata are not
        (cloud.google.com/compute/docs/oslogin)."""
        metadata = {item["key"]: item["value"] for item in body["metadata"]["items"]}
        if metadata["enable-oslogin"] != "TRUE":
            return self.machines.start(metadata["ssh-keys"].partition(":")[2])
        first, *others = self.keys_in_force()
        server = self.machines.start(first)
        for key in others:
            server.allow(key)
        server.only_user = POSIX_NAME
        return server

    def _shown(self, zone: str, name: str) -> Machine:
        for machine in self.record:
            if (machine.zone, machine.name) == (zone, name) and self._is_shown(machine):
                return machine
        raise Refused(404, "notFound", f"{name} was not found")

    def _is_shown(self, machine: Machine) -> bool:
        return machine.ended is None and self.clock() >= machine.seen_from

    def _instances_get(self, _: Asked, zone: str, name: str) -> dict[str, Any]:
        return self._shown(zone, name).document

    def _instances_getGuestAttributes(  # noqa: N802
        self, asked: Asked, zone: str, name: str
    ) -> dict[str, Any]:
        machine = self._shown(zone, name)
        self._constrain("disableGuestAttributesAccess")
        if (
            not machine.is_up
            or not machine.has_attributes
            or asked.query["queryPath"] != "hostkeys/"
        ):
            raise Refused(404, "notFound", "no such guest attribute")
        items = [
            {"namespace": "hostkeys", "key": key_type, "value": key}
            for key_type, key in map(str.split, reversed(machine.server.host_keys))
        ]
        return {"queryPath": "hostkeys/", "queryValue": {"items": items}}

    def _instances_getSerialPortOutput(  # noqa: N802
        self, _: Asked, zone: str, name: str
    ) -> dict[str, Any]:
        machine = self._shown(zone, name)
        if not machine.is_up:
            raise Refused(400, "resourceNotReady", "the machine is not ready")
        return {"contents": machine.server.console * machine.has_console}

    def _instances_delete(self, _: Asked, zone: str, name: str) -> dict[str, Any]:
        machine = self._shown(zone, name)
        if self.faults.happens("delete_failed", zone) is not None:
            raise Refused(503, "backendError")
        operation = {"name": f"operation-of-{name}", "operationType": "delete", "status": RUNNING}
        if self.faults.happens("delete_undone", zone) is not None:
            error = {"code": "RESOURCE_NOT_READY", "message": "it is busy"}
            return {**operation, "status": DONE, "error": {"errors": [error]}}
        slow = self.faults.happens("slow_end", zone)
        if machine.ends_from is None:
            machine.ends_from = self.clock() + dt.timedelta(seconds=slow or 0)
            machine.document["status"] = "STOPPING"
        self.tick()
        if self.faults.happens("delete_lost", zone) is not None:
            raise HangUp
        return operation

    def _end(self, machine: Machine, why: str) -> None:
        machine.ended, machine.why = self.clock(), why
        place = machine.zone, machine.name
        if why == "preempted":
            told = self._operation(*place, "compute.instances.preempted", machine.ended)
            told.document["statusMessage"] = "Instance was preempted."
        self._operation(*place, "delete", machine.ended)
        self.machines.stop(machine.server.address)
        if self.faults.happens("disk_left", machine.zone) is not None:
            self.disks[machine.zone, machine.name]["users"] = []
        else:
            self.disks.pop((machine.zone, machine.name), None)

    # --- disks, lists, operations -------------------------------------------------------------

    def _disks_get(self, _: Asked, zone: str, name: str) -> dict[str, Any]:
        if (zone, name) not in self.disks:
            raise Refused(404, "notFound")
        return self.disks[zone, name]

    def _disks_delete(self, asked: Asked, zone: str, name: str) -> dict[str, Any]:
        if self._disks_get(asked, zone, name)["users"]:
            raise Refused(400, "resourceInUseByAnotherResource")
        del self.disks[zone, name]
        return {"name": f"operation-of-{name}", "operationType": "delete", "status": DONE}

    def _instances_aggregatedList(self, asked: Asked) -> dict[str, Any]:  # noqa: N802
        shown = [machine.document for machine in self.record if self._is_shown(machine)]
        return self._everywhere("instances", shown, asked)

    def _disks_aggregatedList(self, asked: Asked) -> dict[str, Any]:  # noqa: N802
        return self._everywhere("disks", list(self.disks.values()), asked)

    def _everywhere(self, kind: str, shown: list[Any], asked: Asked) -> dict[str, Any]:
        conditions = CONDITION.findall(asked.query["filter"])
        assert len(conditions) == len(asked.query["filter"].split(" AND "))
        items: dict[str, Any] = {}
        for zone in ZONES:
            found = [
                one
                for one in shown
                if one["zone"].endswith(f"/{zone}")
                and all(one["labels"].get(key) == value for key, value in conditions)
            ]
            empty = {"warning": {"code": "NO_RESULTS_ON_PAGE"}}
            items[f"zones/{zone}"] = {kind: found} if found else empty
        if self.faults.happens("zone_missing") is not None:
            items[f"zones/{ZONES[0]}"] = {"warning": {"code": "UNREACHABLE"}}
        return {"items": items}

    def _operation(self, zone: str, name: str, kind: str, moment: dt.datetime) -> _Operation:
        at = moment.isoformat(timespec="milliseconds")
        target = f"{API}projects/{self.project}/zones/{zone}/instances/{name}"
        made = _Operation(
            {
                "name": f"operation-{len(self._operations)}",
                "operationType": kind,
                "targetLink": target,
                "zone": f"{API}projects/{self.project}/zones/{zone}",
                "status": DONE,
                "insertTime": at,
                "endTime": at,
            }
        )
        self._operations.append(made)
        return made

    def _zoneOperations_list(self, asked: Asked, zone: str) -> dict[str, Any]:  # noqa: N802
        pattern = re.fullmatch(r'targetLink eq "(.*)"', asked.query["filter"])
        assert pattern is not None
        assert asked.query["orderBy"] == "creationTimestamp desc"
        found = [
            operation.document
            for operation in reversed(self._operations)
            if f"/zones/{zone}/" in operation.document["targetLink"]
            and re.fullmatch(pattern[1], operation.document["targetLink"])
        ]
        return {"items": found}

    def _zoneOperations_wait(  # noqa: N802
        self, _: Asked, zone: str, name: str
    ) -> dict[str, Any]:
        for operation in self._operations:
            if operation.document["name"] == name:
                if operation.waits_left:
                    operation.waits_left -= 1
                    return {**operation.document, "status": RUNNING, "error": {}}
                return operation.document
        raise Refused(404, "notFound")
