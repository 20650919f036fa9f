"""The second factor of a person: time-based codes (TOTP) and recovery codes that work once each."""

import secrets
from base64 import b32encode
from urllib.parse import quote, urlencode

from django.db import transaction
from django_otp import match_token
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken

from backend.accounts.models import Authenticator, User, Workspace
from backend.accounts.selectors.tokens import token_digest, token_digests
from backend.accounts.services.audit import audit_record
from backend.core.crypto import seal
from backend.core.sealing import identity_of

ISSUER = "Rackrate"
RECOVERY_CODES = 10
_CODE_BYTES = 10
_KEY_BYTES = 20


@transaction.atomic
def second_factor_begin(*, user: User) -> Authenticator:
    """The device that waits for its first code; a new key where none waits."""
    # The person's row is locked, so that two pages at once show one key.
    User.objects.select_for_update().get(pk=user.pk)
    waiting = Authenticator.objects.filter(user=user, confirmed=False).first()
    if waiting is not None:
        return waiting
    device = Authenticator(user=user, confirmed=False, name=ISSUER)
    key = secrets.token_bytes(_KEY_BYTES)
    device.sealed_key = seal(key, identity=identity_of(device), ring=device.ring)
    device.save()
    return device


def authenticator_address(device: Authenticator) -> str:
    """Address that an app on a phone reads: the key and its owner."""
    label = quote(f"{ISSUER}:{device.user.get_username()}")
    query = urlencode({"secret": b32encode(device.key()).decode(), "issuer": ISSUER})
    return f"otpauth://totp/{label}?{query}"


@transaction.atomic
def second_factor_confirm(*, user: User, code: str, workspace: Workspace) -> list[str] | None:
    """Recovery codes, shown once, where the code is of the waiting device; None where it is not."""
    device = Authenticator.objects.select_for_update().filter(user=user, confirmed=False).first()
    if device is None or not device.verify_token(_digits(code)):
        return None
    Authenticator.objects.filter(user=user, confirmed=True).delete()
    device.confirmed = True
    device.save()
    StaticDevice.objects.filter(user=user).delete()
    codes = [_recovery_code() for _ in range(RECOVERY_CODES)]
    kept = StaticDevice.objects.create(user=user, name="recovery codes")
    StaticToken.objects.bulk_create(
        StaticToken(device=kept, token=_code_digest(code)) for code in codes
    )
    audit_record(workspace=workspace, actor=user.username, action="second_factor_set", target=user)
    return codes


def code_is_right(*, user: User, code: str) -> bool:
    """True if the code is the present one of the person's device, or a recovery code, which is
    used up; after failures codes are refused for a while, the longer the more there were."""
    text = code.strip().replace(" ", "").replace("-", "").lower()
    if text.isdecimal() and len(text) <= 8:
        return match_token(user, text) is not None
    # Under whichever pepper it is stored: each try counts as a failure, so one that is there goes first.
    kept = [_start(digest) for digest in token_digests(text)]
    stored = StaticToken.objects.filter(device__user=user, token__in=kept).first()
    return match_token(user, stored.token if stored else kept[0]) is not None


@transaction.atomic
def second_factor_remove(*, user: User, workspace: Workspace, actor: str) -> None:
    """Signing in asks the person for no code any more."""
    Authenticator.objects.filter(user=user).delete()
    StaticDevice.objects.filter(user=user).delete()
    audit_record(workspace=workspace, actor=actor, action="second_factor_remove", target=user)


def _digits(code: str) -> str:
    return "".join(sign for sign in code if sign.isdecimal())[:8]


def _recovery_code() -> str:
    return b32encode(secrets.token_bytes(_CODE_BYTES)).decode().lower()


def _code_digest(code: str) -> str:
    """Stored part of a recovery code: the start of its digest, as long as the column."""
    return _start(token_digest(code))


def _start(digest: bytes) -> str:
    return digest.hex()[:16]
