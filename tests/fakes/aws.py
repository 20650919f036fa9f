"""AWS on loopback: a moto server with what moto lacks, faults, and real SSH machines.

What moto lacks and this has: client tokens, a life of machines that takes time (pending, running,
shutting down), their own end by `shutdown -h +N`, security groups that are in use, consoles, the
public image names of Debian, keys that are known or not, and policies: every call is held against
the shipped ones.

moto keeps its state once a process: one FakeAws at a time.
"""

import base64
import io
import json
import os
import random
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moto.ec2.models import ec2_backends
from moto.ec2.models.amis import Ami
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from moto.sts.models import sts_backends
from werkzeug.serving import make_server
from werkzeug.test import run_wsgi_app

from backend.providers.machines import Access
from tests.fakes.aws_calls import ACCOUNT, Answer, Call, Refused, asked, denied, error_body, xml
from tests.fakes.aws_machines import USER, Fleet, Rented, console
from tests.fakes.aws_regions import VCPU_LIMIT, AwsRegions
from tests.fakes.fake.cloud import Fault
from tests.fakes.machines import Machines
from tests.fakes.policy import Asked, Policy

KEY, SECRET = "AKIARACKRATELAUNCHER", "a-secret-that-nobody-may-ever-see-1"
WORKER_KEY, WORKER_SECRET = "AKIARACKRATEOFWORKER", "a-secret-that-nobody-may-ever-see-2"
WORKER = "arn:aws:iam::123456789012:role/rackrate-worker"
ROLE = "arn:aws:iam::123456789012:role/rackrate-launch"
EXTERNAL_ID = "an-external-id"
DEBIAN = "136693071363"
REGION = "us-east-1"
PARAMETER = re.compile(r"/aws/service/debian/release/12/latest/(amd64|arm64)")
# Types whose console cannot be asked for what it says now.
OLD = re.compile(r"(t2|m4|c4)\.")
RATE = "Request limit exceeded."


class Cut(Exception):
    """The connection ends without an answer."""


@dataclass
class _Rule:
    times: int
    probability: float
    seconds: float


class FakeAws:
    """A context; `url` is the endpoint."""

    def __init__(
        self, directory: Path, *, policy: Policy | None = None, minute_s: float = 60
    ) -> None:
        self.machines = Machines(directory)
        self.fleet = Fleet(
            self.machines, minute_s=minute_s, happens=self._happens, backend=self.backend
        )
        self.calls: list[Call] = []
        self.faults: list[str] = []
        """Names of the faults that came."""
        self.lent: list[str] = []
        """Secrets that came with roles."""
        self.images: dict[str, str] = {}
        """By architecture; what the public parameters name now."""
        self.policy = policy or Policy.shipped("aws-launch.json")
        self._trust = Policy.shipped(
            "aws-trust.json", replace_with_the_external_id_of_the_account=EXTERNAL_ID
        )
        self._principals: dict[str, str | None] = {KEY: "", WORKER_KEY: WORKER}
        """By access key: "" is bound by the launch policy, None by nothing, a role may only ask
        for another one."""
        self.closed_regions: set[str] = set()
        """Without opt-in: EC2 knows no credentials there, AuthFailure, as its list of error codes
        says (docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html)."""
        self.organisation: Policy | None = None
        """A service control policy, which the refusal names
        (docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html)."""
        self.regions = AwsRegions(self.backend)
        self._errors: list[tuple[str, Refused]] = []
        self._rules: dict[tuple[str, str], _Rule] = {}
        self._launches: dict[tuple[str, str, str], tuple[dict[str, str], Answer]] = {}
        self._random = random.Random(0)
        self._lock = threading.RLock()
        self._moto = DomainDispatcherApplication(create_backend_app)

    # --- life ---------------------------------------------------------------------------------

    def __enter__(self) -> "FakeAws":
        os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"  # 40 images that nobody launches
        ec2_backends.reset()
        sts_backends.reset()
        self.backend()
        self._server = make_server("127.0.0.1", 0, self, threaded=True, request_handler=_Silent)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="aws")
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        with self.machines:
            pass

    def access(self, **settings: Any) -> Access:
        """An account here, with the key that the launch policy is for."""
        given = {"regions": [REGION], "endpoint_url": self.url, **settings}
        return Access("static_key", given, {"access_key_id": KEY, "secret_access_key": SECRET})

    def let_in(self, key: str) -> None:
        """The owner of the account, who may do everything."""
        self._principals[key] = None

    def keep_port(self) -> None:
        """Choose the port of all machines now, for an account that must name it before."""
        first = self.machines.start("ssh-ed25519 nobody")
        self.machines.stop(first.address)

    # --- what a test asks ---------------------------------------------------------------------

    def backend(self, region: str = REGION) -> Any:
        """moto's own state of a region."""
        found = ec2_backends[ACCOUNT][region]
        for architecture, number in (("x86_64", "1"), ("arm64", "2")):
            image = f"ami-{number * 17}"
            if image not in found.amis:
                found.amis[image] = Ami(
                    found,
                    image,
                    name=f"debian-12-{architecture}",
                    owner_id=DEBIAN,
                    architecture=architecture,
                    root_device_name="/dev/xvda",
                    virtualization_type="hvm",
                    region_name=f"{region}a",
                )
            self.images.setdefault(architecture, image)
        return found

    def fault(
        self,
        name: str,
        *,
        times: int = 0,
        probability: float = 0,
        seconds: float = 0,
        zone: str = "",
    ) -> None:
        """From now on this goes wrong so many times, and after them at random."""
        self._rules[name, zone] = _Rule(times, probability, seconds)

    def refuse(self, action: str, code: str, message: str = "", status: int = 400) -> None:
        """The next call of the action is answered with this error, and nothing else happens."""
        self._errors.append((action, Refused(code, message, status)))

    def seed(self, number: int) -> None:
        self._random = random.Random(number)

    @property
    def rented(self) -> list[Rented]:
        """The provider's own record of machines, oldest first."""
        return self.fleet.rented

    def settle(self) -> None:
        """What is due by now has happened."""
        with self._lock:
            self.fleet.settle()

    def alive(self) -> list[Rented]:
        """Machines that cost money now."""
        with self._lock:
            self.settle()
            return [rented for rented in self.rented if rented.ended_at is None]

    def parts(self, region: str = REGION) -> list[str]:
        """Key pairs, groups and disks that were made for launches and are still there."""
        with self._lock:
            backend = self.backend(region)
            groups = [group for of_vpc in backend.groups.values() for group in of_vpc.values()]
            named = [*backend.key_pairs, *(group.name for group in groups)]
            disks = [name for name in backend.volumes if backend.tags.get(name)]
            return [name for name in named if name != "default"] + disks

    def did(self, action: str) -> list[Call]:
        return [call for call in self.calls if call.action == action]

    # --- one call -----------------------------------------------------------------------------

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        call = Call.read(environ, body)
        slow_s = self._happens(Fault.SLOW_ANSWER) or 0.0
        time.sleep(slow_s / 2)
        try:
            with self._lock:
                answer, status, headers = self._answer(call, environ, body)
        except Refused as refused:
            start_response(f"{refused.status} Refused", [("Content-Type", "text/xml")])
            return [error_body(call, refused)]
        except Cut:
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError from None
        time.sleep(slow_s / 2)
        start_response(status, list(headers))
        return answer

    def _answer(self, call: Call, environ: dict[str, Any], body: bytes) -> Answer:
        self.calls.append(call)
        self.backend(call.region)
        self.settle()
        self._check(call)
        own = {
            "CreateSecurityGroup": self._create_group,
            "GetConsoleOutput": self._console,
            "GetParameter": self._parameter,
            "GetEbsDefaultKmsKeyId": self.regions.default_key,
            "GetEbsEncryptionByDefault": self.regions.encryption,
            "GetServiceQuota": self.regions.quota,
            "RunInstances": self._run,
            "TerminateInstances": self._terminate,
            "DeleteSecurityGroup": self._delete_group,
        }.get(call.action, self._pass)
        return own(call, environ, body)

    def _pass(self, call: Call, environ: dict[str, Any], body: bytes) -> Answer:
        """moto answers."""
        again = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        answer, status, headers = run_wsgi_app(self._moto, again, buffered=True)
        whole = b"".join(answer)
        if call.action == "AssumeRole" and (key := re.search(rb"<AccessKeyId>(\w+)<", whole)):
            self._principals[key[1].decode()] = ""
            secret = rb"<(?:SecretAccessKey|SessionToken)>([^<]+)<"
            self.lent += [found.decode() for found in re.findall(secret, whole)]
        return [whole], status, headers

    def _check(self, call: Call) -> None:
        """Faults of any call, who calls, and whether the policy lets them."""
        for number, (action, refused) in enumerate(self._errors):
            if action == call.action:
                del self._errors[number]
                raise refused
        if self._happens(Fault.THROTTLED) is not None:
            raise Refused("RequestLimitExceeded", RATE, 503)
        is_closed = call.region in self.closed_regions and call.service == "ec2"
        is_unknown = call.key not in self._principals or self._happens(Fault.AUTH) is not None
        if is_unknown or is_closed:
            code = {"ec2": "AuthFailure", "sts": "InvalidClientTokenId"}
            raise Refused(code.get(call.service, "UnrecognizedClientException"), "who?", 403)
        self._authorize(call)

    def _authorize(self, call: Call) -> None:
        backend = self.backend(call.region)
        principal = self._principals[call.key]
        if call.action == "GetCallerIdentity" or principal is None:
            return
        if call.action == "AssumeRole":
            said = {"sts:ExternalId": call.parameters.get("ExternalId", "")}
            if not self._trust.allows(Asked("sts:AssumeRole", "*", said, principal)):
                raise Refused("AccessDenied", f"{principal} may not", 403)
            return

        def marks(name: str) -> dict[str, str]:
            key_pair = backend.key_pairs.get(name)
            return dict(backend.tags.get(key_pair.id if key_pair else name, {}))

        def owner(image: str) -> str:
            return str(backend.amis[image].owner_id) if image in backend.amis else ""

        for permission in asked(call, marks, owner):
            if self.organisation is not None and not self.organisation.allows(permission):
                raise denied(permission, " with an explicit deny in a service control policy")
            if principal or not self.policy.allows(permission):
                raise denied(permission)

    def _happens(self, name: str, zone: str = "") -> float | None:
        """The fault's seconds when it happens now."""
        rule = self._rules.get((name, zone)) or self._rules.get((name, ""))
        if rule is None:
            return None
        if rule.times > 0:
            rule.times -= 1
        elif self._random.random() >= rule.probability:
            return None
        self.faults.append(name)
        return rule.seconds

    # --- launch -------------------------------------------------------------------------------

    def _run(self, call: Call, environ: dict[str, Any], body: bytes) -> Answer:
        if call.parameters.get("DryRun") == "true":
            raise self.regions.tried(call)
        if self._happens(Fault.LOST_REQUEST) is not None:
            raise Cut
        place = call.zone or call.first(r"(NetworkInterface\.\d+\.)?SubnetId")
        launch = (call.region, place, call.token)  # tokens are those of a zone where one is named
        if launch in self._launches:
            parameters, answer = self._launches[launch]
            if parameters != call.parameters:
                raise Refused("IdempotentParameterMismatch", "Arguments are inconsistent")
        else:
            answer = self._made(call, environ, body)
            self._launches[launch] = call.parameters, answer
        if self._happens(Fault.LOST_ANSWER) is not None:
            raise Cut
        return answer

    def _made(self, call: Call, environ: dict[str, Any], body: bytes) -> Answer:
        self.regions.check(call)
        if self._happens(Fault.QUOTA) is not None or self.regions.is_full(call, self.rented):
            raise Refused("VcpuLimitExceeded", VCPU_LIMIT)
        if self._happens(Fault.CAPACITY, call.zone) is not None:
            raise Refused("InsufficientInstanceCapacity", "no such machine is free", 500)
        if self._happens(Fault.DOUBLED) is not None:
            body = body.replace(b"MinCount=1", b"MinCount=2")
        backend = self.backend(call.region)
        before = set(backend.reservations)
        answer = self._pass(call, environ, body)
        for reservation in [
            backend.reservations[new] for new in backend.reservations.keys() - before
        ]:
            for instance in reservation.instances:
                self.fleet.rent(call, instance, reservation, has_key=self.regions.is_key_usable)
        self.settle()
        # moto knows an address before the machine has one.
        whole = re.sub(rb"<(ipAddress|publicIp)>[^<]*</\1>", b"", b"".join(answer[0]))
        return [whole], answer[1], [h for h in answer[2] if h[0].lower() != "content-length"]

    # --- the other calls ------------------------------------------------------------------------

    def _terminate(self, call: Call, environ: dict[str, Any], body: bytes) -> Answer:
        if self._happens(Fault.TERMINATE_FAILED) is not None:
            raise Refused("Unavailable", "out of order", 503)
        before = {rented.id for rented in self.rented if rented.ended_at is not None}
        answer = self._pass(call, environ, body)
        for rented in self.rented:
            if rented.id in call.parameters.values() and answer[1].startswith("200"):
                instance = next(one for one in rented.reservation.instances if one.id == rented.id)
                if rented.id not in before:
                    self.fleet.switch_off(rented)
                    self.fleet.over(rented, instance, USER, by="User")
        if self._happens(Fault.TERMINATE_LOST) is not None:
            raise Cut
        return answer

    def _create_group(self, call: Call, environ: dict[str, Any], body: bytes) -> Answer:
        self.regions.check_group(call)
        return self._pass(call, environ, body)

    def _delete_group(self, call: Call, environ: dict[str, Any], body: bytes) -> Answer:
        group = call.parameters["GroupId"]
        for rented in self.rented:
            instance = next(one for one in rented.reservation.instances if one.id == rented.id)
            of_machine = {one.id for nic in instance.nics.values() for one in nic.group_set}
            if instance.state != "terminated" and group in of_machine:
                raise Refused("DependencyViolation", f"resource {group} has a dependent object")
        return self._pass(call, environ, body)

    def _console(self, call: Call, environ: dict[str, Any], body: bytes) -> Answer:
        number = call.parameters["InstanceId"]
        found = [one for one in self.rented if one.id == number and time.time() >= one.visible_at]
        if not found:
            raise Refused("InvalidInstanceID.NotFound", f"The instance ID '{number}' is unknown")
        rented = found[0]
        if OLD.match(rented.machine_type) and call.parameters.get("Latest") == "true":
            raise Refused("UnsupportedOperation", "This instance type does not support it")
        text = console(rented) if time.time() >= rented.console_at else ""
        output = f"<output>{base64.b64encode(text.encode()).decode()}</output>" if text else ""
        return xml("GetConsoleOutputResponse", f"<instanceId>{number}</instanceId>{output}")

    def _parameter(self, call: Call, environ: dict[str, Any], body: bytes) -> Answer:
        found = PARAMETER.fullmatch(call.parameters["Name"])
        if found is None:
            return self._pass(call, environ, body)
        image = self.images[{"amd64": "x86_64"}.get(found[1], found[1])]
        parameter = {"Name": found[0], "Type": "String", "Value": image, "Version": 1}
        document = json.dumps({"Parameter": parameter}).encode()
        return [document], "200 OK", [("Content-Type", "application/x-amz-json-1.1")]


class _Silent(MotoRequestHandler):
    """Without a line for each request."""

    def log_request(self, *_: Any) -> None:
        """Nothing."""
