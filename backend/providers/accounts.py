"""Accounts at providers: authentication, settings, secret.

A refusal names the field and never quotes a secret.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from backend.foundation.errors import InvalidValue
from backend.foundation.texts import text as _
from backend.foundation.webhooks import endpoint
from backend.providers.base import (
    STATIC_KEY,
    AuthMethod,
    ProviderRecord,
    SecretField,
    Setting,
    SettingForm,
)
from backend.providers.registry import PROVIDERS, provider

# The reaper asks every region of an account within the seconds that one account has.
MAX_REGIONS = 50
MAX_ENTRIES = 50
# The longest secret, the key file of a Google service account, has about 2,400 characters.
MAX_SECRET_CHARACTERS = 20_000
PRINTABLE = re.compile(r"[!-~]{8,4096}")
# Zones and regions become parts of addresses and of filters that providers read: no other characters.
ZONE = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")

# Settings that an account at every provider may have.
COMMON: Mapping[str, Setting] = MappingProxyType(
    {
        "image": Setting(
            _("Image"),
            r"[A-Za-z/][A-Za-z0-9._:/{}-]{0,249}",
            _("letters, digits and . _ - / : { } are allowed, a letter or / first"),
            _("Leave blank for the default Debian image."),
            form=SettingForm.BY_REGION,
        ),
        "username": Setting(
            _("User of the image"),
            r"[A-Za-z_][A-Za-z0-9_.-]{0,63}",
            _("letters, digits, _ . - are allowed, a letter first"),
            _("Leave blank for the default."),
        ),
        "bastion": Setting(
            _("Bastion"),
            r"[^\x00-\x1f\x7f]{1,100}",
            _("the name of a host is needed"),
            _("Name of an approved host through which workers log in, as to private addresses."),
        ),
    }
)


def account_providers() -> list[str]:
    """Slugs of the providers at which there can be an account."""
    return [slug for slug, record in PROVIDERS.items() if record.auth_methods]


# --- settings -------------------------------------------------------------------------------------


def check_settings(
    slug: str, access: str, settings: Mapping[str, object], *, are_endpoints_allowed: bool
) -> dict[str, Any]:
    """The settings as they are stored, regions and zones without repetition.

    Raises InvalidValue with a JSON pointer: /provider, /access or below /settings.
    """
    record, method = _record_and_method(slug, access)
    allowed = _setting_checks(record, method)
    for name in settings:
        if name not in allowed:
            raise InvalidValue(_pointer("/settings", name), f"unknown; known are {_list(allowed)}")
    # Forms send every field that they have: an empty one says that nothing is set.
    stated = {name: value for name, value in settings.items() if value not in (None, "", [], {})}
    # Every call there carries the account's credentials, so an address is as good as the secret.
    if "endpoint_url" in stated and not are_endpoints_allowed:
        raise InvalidValue(
            "/settings/endpoint_url", "other endpoints are not allowed on this server"
        )
    for name in (*record.required_settings, *method.settings):
        if name not in stated:
            raise InvalidValue(f"/settings/{name}", f"needed by {slug} with {access}")
    checked: dict[str, Any] = {
        name: check(stated[name], f"/settings/{name}")
        for name, check in allowed.items()
        if check is not None and name in stated
    }
    regions = _regions(record, stated.get("regions", []))
    zones = _zones(regions, stated.get("zones", {}))
    checked |= {"regions": regions} if regions else {}
    checked |= {"zones": zones} if zones else {}
    for name, setting in settings_of_account(record, method).items():
        if setting.form == SettingForm.BY_REGION and name in checked:
            _check_regions_of(setting, checked[name], regions, f"/settings/{name}")
    return checked


def settings_of_account(record: ProviderRecord, *methods: AuthMethod) -> dict[str, Setting]:
    """The settings of an account: common ones, the provider's, and those of its methods."""
    of_methods = {name: setting for method in methods for name, setting in method.settings.items()}
    return {**COMMON, **record.settings, **of_methods}


# Given a value and its JSON pointer: the value as it is stored, or InvalidValue.
Check = Callable[[object, str], object]


def _setting_checks(record: ProviderRecord, method: AuthMethod) -> dict[str, Check | None]:
    """The settings that an account may have, each with its check.

    None for regions and zones, which belong together and are checked as one.
    """
    return {
        "regions": None,
        "zones": None,
        "ssh_port": _port,
        "endpoint_url": _endpoint_url,
        **{
            name: _check_of(setting)
            for name, setting in settings_of_account(record, method).items()
        },
    }


def _check_of(setting: Setting) -> Check:
    def text(value: object, pointer: str) -> str:
        # fullmatch, since `$` of match lets a line feed pass that would begin a line of a header or a
        # script.
        if not isinstance(value, str) or not re.fullmatch(setting.pattern, value, re.ASCII):
            raise InvalidValue(pointer, setting.meaning)
        return value

    def by_name(value: object, pointer: str) -> object:
        return {
            name: text(item, _pointer(pointer, name)) for name, item in _entries(value, pointer)
        }

    def by_region(value: object, pointer: str) -> object:
        return by_name(value, pointer) if isinstance(value, Mapping) else text(value, pointer)

    def pairs(value: object, pointer: str) -> object:
        for name, item in _entries(value, pointer):
            text(f"{name}={item}", _pointer(pointer, name))
        return value

    def texts(value: object, pointer: str) -> object:
        if not isinstance(value, list) or len(value) > MAX_ENTRIES:
            raise InvalidValue(pointer, f"a list of at most {MAX_ENTRIES} texts is needed")
        return [text(item, f"{pointer}/{index}") for index, item in enumerate(value)]

    return {
        SettingForm.TEXT: text,
        SettingForm.BY_REGION: by_region,
        SettingForm.LIST: texts,
        SettingForm.PAIRS: pairs,
    }[setting.form]


def _entries(value: object, pointer: str) -> list[tuple[str, object]]:
    if not isinstance(value, Mapping) or len(value) > MAX_ENTRIES:
        raise InvalidValue(pointer, f"an object of at most {MAX_ENTRIES} texts is needed")
    return [(str(name), item) for name, item in value.items()]


def _check_regions_of(
    setting: Setting, value: object, regions: Sequence[str], pointer: str
) -> None:
    """Raises InvalidValue for a region that is not the account's, or one text for several."""
    if isinstance(value, Mapping):
        for region in value:
            if region not in regions:
                raise InvalidValue(_pointer(pointer, region), "not one of the account's regions")
    elif setting.is_of_one_region and len(regions) > 1:
        raise InvalidValue(pointer, f"lies in one region: name one for each of {_list(regions)}")


def _port(value: object, pointer: str) -> object:
    # True is an int to Python, and would be port 1.
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 65_535:
        raise InvalidValue(pointer, "a whole number from 1 to 65535 is needed")
    return value


def _endpoint_url(value: object, pointer: str) -> object:
    if not isinstance(value, str):
        raise InvalidValue(pointer, "an address is needed")
    # Emulators and gateways, the reason for other endpoints, stand in private networks.
    endpoint(value, is_private_allowed=True, field=pointer)
    return value


def _record_and_method(slug: str, access: str) -> tuple[ProviderRecord, AuthMethod]:
    providers = account_providers()
    if slug not in providers:
        raise InvalidValue("/provider", f"{slug!r} is not one of {_list(providers)}")
    record = provider(slug)
    if access not in record.auth_methods:
        raise InvalidValue("/access", f"{access!r} is not one of {_list(record.auth_methods)}")
    return record, record.auth_methods[access]


def _regions(record: ProviderRecord, value: object) -> list[str]:
    """Where machines may be rented; none for an account that only reads prices."""
    if not isinstance(value, list) or len(value) > MAX_REGIONS:
        raise InvalidValue(
            "/settings/regions", f"a list of at most {MAX_REGIONS} regions is needed"
        )
    for index, region in enumerate(value):
        if not isinstance(region, str) or not record.region.fullmatch(region):
            raise InvalidValue(
                f"/settings/regions/{index}", f"not a region's code such as {record.example_region}"
            )
    # A region named twice would be asked twice, and its machines counted twice.
    return list(dict.fromkeys(value))


def _zones(regions: Sequence[str], value: object) -> dict[str, list[str]]:
    if not isinstance(value, Mapping):
        raise InvalidValue("/settings/zones", "an object of lists by region is needed")
    checked: dict[str, list[str]] = {}
    for region, zones in value.items():
        pointer = _pointer("/settings/zones", str(region))
        if region not in regions:
            raise InvalidValue(pointer, "not one of the account's regions")
        if not isinstance(zones, list) or not zones:
            raise InvalidValue(pointer, "a list of zones is needed")
        for index, zone in enumerate(zones):
            if not isinstance(zone, str) or not ZONE.fullmatch(zone):
                raise InvalidValue(f"{pointer}/{index}", "not a zone's code")
            # AWS and Google, which have zones, begin their codes with the region's.
            if not zone.startswith(region):
                raise InvalidValue(f"{pointer}/{index}", f"not a zone of {region}")
        checked[region] = list(dict.fromkeys(zones))
    return checked


def _pointer(parent: str, name: str) -> str:
    # RFC 6901: the tilde first, or that of an escaped slash would be escaped again. Cut, as the
    # name comes from whoever asks.
    return f"{parent}/{name[:60].replace('~', '~0').replace('/', '~1')}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


# --- secrets --------------------------------------------------------------------------------------


def check_secret(
    slug: str, access: str, secret: Mapping[str, object], *, are_endpoints_allowed: bool
) -> dict[str, str]:
    """The secret fields of the authentication method; empty where it has none.

    Raises InvalidValue with a JSON pointer: /provider, /access or below /secret.
    """
    _, method = _record_and_method(slug, access)
    fields = method.secret_fields
    for name in secret:
        if name not in fields:
            known = _list(fields) or "none"
            raise InvalidValue(_pointer("/secret", name), f"unknown; known are {known}")
    stated = {name: value for name, value in secret.items() if value not in (None, "")}
    for group in method.optional:
        # Half a pair is refused where it is entered, not at the first call that needs it.
        if any(field.name in stated for field in group):
            _require(stated, group)
    _require(stated, method.secret)
    return {
        name: _secret_text(fields[name], value, are_endpoints_allowed)
        for name, value in stated.items()
    }


def _require(stated: Mapping[str, object], fields: Sequence[SecretField]) -> None:
    for field in fields:
        if field.name not in stated:
            raise InvalidValue(f"/secret/{field.name}", "needed")


def _secret_text(field: SecretField, value: object, are_endpoints_allowed: bool) -> str:
    pointer = f"/secret/{field.name}"
    if not isinstance(value, str) or len(value) > MAX_SECRET_CHARACTERS:
        raise InvalidValue(pointer, f"a text of up to {MAX_SECRET_CHARACTERS} characters is needed")
    # Secrets are pasted, with the line feed of the file that they come from.
    text = value.strip()
    if field.check is not None:
        field.check(text, pointer, are_endpoints_allowed)
    elif not PRINTABLE.fullmatch(text):
        raise InvalidValue(pointer, "8 or more printable characters without blanks are needed")
    return text


def identity_settings(slug: str) -> list[str]:
    """The settings that say whose machines an account's are, at which endpoint."""
    record = provider(slug)
    methods = [method.settings for method in record.auth_methods.values()]
    return [
        "endpoint_url",
        *(
            name
            for settings in (record.settings, *methods)
            for name, setting in settings.items()
            if setting.is_identity
        ),
    ]


def needs_secret(slug: str, access: str) -> bool:
    """True if nothing can be asked of the provider without a stored secret."""
    return bool(provider(slug).auth_methods[access].secret)


def is_static_key(slug: str, access: str, *, has_secret: bool) -> bool:
    """True if a long-lived key is stored although the provider can do without one."""
    methods = provider(slug).auth_methods.values()
    # A role assumed with a stored key is no better than the key: it is flagged and shows its age, too.
    return access == STATIC_KEY or (has_secret and any(not method.secret for method in methods))
