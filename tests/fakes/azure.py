"""Azure Resource Manager on loopback: the part of its REST API that rents a machine, and real machines.

Each behaviour follows its page of learn.microsoft.com:

- PUT and DELETE are answered at once with `Azure-AsyncOperation`, `Location` and `Retry-After`, and go on
  (azure/azure-resource-manager/management/async-operations); `provisioningState` tells of it as well.
- A machine whose allocation fails stays there, Failed, with the code in its instance view
  (troubleshoot/azure/virtual-machines/windows/allocation-failure); names of sizes and zones that a
  subscription may not have are refused at once as SkuNotAvailable
  (azure/azure-resource-manager/troubleshooting/error-sku-not-available).
- A full core quota is 409 OperationNotAllowed, with the family in its text
  (azure/azure-resource-manager/troubleshooting/error-resource-quota).
- Policies refuse with 403 RequestDisallowedByPolicy and their names in additionalInfo
  (azure/azure-resource-manager/troubleshooting/error-policy-requestdisallowedbypolicy).
- Too many calls are 429 with Retry-After (azure/azure-resource-manager/management/request-limits-and-throttling).
- A lock refuses the end as 409 ScopeLocked (azure/azure-resource-manager/management/lock-resources).
- `If-None-Match: *` makes no second machine but 412 (rest/api/compute/virtual-machines/create-or-update).
- Deleting a group ends all in it (azure/azure-resource-manager/management/delete-resource-group); a machine
  that switches itself off is `stopped`, is billed, and stays (azure/virtual-machines/states-billing).
- A spot machine that is evicted costs nothing more. With the policy Delete it is gone with its disk, with
  Deallocate it stays as deallocated (azure/virtual-machines/spot-vms). Others are not evicted.
- A service that is not registered is 409 MissingSubscriptionRegistration
  (azure/azure-resource-manager/troubleshooting/error-register-resource-provider).

Faults (`faults.set`). Any call: throttled, forbidden, broken, hung, garbled. A launch: quota, policy, sku,
capacity, constrained, lost_request, lost_answer, late (seconds unseen), slow_create (seconds), no_sshd,
interrupted (seconds; of spot machines). An end: locked, delete_failed, delete_lost, slow_end (seconds).
"""

import base64
import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import asyncssh
import yaml

from tests.fakes.azure_answers import (
    IMAGES,
    SIZES,
    Refused,
    check_boot,
    documented,
    image_version,
    image_versions,
    provider,
    skus,
    usages,
)
from tests.fakes.machines import Machines
from tests.fakes.rest import Answer, Asked, HangUp, RestServer
from tests.fakes.sshd import FakeSshd

CALL_FAULTS = ("throttled", "forbidden", "broken")


def real_time() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass
class Vm:
    """One machine, also after its end: the provider's own record."""

    group: str
    body: dict[str, Any]
    asked: dt.datetime
    seen_from: dt.datetime
    began: dt.datetime
    """When it gets its place, or is refused one."""
    server: FakeSshd
    cloud_config: dict[str, Any]
    failed: str = ""
    """Code with which it did not get its place."""
    is_off: bool = False
    evicted_from: dt.datetime | None = None
    ended: dt.datetime | None = None
    """From when it costs nothing more."""
    is_removed: bool = False
    """One that was evicted may be there for longer than it costs."""

    @property
    def token(self) -> str:
        return str(self.body["tags"].get("rackrate-token", ""))

    @property
    def lifetime(self) -> dt.timedelta:
        (timer,) = self.cloud_config["bootcmd"]
        (option,) = [word for word in timer if word.startswith("--on-active=")]
        return dt.timedelta(seconds=int(option.removeprefix("--on-active=").removesuffix("s")))


@dataclass
class Group:
    """A resource group and what is in it beside machines, by kind and name."""

    body: dict[str, Any]
    seen_from: dt.datetime
    parts: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    ends_from: dt.datetime | None = None


class Azure(RestServer):
    """A subscription; a context."""

    subscription = "0b1f6471-1bf0-4dda-aec3-111122223333"
    region = "westeurope"

    def __init__(self, machines: Machines, *, clock: Callable[[], dt.datetime] = real_time) -> None:
        super().__init__()
        self.machines = machines
        self.clock = clock
        self.vms: list[Vm] = []
        self.groups: dict[str, Group] = {}
        self.asked: list[Asked] = []
        self.registered = {"Microsoft.Compute", "Microsoft.Network"}
        self.cores_left = 10
        self.billed: list[tuple[float, str, str]] = []
        """Of a month: amount, name of the group, currency."""

    @property
    def record(self) -> list[Vm]:
        """Machines that cost money once."""
        return [one for one in self.vms if not one.failed and (one.ended or one.began) >= one.began]

    @property
    def alive(self) -> list[Vm]:
        """Machines that cost money; one that is switched off does."""
        with self._lock:
            self.tick()
            return [vm for vm in self.record if vm.ended is None]

    def tick(self) -> None:
        """Let happen what is due by now."""
        with self._lock:
            now = self.clock()
            for name, group in list(self.groups.items()):
                if group.ends_from is not None and now >= group.ends_from:
                    del self.groups[name]
            for vm in [one for one in self.vms if not one.is_removed]:
                if vm.group not in self.groups:
                    self._remove(vm)
                elif vm.evicted_from is not None and now >= vm.evicted_from:
                    vm.ended = vm.ended or now
                    vm.is_removed = vm.body["properties"]["evictionPolicy"] == "Delete"
                elif not vm.failed and now >= vm.began + vm.lifetime:
                    vm.is_off = True
                if vm.ended or vm.is_off:
                    self.machines.stop(vm.server.address)

    def _remove(self, vm: Vm) -> None:
        vm.ended = vm.ended or self.clock()
        vm.is_removed = True
        self.machines.stop(vm.server.address)

    # --- the protocol -------------------------------------------------------------------------

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        self.tick()
        try:
            return self._answer(asked)
        except Refused as refused:
            headers = {"Retry-After": "17"} if refused.status == 429 else {}
            return Answer(refused.document, refused.status, headers)

    def _answer(self, asked: Asked) -> Answer:
        for name in CALL_FAULTS:
            if self.faults.happens(name) is not None:
                raise documented(name)
        if self.faults.happens("hung") is not None:
            raise HangUp
        if self.faults.happens("garbled") is not None:
            return Answer("not what was asked for", 502)
        root, subscription, *rest = asked.parts
        if root != "subscriptions" or subscription != self.subscription:
            raise Refused(404, "SubscriptionNotFound", f"{subscription} could not be found.")
        if rest[-1] == "query":
            return Answer(self._billed(asked))
        if "api-version" not in asked.query:
            raise Refused(400, "MissingApiVersionParameter", "The api-version is required.")
        if rest[0].lower() == "resourcegroups":
            return self._of_groups(asked, rest[1:])
        return self._of_subscription(asked, rest[1:])

    def _of_subscription(self, asked: Asked, rest: list[str]) -> Answer:
        if len(rest) == 1:
            return Answer(provider(rest[0], is_registered=rest[0] in self.registered))
        kind = rest[-1]
        if kind == "skus":
            return Answer({"value": skus(asked.query["$filter"])})
        if kind == "virtualMachines":
            shown = [
                one for one in self.vms if not one.is_removed and self.clock() >= one.seen_from
            ]
            return Answer({"value": [self._vm_document(vm) for vm in shown]})
        if kind == "usages":
            return Answer({"value": usages(self.cores_left)})
        if kind == "versions":
            return Answer(image_versions(*(rest[at] for at in (4, 8, 10))))
        if rest[-2] == "versions":
            return Answer(image_version(*(rest[at] for at in (4, 8, 10, 12))))
        raise Refused(404, "NotFound", asked.path)

    def _of_groups(self, asked: Asked, rest: list[str]) -> Answer:
        if not rest:
            return Answer({"value": self._listed(asked.query.get("$filter", ""))})
        name, *inside = rest
        if asked.method == "PUT" and not inside:
            return self._put_group(name, asked.body)
        group = self._group(name)
        if asked.method == "DELETE" and not inside:
            return self._delete_group(group)
        if not inside:
            return Answer(self._group_document(name, group))
        return self._inside(asked, name, group, inside[1:])

    def _inside(self, asked: Asked, name: str, group: Group, rest: list[str]) -> Answer:
        kind = rest[1]
        if kind == "virtualMachines":
            handler = getattr(self, f"_{asked.method.lower()}_vm")
            answer: Answer = handler(asked, name, group)
            return answer
        if len(rest) == 2:
            return Answer({"value": self._addresses(name, kind)})
        if asked.method == "GET":
            if (kind, rest[2]) not in group.parts:
                raise Refused(404, "ResourceNotFound", f"{rest[2]} was not found.")
            return Answer({"name": rest[2], **group.parts[kind, rest[2]]})
        if group.ends_from is not None:
            raise documented("being_deleted")
        if len(rest) == 5:  # a rule of a firewall
            group.parts[kind, rest[2]]["properties"]["securityRules"].append(
                {"name": rest[4], **asked.body}
            )
            return self._accepted(asked.body)
        body = json.loads(json.dumps(asked.body))
        body["properties"]["provisioningState"] = "Succeeded"
        group.parts[kind, rest[2]] = body
        return self._accepted(body)

    def _accepted(self, document: Any, status: int = 201) -> Answer:
        at = f"{self.url}/subscriptions/{self.subscription}/providers/operations/1"
        headers = {"Azure-AsyncOperation": at, "Location": at, "Retry-After": "10"}
        return Answer(document, status, headers)

    def _billed(self, asked: Asked) -> dict[str, Any]:
        """A page for each row (rest/api/cost-management/query/usage)."""
        page = int(asked.query.get("$skiptoken", 0))
        names = ("Cost", "ResourceGroupName", "Currency")
        following = f"{self.url}{asked.path}?api-version=1&$skiptoken={page + 1}"
        properties = {
            "columns": [{"name": name} for name in names],
            "rows": self.billed[page : page + 1],
            "nextLink": following if page + 1 < len(self.billed) else None,
        }
        return {"properties": properties}

    # --- groups -------------------------------------------------------------------------------

    def _listed(self, condition: str) -> list[dict[str, Any]]:
        """`tagName eq 'a' and tagValue eq 'b'`, as rest/api/resources/resource-groups/list has it."""
        words = condition.split("'")
        return [
            self._group_document(name, group)
            for name, group in self.groups.items()
            if self.clock() >= group.seen_from
            and (not condition or group.body["tags"].get(words[1]) == words[3])
        ]

    def _group(self, name: str) -> Group:
        if name not in self.groups:
            raise Refused(
                404, "ResourceGroupNotFound", f"Resource group '{name}' could not be found."
            )
        return self.groups[name]

    def _group_document(self, name: str, group: Group) -> dict[str, Any]:
        state = "Deleting" if group.ends_from is not None else "Succeeded"
        identity = f"/subscriptions/{self.subscription}/resourceGroups/{name}"
        return {
            "id": identity,
            "name": name,
            **group.body,
            "properties": {"provisioningState": state},
        }

    def _put_group(self, name: str, body: dict[str, Any]) -> Answer:
        known = self.groups.get(name)
        if known is not None and known.ends_from is not None:
            raise documented("being_deleted")
        late = dt.timedelta(seconds=self.faults.happens("late") or 0)
        if known is None:
            self.groups[name] = known = Group(body, self.clock() + late)
        known.body = body
        return Answer(self._group_document(name, known), 201)

    def _delete_group(self, group: Group) -> Answer:
        for name in ("locked", "delete_failed"):
            if self.faults.happens(name) is not None:
                raise documented(name)
        slow = self.faults.happens("slow_end") or 0
        group.ends_from = group.ends_from or self.clock() + dt.timedelta(seconds=slow)
        self.tick()
        if self.faults.happens("delete_lost") is not None:
            raise HangUp
        return self._accepted(None, 202)

    # --- machines -----------------------------------------------------------------------------

    def vm_of(self, group: str) -> Vm | None:
        return next((vm for vm in self.vms if vm.group == group and not vm.is_removed), None)

    def _get_vm(self, _: Asked, name: str, __: Group) -> Answer:
        vm = self.vm_of(name)
        if vm is None or self.clock() < vm.seen_from:
            raise Refused(404, "ResourceNotFound", "The Resource was not found.")
        return Answer(self._vm_document(vm))

    def _vm_document(self, vm: Vm) -> dict[str, Any]:
        properties = json.loads(json.dumps(vm.body["properties"]))
        del properties["osProfile"]["customData"]
        is_decided = self.clock() >= vm.began
        state = "Creating" if not is_decided else "Failed" if vm.failed else "Succeeded"
        statuses = [{"code": f"ProvisioningState/{state.lower()}"}]
        if state == "Failed":
            message = (
                "Allocation failed. We do not have sufficient capacity for the requested VM size."
            )
            statuses = [{"code": f"ProvisioningState/failed/{vm.failed}", "message": message}]
        elif state == "Succeeded":
            power = "deallocated" if vm.ended else "stopped" if vm.is_off else "running"
            statuses.append({"code": f"PowerState/{power}"})
        # Seven digits of a second, as Azure writes them.
        created = vm.asked.strftime("%Y-%m-%dT%H:%M:%S.%f") + "0+00:00"
        view = {"instanceView": {"statuses": statuses}}
        shown = {"provisioningState": state, "timeCreated": created, **view}
        return {"name": "machine", **vm.body, "properties": properties | shown}

    def _put_vm(self, asked: Asked, name: str, group: Group) -> Answer:
        body = asked.body
        if self.faults.happens("lost_request") is not None:
            raise HangUp
        if self.vm_of(name) is not None:
            assert asked.headers.get("if-none-match") == "*"
            raise Refused(412, "PreconditionFailed", "The resource exists.")
        self._check(body, group)
        self._start(body, name)
        if self.faults.happens("lost_answer") is not None:
            raise HangUp
        return self._accepted(self._vm_document(self.vms[-1]))

    def _start(self, body: dict[str, Any], name: str) -> None:
        now = self.clock()
        zone = f"{body['location']}-{(body.get('zones') or [''])[0]}"
        late = dt.timedelta(seconds=self.faults.happens("late") or 0)
        slow = dt.timedelta(seconds=self.faults.happens("slow_create") or 0)
        failed = ""
        if self.faults.happens("capacity", zone) is not None:
            failed = "ZonalAllocationFailed" if body.get("zones") else "AllocationFailed"
        elif self.faults.happens("constrained") is not None:
            failed = "OverconstrainedAllocationRequest"
        profile = body["properties"]["osProfile"]
        (key,) = profile["linuxConfiguration"]["ssh"]["publicKeys"]
        config = yaml.safe_load(base64.b64decode(profile["customData"]))
        machine = self.machines.start(key["keyData"])
        injected = asyncssh.import_private_key(config["ssh_keys"]["ed25519_private"])
        machine._host_keys = [injected]  # cloud-init deletes those of the image
        machine.refuse()
        if failed:
            self.machines.stop(machine.address)
        elif self.faults.happens("no_sshd") is None:
            machine.accept()
        is_spot = body["properties"].get("priority") == "Spot"
        lived = self.faults.happens("interrupted") if is_spot else None
        self.vms.append(
            Vm(
                name,
                body,
                now,
                now + late,
                now + slow,
                machine,
                config,
                failed,
                evicted_from=None if lived is None else now + slow + dt.timedelta(seconds=lived),
            )
        )

    def _check(self, body: dict[str, Any], group: Group) -> None:
        if group.ends_from is not None:
            raise documented("being_deleted")
        if "Microsoft.Compute" not in self.registered:
            raise documented("unregistered")
        size = body["properties"]["hardwareProfile"]["vmSize"]
        zones = SIZES.get((body["location"], size))
        image = body["properties"]["storageProfile"]["imageReference"]
        if zones is None or not {*body.get("zones", ())} <= {*zones}:
            raise documented("sku")
        if (image["publisher"], image["offer"], image["sku"]) not in IMAGES:
            raise Refused(404, "PlatformImageNotFound", "The platform image is not available.")
        check_boot(body)
        (interface,) = body["properties"]["networkProfile"]["networkInterfaceConfigurations"]
        firewall = interface["properties"]["networkSecurityGroup"]["id"].rpartition("/")[2]
        if ("networkSecurityGroups", firewall) not in group.parts:
            raise Refused(400, "InvalidResourceReference", "the security group was not found")
        for name in ("quota", "policy", "sku"):
            if self.faults.happens(name) is not None:
                raise documented(name)

    def _delete_vm(self, _: Asked, name: str, __: Group) -> Answer:
        vm = self.vm_of(name)
        if vm is not None:
            self._remove(vm)
        return self._accepted(None, 202)

    def _addresses(self, name: str, kind: str) -> list[dict[str, Any]]:
        vm = self.vm_of(name)
        if vm is None or vm.ended or self.clock() < vm.began:
            return []
        (interface,) = vm.body["properties"]["networkProfile"]["networkInterfaceConfigurations"]
        (of_ip,) = interface["properties"]["ipConfigurations"]
        if kind == "networkInterfaces":
            # The network of the tests is one: a private address leads to the machine as well.
            private = {"privateIPAddress": vm.server.address}
            inner = {"ipConfigurations": [{"name": "ip", "properties": private}]}
            return [{"name": "interface", "properties": inner}]
        if "publicIPAddressConfiguration" not in of_ip["properties"]:
            return []
        return [{"name": "address", "properties": {"ipAddress": vm.server.address}}]
