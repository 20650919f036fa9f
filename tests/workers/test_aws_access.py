"""The ways into AWS: a lent role, the worker's own identity, a key; and that none is mistaken."""

import asyncio
import datetime as dt
import logging
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.aws import api as aws_api
from backend.providers.aws.driver import AwsDriver
from backend.providers.machines import Access
from tests.fakes.aws import (
    EXTERNAL_ID,
    KEY,
    REGION,
    ROLE,
    SECRET,
    WORKER_KEY,
    WORKER_SECRET,
    FakeAws,
)
from tests.workers.aws_account import TAG, aws, driver, ended, launched, owner

__all__ = ["aws", "driver", "owner"]


@pytest.fixture(autouse=True)
def _no_other_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an environment nor files nor a machine's own service lend us one."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    aws_api._logins.clear()


def assumed(aws: FakeAws, **settings: Any) -> Access:
    """The role, with the key of the worker."""
    given = {"role_arn": ROLE, "external_id": EXTERNAL_ID, **settings}
    secret = {"access_key_id": WORKER_KEY, "secret_access_key": WORKER_SECRET}
    return Access("assume_role", aws.access(**given).settings, secret)


async def test_whoami_is_the_name_that_aws_knows(aws, driver):
    assert await driver.whoami() == "arn:aws:sts::123456789012:user/moto"


async def test_role_launches_and_ends_when_the_external_id_is_right(aws):
    driver = AwsDriver(assumed(aws))
    await launched(driver)
    await ended(driver)
    assert (aws.alive(), aws.parts()) == ([], [])
    (lent,) = aws.did("AssumeRole")
    assert lent.parameters["ExternalId"] == EXTERNAL_ID
    assert {call.key for call in aws.calls} == {WORKER_KEY, aws.did("RunInstances")[0].key}
    assert (
        await driver.whoami() == "arn:aws:sts::123456789012:assumed-role/rackrate-launch/rackrate"
    )


async def test_what_a_role_lends_is_in_no_log_when_everything_is_logged(aws, caplog):
    caplog.set_level(logging.DEBUG)
    await AwsDriver(assumed(aws)).inventory(TAG)
    assert len(aws.lent) == 2
    assert caplog.text
    assert not [secret for secret in [*aws.lent, WORKER_SECRET] if secret in caplog.text]


def test_library_is_loaded_only_when_a_list_is_read():
    program = (
        "import sys, workers.remote.registry as r; before = 'boto3' in sys.modules; "
        "r.fetcher('aws', 'spot'); print(before, 'boto3' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("external_id", ["of-somebody-else", "no"])
async def test_role_is_not_lent_when_the_external_id_is_another(aws, external_id):
    driver = AwsDriver(assumed(aws, external_id=external_id))
    with pytest.raises(DriverError, match="AssumeRole: AccessDenied") as caught:
        await driver.whoami()
    assert (caught.value.reason, caught.value.retryable) == (Reason.AUTH, False)


async def test_role_is_not_lent_when_somebody_else_asks(aws):
    access = assumed(aws)
    other = replace(access, secret={"access_key_id": KEY, "secret_access_key": SECRET})
    with pytest.raises(DriverError, match="AccessDenied"):
        await AwsDriver(other).whoami()


async def test_role_is_lent_once_when_many_ask(aws):
    await AwsDriver(assumed(aws)).whoami()
    await asyncio.gather(*(AwsDriver(assumed(aws)).inventory(TAG) for _ in range(5)))
    assert len(aws.did("AssumeRole")) == 1


async def test_role_is_lent_again_when_its_end_is_near(aws):
    driver = AwsDriver(assumed(aws))
    await driver.whoami()
    (login,) = aws_api._logins.values()
    assert login._until is not None
    login._until = dt.datetime.now(dt.UTC) + aws_api.BEFORE_END
    await driver.whoami()
    assert len(aws.did("AssumeRole")) == 2


async def test_role_is_lent_again_when_aws_refuses_what_it_lent(aws):
    driver = AwsDriver(assumed(aws))
    await driver.whoami()
    aws.refuse("DescribeInstances", "ExpiredToken", "The security token is expired", 403)
    with pytest.raises(DriverError) as caught:
        await driver.inventory(TAG)
    assert (caught.value.reason, caught.value.retryable) == (Reason.AUTH, True)
    await driver.inventory(TAG)
    assert len(aws.did("AssumeRole")) == 2


async def test_role_is_lent_once_however_often_a_region_refuses_it(aws, monkeypatch):
    """The reaper looks each minute: a region that is not opted in must not end the login each time."""
    driver = AwsDriver(assumed(aws))
    await driver.whoami()
    for _look in range(3):
        aws.refuse("DescribeInstances", "AuthFailure", "AWS was not able to validate it", 401)
        with pytest.raises(DriverError, match="AuthFailure"):
            await driver.inventory(TAG)
    assert len(aws.did("AssumeRole")) == 1
    # it may have been revoked meanwhile: after ten minutes another one is asked for
    monkeypatch.setattr(aws_api, "REFUSED_S", 0)
    aws.refuse("DescribeInstances", "AuthFailure", "AWS was not able to validate it", 401)
    with pytest.raises(DriverError, match="AuthFailure"):
        await driver.inventory(TAG)
    await driver.inventory(TAG)
    assert len(aws.did("AssumeRole")) == 2


async def test_role_is_asked_for_anew_when_the_secret_is_another(aws):
    """Nobody gets by a wrong secret what was lent for the right one."""
    access = assumed(aws)
    await AwsDriver(access).whoami()
    wrong = replace(access, secret={**access.secret, "secret_access_key": "wrong-wrong"})
    await AwsDriver(wrong).whoami()
    assert len(aws.did("AssumeRole")) == 2


async def test_role_is_asked_for_with_the_workers_identity_when_no_key_is_given(aws, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", WORKER_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", WORKER_SECRET)
    await AwsDriver(replace(assumed(aws), secret={})).whoami()
    assert aws.did("AssumeRole")[0].key == WORKER_KEY


async def test_worker_uses_its_own_identity_when_the_account_says_so(aws, monkeypatch):
    own = Access("workload_identity", aws.access().settings)
    with pytest.raises(DriverError, match="credentials") as caught:
        await AwsDriver(own).whoami()
    assert (caught.value.reason, caught.value.retryable) == (Reason.AUTH, False)
    aws_api._logins.clear()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    await AwsDriver(own).whoami()
    assert aws.calls[-1].key == KEY


@pytest.mark.parametrize("secret", [{}, {"access_key_id": KEY}, {"secret_access_key": SECRET}])
async def test_worker_never_uses_its_own_identity_when_an_account_lacks_its_key(
    aws, monkeypatch, secret
):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", WORKER_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", WORKER_SECRET)
    with pytest.raises(DriverError, match="no whole key") as caught:
        await AwsDriver(Access("static_key", aws.access().settings, secret)).whoami()
    assert (caught.value.reason, aws.calls) == (Reason.AUTH, [])


async def test_calls_are_refused_when_aws_does_not_know_the_key(aws):
    access = aws.access()
    unknown = replace(access, secret={**access.secret, "access_key_id": "AKIANOBODY"})
    for call in (AwsDriver(unknown).whoami(), AwsDriver(unknown).inventory(TAG)):
        with pytest.raises(DriverError) as caught:
            await call
        assert (caught.value.reason, caught.value.retryable) == (Reason.AUTH, False)
        assert "AKIANOBODY" not in str(caught.value)


async def test_calls_go_to_aws_whatever_address_the_environment_names(aws, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)
    settings = {"regions": [REGION]}
    client = aws_api.login(Access("static_key", settings, aws.access().secret)).ec2(REGION)
    assert client.meta.endpoint_url == f"https://ec2.{REGION}.amazonaws.com"


async def test_unknown_authentication_method_is_refused(aws):
    with pytest.raises(DriverError, match="no such authentication method") as caught:
        await AwsDriver(Access("token", aws.access().settings)).whoami()
    assert caught.value.reason == Reason.AUTH


async def test_logins_stay_few_when_many_keys_are_used(aws, monkeypatch):
    monkeypatch.setattr(aws_api, "MAX_LOGINS", 3)
    for number in range(7):
        aws_api.login(
            replace(aws.access(), secret={"access_key_id": f"{number}", "secret_access_key": "x"})
        )
    assert len(aws_api._logins) <= 3
