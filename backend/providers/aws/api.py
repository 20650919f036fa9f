"""The way to the API of AWS: who we are there, clients, and what its errors mean to us.

Credentials that a role lends are kept in this process until shortly before they end.
"""

import datetime as dt
import hashlib
import json
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore import exceptions as boto_errors
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.loaders import create_loader
from botocore.parsers import ResponseParserError

from backend.foundation.errors import DriverError, Reason
from backend.foundation.redaction import redact
from backend.providers.base import ASSUME_ROLE, STATIC_KEY, WORKLOAD_IDENTITY
from backend.providers.machines import Access, plain_words

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client
    from types_boto3_pricing import PricingClient
    from types_boto3_ssm import SSMClient
    from types_boto3_sts import STSClient

for _name in ("boto3", "botocore"):
    # What they say below this level holds signed headers and the answers of STS.
    logging.getLogger(_name).setLevel(logging.WARNING)

# ResponseParserError is no BotoCoreError: an answer that is not XML, such as a proxy's page.
ERRORS = (ClientError, BotoCoreError, ResponseParserError)
CONNECT_TIMEOUT_S = 4
# With the connection a call stays below the 20 s that a driver may take.
READ_TIMEOUT_S = 15
# Borrowed anew so long before they end, since a call that began with them must still be answered.
BEFORE_END = dt.timedelta(minutes=5)
# Clients take memory, and a server with many workspaces has many accounts. The next call makes new ones.
MAX_LOGINS = 200
MAX_MESSAGE_CHARACTERS = 300
# STS answers there for every account, also for those that opted into no other region.
HOME_REGION = "us-east-1"
CONFIG = Config(
    connect_timeout=CONNECT_TIMEOUT_S,
    read_timeout=READ_TIMEOUT_S,
    # The engine tries again: boto3's own attempts would outlast the step, and count against the bucket
    # once.
    retries={"total_max_attempts": 1, "mode": "standard"},
    # AWS_ENDPOINT_URL of the worker's environment would move every account's calls, with their signatures.
    ignore_configured_endpoint_urls=True,  # type: ignore[call-arg]
    # As many as threads may call at once; beyond the default of 10 boto3 throws connections away with a
    # warning.
    max_pool_connections=32,
)
# How long credentials are kept that a call may not have the right for.
REFUSED_S = 600


class Login:
    """Credentials and the clients made of them; every thread may use it."""

    def __init__(
        self,
        session: boto3.session.Session,
        *,
        endpoint_url: str | None,
        until: dt.datetime | None = None,
    ) -> None:
        self._session, self._endpoint_url, self._until = session, endpoint_url, until
        self._began_s = time.monotonic()
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    @property
    def is_fresh(self) -> bool:
        return self._until is None or dt.datetime.now(dt.UTC) < self._until - BEFORE_END

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._began_s

    def ec2(self, region: str) -> "EC2Client":
        client: EC2Client = self._client("ec2", region)
        return client

    def pricing(self, region: str) -> "PricingClient":
        client: PricingClient = self._client("pricing", region)
        return client

    def costs(self, region: str) -> Any:
        return self._client("ce", region)

    def quotas(self, region: str) -> Any:
        return self._client("service-quotas", region)

    def ssm(self, region: str) -> "SSMClient":
        client: SSMClient = self._client("ssm", region)
        return client

    def sts(self, region: str) -> "STSClient":
        client: STSClient = self._client("sts", region)
        return client

    def _client(self, service: Any, region: str) -> Any:
        # botocore.session is not safe to make clients from in several threads; the clients are.
        with self._lock:
            if (service, region) not in self._clients:
                self._clients[service, region] = self._session.client(
                    service, region_name=region, endpoint_url=self._endpoint_url, config=CONFIG
                )
            return self._clients[service, region]


@contextmanager
def bodies(call: Any) -> Iterator[list[bytes]]:
    """Collects the bodies of a client method's answers as they came, before they are parsed.

    `call` is a method of a client that no other thread calls meanwhile.
    """
    received: list[bytes] = []
    client = call.__self__
    operation = client.meta.method_to_api_mapping[call.__name__]
    event = f"before-parse.{client.meta.service_model.service_id.hyphenize()}.{operation}"

    def keep(response_dict: Mapping[str, Any], **_: Any) -> None:
        # Kept as evidence as it came: what boto3 makes of it drops fields that it does not know.
        received.append(response_dict["body"])

    client.meta.events.register(event, keep)
    try:
        yield received
    finally:
        client.meta.events.unregister(event, keep)


_LOADER = create_loader()
_logins: dict[str, Login] = {}
_lock = threading.Lock()


def login(access: Access) -> Login:
    """The account's credentials, taken over from an earlier call while they last.

    Raises errors of botocore, see `failure`.
    """
    key = _key(access)
    with _lock:
        known = _logins.get(key)
    if known is not None and known.is_fresh:
        return known
    # Outside the lock: one account whose STS is silent must not hold up all others. Two may log in at once.
    made = _make_login(access)
    with _lock:
        if len(_logins) >= MAX_LOGINS:
            _logins.clear()
        _logins[key] = made
    return made


def forget(access: Access, *, least_age_s: float = 0) -> None:
    """Credentials were refused: ask for new ones next time, unless these are younger."""
    key = _key(access)
    with _lock:
        known = _logins.get(key)
        if known is not None and known.age_s >= least_age_s:
            del _logins[key]


def home(access: Access) -> str:
    # Asked who we are where machines are rented: an organisation may forbid every other region.
    regions = access.settings.get("regions") or [HOME_REGION]
    return str(regions[0])


def _key(access: Access) -> str:
    # Another secret never finds what was lent for the right one. Hashed, so that no secret is a key in
    # memory.
    settings = {name: access.settings.get(name) for name in ("role_arn", "external_id")}
    parts = [access.kind, settings, access.settings.get("endpoint_url"), dict(access.secret)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _make_login(access: Access) -> Login:
    endpoint_url = access.settings.get("endpoint_url")
    if access.kind not in {STATIC_KEY, ASSUME_ROLE, WORKLOAD_IDENTITY}:
        raise DriverError(
            Reason.AUTH, f"no such authentication method: {access.kind}", retryable=False
        )
    if access.kind == STATIC_KEY or (access.kind == ASSUME_ROLE and access.secret):
        key = [access.secret.get(name) for name in ("access_key_id", "secret_access_key")]
        if not all(key):
            # boto3 would look for another identity, which is not this account's.
            raise DriverError(Reason.AUTH, "the account has no whole key", retryable=False)
        session = _session(aws_access_key_id=key[0], aws_secret_access_key=key[1])
    else:
        session = _session()  # the identity of the worker's own machine
    own = Login(session, endpoint_url=endpoint_url)
    return _lent(access, own) if access.kind == ASSUME_ROLE else own


def _session(**credentials: str | None) -> boto3.session.Session:
    # The data files of the API take the better part of a second to read, so all sessions share one loader.
    core = botocore.session.Session()
    core.register_component("data_loader", _LOADER)
    return boto3.session.Session(botocore_session=core, **credentials)


def _lent(access: Access, own: Login) -> Login:
    """Credentials lent by the role."""
    answer = own.sts(home(access)).assume_role(
        RoleArn=str(access.settings.get("role_arn", "")),
        # CloudTrail shows the calls under this name.
        RoleSessionName="rackrate",
        # The role's policy asks for it: nobody can have another one's role assumed by naming it in
        # an account here.
        ExternalId=str(access.settings.get("external_id", "")),
    )
    lent = answer["Credentials"]
    session = _session(
        aws_access_key_id=lent["AccessKeyId"],
        aws_secret_access_key=lent["SecretAccessKey"],
        aws_session_token=lent["SessionToken"],
    )
    endpoint_url = access.settings.get("endpoint_url")
    return Login(session, endpoint_url=endpoint_url, until=lent["Expiration"])


# --- errors ---------------------------------------------------------------------------------------


def code(error: ClientError) -> str:
    """The API's own name of what went wrong."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_unknown(error: ClientError) -> bool:
    """True if the API says that it knows no such thing."""
    # InvalidInstanceID.NotFound, InvalidGroup.NotFound …: EC2 has such a name for each kind of thing.
    return code(error).endswith(".NotFound")


@contextmanager
def allowing(*codes: str) -> Iterator[None]:
    """Errors of these names are fine."""
    try:
        yield
    except ClientError as error:
        if code(error) not in codes:
            raise


# In the message of an InvalidParameterCombination (github.com/kubernetes-sigs/karpenter/issues/9004).
FREE_PLAN = "not eligible for Free Tier"
FREE_PLAN_REFUSAL = (
    "the AWS account is on the free plan, which does not include this type:"
    " upgrade the account to the paid plan"
)
# (reason, whether the same call may succeed later), as in DriverError.
_THROTTLED = (Reason.TIMEOUT, True)
_FULL = (Reason.QUOTA, False)
_NO_CAPACITY = (Reason.CAPACITY, True)
_REFUSED = (Reason.AUTH, False)
_NOT_YET = (Reason.UNSUPPORTED, True)
_NEVER = (Reason.UNSUPPORTED, False)
_NOBODY_KNOWS = (Reason.TIMEOUT, True)

CODES: Mapping[str, tuple[Reason, bool]] = {
    **dict.fromkeys(
        (
            "RequestLimitExceeded",
            "Throttling",
            "ThrottlingException",
            "ThrottledException",
            "RequestThrottled",
            "RequestThrottledException",
            "TooManyRequestsException",
            # Of Cost Explorer, which has no other limit than that of calls.
            "LimitExceededException",
            "EC2ThrottledException",
            "PriorRequestNotComplete",
            "BandwidthLimitExceeded",
            "SlowDown",
        ),
        _THROTTLED,
    ),
    # Two quotas whose names do not end as those of all others (see `meaning`).
    **dict.fromkeys(("MaxSpotInstanceCountExceeded", "InstanceQuotaExceeded"), _FULL),
    **dict.fromkeys(
        (
            "InsufficientInstanceCapacity",
            "InsufficientCapacity",
            # The market may come down again, and another zone has a price of its own.
            "SpotMaxPriceTooLow",
            "InsufficientHostCapacity",
            "InsufficientReservedInstanceCapacity",
            # Of a subnet, which lies in one zone: that of another zone has addresses of its own.
            "InsufficientFreeAddressesInSubnet",
        ),
        _NO_CAPACITY,
    ),
    **dict.fromkeys(
        (
            "UnauthorizedOperation",
            "AccessDenied",
            "AccessDeniedException",
            "AuthFailure",
            "InvalidClientTokenId",
            "SignatureDoesNotMatch",
            "UnrecognizedClientException",
            "IncompleteSignature",
            "MissingAuthenticationToken",
            # Of a region or a service that the account has not subscribed to: only a person can change
            # that.
            "OptInRequired",
            "Blocked",
            "InvalidAccessKeyId",
            "PendingVerification",
            "OperationNotPermitted",
        ),
        _REFUSED,
    ),
    # Lent credentials that ended, or a clock that is wrong: `forget` brings new ones.
    **dict.fromkeys(
        ("ExpiredToken", "ExpiredTokenException", "RequestExpired"), (Reason.AUTH, True)
    ),
    **dict.fromkeys(
        (
            # What still hangs on a machine that is ending: a later call meets it gone.
            "DependencyViolation",
            "VolumeInUse",
            "InvalidIPAddress.InUse",
            "InvalidGroup.InUse",
            "IncorrectInstanceState",
            "IncorrectState",
            "InvalidNetworkInterface.InUse",
            # Made a moment ago, and not known everywhere yet.
            "InvalidGroup.NotFound",
            "InvalidGroupId.NotFound",
            "InvalidKeyPair.NotFound",
            "InvalidInstanceID.NotFound",
        ),
        _NOT_YET,
    ),
    # The token was used with other parameters: a machine of that launch may exist (see driver._launched).
    "IdempotentParameterMismatch": _NEVER,
}


def meaning(name: str, message: str, status: int) -> tuple[Reason, bool]:
    """The reason of an error by its name, and whether the same call may succeed later."""
    if name in CODES:
        return CODES[name]
    if status == 429:
        return _THROTTLED
    # VcpuLimitExceeded, InstanceLimitExceeded, …: a new account may have as few as 5 vCPUs.
    # RequestLimitExceeded, which only throttles, is in the table above.
    if name.endswith("LimitExceeded"):
        return _FULL
    is_of_zone = name in {"Unsupported", "MissingInput"} and "availability zone" in message.lower()
    if is_of_zone:
        return _NO_CAPACITY  # no machines of the type or no default subnet; another zone may have
    # After a fault of theirs the machine may have been made: the same token is asked for again.
    return _NOBODY_KNOWS if status >= 500 else _NEVER


def failure(error: Exception, access: Access) -> DriverError:
    """Meaning of one of ERRORS, in our words; no secret is in it."""
    if isinstance(error, ClientError):
        message = str(error.response.get("Error", {}).get("Message", ""))
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        reason, is_retryable = meaning(code(error), message, status)
        # Lent credentials may have been revoked; without this they would be tried until they end. But
        # a region that is not opted in refuses each look of the reaper, and new ones as well.
        if reason == Reason.AUTH:
            forget(access, least_age_s=0 if is_retryable else REFUSED_S)
        message = plain_words(message)
        # Some go on with the request as it was signed, or with pages of an encoded refusal.
        first = message.split("\n", maxsplit=1)[0].split(
            " Encoded authorization failure", maxsplit=1
        )[0]
        detail = f"{error.operation_name}: {code(error)}: {first[:MAX_MESSAGE_CHARACTERS]}"
        if FREE_PLAN in message:
            detail = f"{FREE_PLAN_REFUSAL} ({detail})"
    else:
        reason, is_retryable = _reason_of_silence(error)
        detail = f"AWS: {plain_words(str(error))[:MAX_MESSAGE_CHARACTERS]}"
    return DriverError(reason, redact(detail, access.secret), retryable=is_retryable)


def _reason_of_silence(error: Exception) -> tuple[Reason, bool]:
    # Nothing was sent, so nothing was made; after the request was sent it may have been.
    if isinstance(error, boto_errors.ConnectionError):
        return Reason.UNREACHABLE, True
    if isinstance(error, boto_errors.HTTPClientError | ResponseParserError):
        return _NOBODY_KNOWS
    if isinstance(
        error,
        boto_errors.NoCredentialsError
        | boto_errors.PartialCredentialsError
        | boto_errors.CredentialRetrievalError
        | boto_errors.ProfileNotFound
        | boto_errors.TokenRetrievalError,
    ):
        return _REFUSED
    return _NEVER
