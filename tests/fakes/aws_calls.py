"""One call to the API of AWS as it comes over the wire, what of it a policy is asked for, and the
forms of answers."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from tests.fakes.policy import Asked

ACCOUNT = "123456789012"
# Body, status and headers.
Answer = tuple[Iterable[bytes], str, Any]
# The tags of something by its id (a key pair: by its name).
Marks = Callable[[str], Mapping[str, str]]

# By action: the kind of thing it is done to, and the parameter with its id.
RESOURCES = {
    "AuthorizeSecurityGroupIngress": ("security-group", "GroupId"),
    "DeleteSecurityGroup": ("security-group", "GroupId"),
    "DeleteKeyPair": ("key-pair", "KeyName"),
    "DeleteVolume": ("volume", "VolumeId"),
    "ReleaseAddress": ("elastic-ip", "AllocationId"),
    "GetConsoleOutput": ("instance", "InstanceId"),
    "StopInstances": ("instance", "InstanceId.1"),
    "TerminateInstances": ("instance", "InstanceId.1"),
    "AssociateIamInstanceProfile": ("instance", "InstanceId"),
}
BY_PREFIX = {"i": "instance", "vol": "volume", "sg": "security-group", "eni": "network-interface"}


@dataclass(frozen=True)
class Call:
    """`parameters` as in the form, or the members of a JSON document."""

    service: str
    action: str
    region: str
    key: str
    """Who signed it: the id of an access key."""
    parameters: dict[str, str]
    at: float = field(default_factory=time.time)

    @classmethod
    def read(cls, environ: Mapping[str, Any], body: bytes) -> "Call":
        signed = environ.get("HTTP_AUTHORIZATION", "")
        key, _, region, service, _ = signed.partition("Credential=")[2].split(",")[0].split("/")
        if target := environ.get("HTTP_X_AMZ_TARGET"):
            return cls(service, target.rpartition(".")[2], region, key, json.loads(body))
        form = dict(parse_qsl(body.decode(), keep_blank_values=True))
        return cls(service, form.pop("Action"), region, key, form)

    @property
    def token(self) -> str:
        return self.parameters.get("ClientToken", "")

    @property
    def zone(self) -> str:
        return self.parameters.get("Placement.AvailabilityZone", "")

    def tags(self, kind: str) -> dict[str, str]:
        """What the call says that things of a kind are to be marked with when they are made."""
        given = self.parameters
        for number in self._numbers(r"TagSpecification\.(\d+)\.ResourceType"):
            start = f"TagSpecification.{number}"
            if given[f"{start}.ResourceType"] == kind:
                keys = self._numbers(re.escape(start) + r"\.Tag\.(\d+)\.Key")
                return {
                    given[f"{start}.Tag.{n}.Key"]: given.get(f"{start}.Tag.{n}.Value", "")
                    for n in keys
                }
        return {}

    def tagged_kinds(self) -> list[str]:
        numbers = self._numbers(r"TagSpecification\.(\d+)\.ResourceType")
        return [self.parameters[f"TagSpecification.{number}.ResourceType"] for number in numbers]

    def _numbers(self, pattern: str) -> list[str]:
        found = (re.fullmatch(pattern, name) for name in self.parameters)
        return [match[1] for match in found if match]

    def first(self, pattern: str) -> str:
        """The value of the first parameter whose name is of the pattern; "" for none."""
        return next((v for k, v in self.parameters.items() if re.fullmatch(pattern, k)), "")


def asked(call: Call, marks: Marks, owner: Callable[[str], str]) -> Iterator[Asked]:
    """Every permission that AWS demands for the call; `owner` is that of an image."""
    region = {"aws:RequestedRegion": call.region}
    action = f"{call.service}:{call.action}"
    given = call.parameters
    if call.service == "ssm":
        yield Asked(action, f"arn:aws:ssm:{call.region}::parameter{given['Name']}", region)
    elif call.action == "RunInstances":
        yield from _launch(call, marks, owner)
    elif call.action in {"ImportKeyPair", "CreateSecurityGroup"}:
        kind = {"ImportKeyPair": "key-pair", "CreateSecurityGroup": "security-group"}[call.action]
        yield Asked(action, _arn(call, kind, "new"), region | _requested(call, kind))
        if kind == "security-group":
            yield Asked(action, _arn(call, "vpc", given.get("VpcId", "vpc-default")), region)
        yield from _marking(call)
    elif call.action in {"CreateTags", "DeleteTags"}:
        thing = given["ResourceId.1"]
        kind = BY_PREFIX[thing.partition("-")[0]]
        wanted = {f"aws:RequestTag/{given['Tag.1.Key']}": given.get("Tag.1.Value", "")}
        yield Asked(action, _arn(call, kind, thing), region | _has(marks(thing)) | wanted)
    elif call.action in RESOURCES:
        kind, name = RESOURCES[call.action]
        yield Asked(action, _arn(call, kind, given[name]), region | _has(marks(given[name])))
    else:
        yield Asked(action, "*", region)


def _launch(call: Call, marks: Marks, owner: Callable[[str], str]) -> Iterator[Asked]:
    given, region = call.parameters, {"aws:RequestedRegion": call.region}
    machine = {
        "ec2:InstanceType": given["InstanceType"],
        "ec2:MetadataHttpTokens": given.get("MetadataOptions.HttpTokens", "optional"),
        "ec2:MetadataHttpPutResponseHopLimit": given.get(
            "MetadataOptions.HttpPutResponseHopLimit", "1"
        ),
    }
    if profile := call.first(r"IamInstanceProfile\.\w+"):
        machine["ec2:InstanceProfile"] = f"arn:aws:iam::{ACCOUNT}:instance-profile/{profile}"
        yield Asked("iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/{profile}", region)
    for kind in ("instance", "volume", "network-interface"):
        more = machine if kind == "instance" else {}
        yield _run(call, _arn(call, kind, "new"), _requested(call, kind) | more)
    image = given["ImageId"]
    yield _run(call, f"arn:aws:ec2:{call.region}::image/{image}", {"ec2:Owner": owner(image)})
    if key := given.get("KeyName"):
        yield _run(call, _arn(call, "key-pair", key), _has(marks(key)))
    groups = [v for k, v in given.items() if "SecurityGroupId" in k or ".SecurityGroupId" in k]
    for group in groups or ["sg-default"]:
        yield _run(call, _arn(call, "security-group", group), _has(marks(group)))
    subnet = call.first(r"(NetworkInterface\.\d+\.)?SubnetId") or "subnet-default"
    yield _run(call, _arn(call, "subnet", subnet), {})
    if given.get("InstanceMarketOptions.MarketType") == "spot":
        yield _run(call, _arn(call, "spot-instances-request", "new"), {})
    yield from _marking(call)


def _run(call: Call, arn: str, context: Mapping[str, str]) -> Asked:
    return Asked("ec2:RunInstances", arn, {"aws:RequestedRegion": call.region, **context})


def _marking(call: Call) -> Iterator[Asked]:
    """Marking something while it is made is a permission of its own."""
    for kind in call.tagged_kinds():
        context = {"ec2:CreateAction": call.action, "aws:RequestedRegion": call.region}
        yield Asked("ec2:CreateTags", _arn(call, kind, "new"), context | _requested(call, kind))


def _requested(call: Call, kind: str) -> dict[str, str]:
    return {f"aws:RequestTag/{key}": value for key, value in call.tags(kind).items()}


def _has(tags: Mapping[str, str]) -> dict[str, str]:
    return {f"aws:ResourceTag/{key}": value for key, value in tags.items()}


def _arn(call: Call, kind: str, name: str) -> str:
    return f"arn:aws:ec2:{call.region}:{ACCOUNT}:{kind}/{name}"


# --- answers ---------------------------------------------------------------------------------------


class Refused(Exception):
    """The call is answered with an error."""

    def __init__(self, code: str, message: str = "", status: int = 400) -> None:
        super().__init__(code)
        self.code, self.message, self.status = code, message, status


def denied(permission: Asked, why: str = "") -> Refused:
    message = (
        f"You are not authorized to perform this operation: {permission.action} on "
        f"{permission.resource}{why}. Encoded authorization failure message: {'x' * 500}"
    )
    return Refused("UnauthorizedOperation", message, 403)


def xml(name: str, inner: str) -> Answer:
    text = f'<{name} xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">{inner}</{name}>'
    return [text.encode()], "200 OK", [("Content-Type", "text/xml")]


def error_body(call: Call, refused: Refused) -> bytes:
    code, message = escape(refused.code), escape(refused.message)
    inner = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    if call.service == "ec2":
        return f"<Response><Errors>{inner}</Errors><RequestID>1</RequestID></Response>".encode()
    if call.service == "sts":
        return f"<ErrorResponse>{inner}<RequestId>1</RequestId></ErrorResponse>".encode()
    return json.dumps({"__type": refused.code, "message": refused.message}).encode()
