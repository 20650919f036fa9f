"""What we send is checked against the vendors' own models: botocore's of AWS, the messages of
google-cloud-compute. That of Azure is in test_azure.py.

Their clients check less: botocore lets words through that an enumeration does not have, and Google's
library sends every word as it is.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import proto
import pytest
from botocore.client import BaseClient
from botocore.model import Shape
from botocore.validate import ParamValidator
from google.cloud import compute_v1
from google.protobuf import json_format

from backend.providers.aws.driver import AwsDriver
from backend.providers.gcp.driver import GcpDriver
from backend.providers.machines import Access
from tests.fakes.aws import FakeAws
from tests.fakes.gcp import Gce
from tests.fakes.machines import Machines
from tests.workers.aws_account import SPEC as AWS_SPEC
from tests.workers.aws_account import TAG, TOKEN, ended
from tests.workers.rented_machines import Clock
from tests.workers.test_gcp import SPEC as GCP_SPEC

# --- AWS ------------------------------------------------------------------------------------------


def _outside(shape: Shape, sent: Any, path: str = "") -> list[str]:
    """Words that their enumeration does not have, and names that the model does not know."""
    if shape.type_name == "structure":
        return [
            bad
            for key, value in sent.items()
            for bad in (
                _outside(shape.members[key], value, f"{path}/{key}")
                if key in shape.members
                else [f"{path}/{key}"]
            )
        ]
    if shape.type_name == "list":
        return [
            bad
            for index, one in enumerate(sent)
            for bad in _outside(shape.member, one, f"{path}/{index}")
        ]
    words = getattr(shape, "enum", None)
    return [f"{path}: {sent}"] if words and sent not in words else []


def _faults(shape: Shape, sent: Any) -> list[str]:
    report = ParamValidator().validate(sent, shape)
    return [*([report.generate_report()] if report.has_errors() else []), *_outside(shape, sent)]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Shape, Any]]:
    """Every call that a client of AWS makes: its name, the model of its input, and what is sent."""
    made: list[tuple[str, Shape, Any]] = []
    call = BaseClient._make_api_call

    def noted(self: Any, operation: str, parameters: Any) -> Any:
        shape = self.meta.service_model.operation_model(operation).input_shape
        made.append((operation, shape, parameters))
        return call(self, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", noted)
    return made


AWS_LAUNCHES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "on demand": ({}, {}),
    "spot": ({"is_spot": True}, {}),
    "arm": ({"machine_type": "t4g.micro", "arch": "arm64"}, {}),
    "unlimited": ({"machine_type": "t3.micro", "credit_mode": "unlimited"}, {}),
    "private": ({}, {"address": "private"}),
    "tags": ({}, {"tags": {"CostCenter": "42"}}),
    "from": ({}, {"allowed_cidrs": ["192.0.2.0/24"]}),
}
LIFE_AT_AWS = {
    *("GetParameter", "DescribeImages", "ImportKeyPair", "CreateSecurityGroup"),
    *("AuthorizeSecurityGroupIngress", "RunInstances", "DescribeInstances"),
    *("TerminateInstances", "DeleteSecurityGroup", "DeleteKeyPair"),
}


@pytest.mark.parametrize("name", AWS_LAUNCHES)
async def test_every_call_of_aws_fits_the_model_of_botocore(tmp_path: Path, calls, name):
    changed, settings = AWS_LAUNCHES[name]
    with FakeAws(tmp_path) as aws:
        access = aws.access()
        driver = AwsDriver(replace(access, settings={**access.settings, **settings}))
        made = await driver.launch(replace(AWS_SPEC, **changed), TOKEN)
        await driver.describe(made)
        await driver.console_fingerprint(made)
        await driver.let_in(made, "192.0.2.7")
        await driver.inventory(TAG)
        await driver.preflight(AWS_SPEC.region, TAG)
        await ended(driver)
    assert {operation for operation, _, _ in calls} >= LIFE_AT_AWS
    assert [bad for _, shape, sent in calls for bad in _faults(shape, sent)] == []


def test_word_that_no_enumeration_of_aws_has_is_seen():
    shape, sent = _run_instances(), {"MinCount": 1, "MaxCount": 1}
    options = {"MetadataOptions": {"HttpTokens": "needed"}}
    assert _faults(shape, sent) == []
    assert _faults(shape, sent | options) == ["/MetadataOptions/HttpTokens: needed"]
    (missing,) = _faults(shape, {"MaxCount": 1})
    assert "MinCount" in missing


def _run_instances() -> Shape:
    from botocore.session import get_session

    model = get_session().get_service_model("ec2").operation_model("RunInstances")
    assert model.input_shape is not None
    return model.input_shape


# --- Google ---------------------------------------------------------------------------------------


@pytest.fixture
def gce(tmp_path: Path) -> Iterator[Gce]:
    with Machines(tmp_path) as machines, Gce(machines, clock=Clock()) as running:
        yield running


def _enumeration(message: type[Any], field: str) -> set[str] | None:
    """The words of a field that is a string on the wire and has an enumeration of its own."""
    name = "".join(part.title() for part in field.split("_"))
    kind = getattr(message, name, None)
    words = getattr(kind, "__members__", None)
    return None if words is None else set(words)


def _foreign(message: Any) -> list[str]:
    """Words in the message, or below it, that their enumeration does not have."""
    bad = []
    kind = type(message)
    for field, value in kind.pb(message).ListFields():
        mine = getattr(message, field.name, None)
        words = _enumeration(kind, field.name)
        if words is not None and isinstance(value, str) and value not in words:
            bad.append(f"{kind.__name__}.{field.name}: {value}")
        for one in mine if isinstance(mine, Sequence) and not isinstance(mine, str) else [mine]:
            if isinstance(one, proto.Message):
                bad += _foreign(one)
    return bad


def _message(kind: Any, body: Any) -> Any:
    """The body read as the library's message; ParseError for a name that it does not know."""
    made = kind()
    json_format.ParseDict(body, kind.pb(made), ignore_unknown_fields=False)
    return made


GCP_LAUNCHES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "on demand": ({}, {}),
    "spot": ({"is_spot": True}, {}),
    "hyperdisk": ({"machine_type": "c4-standard-2"}, {}),
    "arm": ({"machine_type": "t2a-standard-1", "arch": "arm64", "zone": "us-central1-a",
             "region": "us-central1"}, {}),
    "private": ({}, {"address": "private"}),
    "platform": ({}, {"min_cpu_platform": "Intel Cascade Lake"}),
    "labels": ({}, {"tags": {"cost-center": "42"}}),
}  # fmt: skip
MESSAGES = {"instances": compute_v1.Instance, "firewalls": compute_v1.Firewall}


@pytest.mark.parametrize("name", GCP_LAUNCHES)
async def test_every_body_at_google_fits_the_messages_of_its_library(gce, name):
    changed, settings = GCP_LAUNCHES[name]
    known = {"project": gce.project, "regions": ["europe-west4", "us-central1"]}
    driver = GcpDriver(
        Access(
            kind="static_key",
            settings={**known, "endpoint_url": gce.url, **settings},
            secret={"service_account_json": "never to be seen by another address"},
        )
    )
    spec = replace(GCP_SPEC, **changed)
    made = await driver.launch(spec, TOKEN)
    gce.tick()
    await driver.let_in(made, "192.0.2.7")
    await driver.terminate(made)
    sent = [one for one in gce.asked if one.method == "POST" and one.body]
    kinds = [one.parts[-1] for one in sent]
    assert {*kinds} == {*MESSAGES}
    read = [_message(MESSAGES[kind], one.body) for kind, one in zip(kinds, sent, strict=True)]
    assert [bad for message in read for bad in _foreign(message)] == []
    # Times of a request are those of the API, and its id is a UUID.
    ids = [one.query["requestId"] for one in sent if "requestId" in one.query]
    assert ids
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one) for one in ids)


def test_name_or_word_that_google_does_not_know_is_seen():
    with pytest.raises(json_format.ParseError, match="machineSort"):
        _message(compute_v1.Instance, {"machineSort": "e2-small"})
    wrong = {"scheduling": {"provisioningModel": "SPOTTY"}, "networkInterfaces": [
        {"accessConfigs": [{"type": "NAT"}]}]}  # fmt: skip
    assert _foreign(_message(compute_v1.Instance, wrong)) == [
        "AccessConfig.type_: NAT",
        "Scheduling.provisioning_model: SPOTTY",
    ]
