"""Google Cloud."""

import json
import re

from backend.foundation.errors import InvalidValue
from backend.foundation.texts import text as _
from backend.providers.base import (
    ADDRESS,
    STATIC_KEY,
    WORKLOAD_IDENTITY,
    AuthMethod,
    MachineKind,
    ProviderRecord,
    SecretField,
    Setting,
    SettingForm,
    Shape,
    Volume,
)
from backend.providers.price_feeds import FeedKind
from backend.providers.rentals import BY_SECOND

TOKEN_URI = "https://oauth2.googleapis.com/token"  # noqa: S105  (an address)


def check_key_file(text: str, pointer: str, are_endpoints_allowed: bool) -> None:
    """A key file of a service account and of nothing else: other kinds of credential file name
    programs to start and addresses to ask. Raises InvalidValue."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        # Python's parser ends texts that are nested too deeply by a RecursionError, which is no
        # ValueError.
        raise InvalidValue(pointer, "not JSON") from None
    if not isinstance(document, dict) or document.get("type") != "service_account":
        raise InvalidValue(pointer, "not the key file of a service account")
    for name in ("project_id", "client_email", "private_key"):
        if not isinstance(document.get(name), str) or not document[name]:
            raise InvalidValue(pointer, f"{name} is missing in the key file")
    # Google's library signs a statement with the key and sends it there: it would log in for somebody else.
    if document.get("token_uri", TOKEN_URI) != TOKEN_URI and not are_endpoints_allowed:
        raise InvalidValue(pointer, f"token_uri is not {TOKEN_URI}")
    if document.get("universe_domain", "googleapis.com") != "googleapis.com":
        raise InvalidValue(pointer, "universe_domain is not googleapis.com")


API_KEY = SecretField("api_key", _("API key for price lists"))
KEY_FILE = SecretField(
    "service_account_json", _("Key file of the service account (JSON)"), check_key_file
)
GENERATION = re.compile(r"[a-z]+(\d+)")
# From this generation on Google refuses a launch with a persistent disk: "all fourth-generation types and
# newer machine series" take hyperdisks alone (AttachedDiskInitializeParams.diskType of Compute Engine's API).
HYPERDISK_GENERATION = 4
# Alone of its family (docs.cloud.google.com/vertex-ai/docs/reference/rest/v1/DiskSpec, "for A3U machines").
A3_ULTRA = "a3-ultragpu-"


def is_metal(machine_type: str) -> bool:
    """True for whole servers, which Google names so in every family."""
    return machine_type.endswith("-metal")


def volume(machine_type: str) -> Volume:
    """The boot disk of a type."""
    named = GENERATION.match(machine_type)
    is_hyperdisk = (
        # Whole servers take no persistent disk, whatever their family
        # (cloud.google.com/compute/docs/instances/bare-metal-instances, "Limitations").
        is_metal(machine_type)
        or machine_type.startswith(A3_ULTRA)
        or (named is not None and int(named[1]) >= HYPERDISK_GENERATION)
    )
    return Volume("hyperdisk-balanced" if is_hyperdisk else "pd-balanced", 20)


RECORD = ProviderRecord(
    slug="gcp",
    name="Google Cloud",
    short_name="Google Cloud",
    homepage="https://cloud.google.com/",
    kind=MachineKind.CLOUD,
    colour="#56b4e9",
    shape=Shape.SQUARE,
    is_hollow=False,
    auth_methods={
        WORKLOAD_IDENTITY: AuthMethod(optional=((API_KEY,),)),
        STATIC_KEY: AuthMethod(secret=(KEY_FILE,), optional=((API_KEY,),)),
    },
    settings={
        "project": Setting(
            _("Project"),
            r"[a-z][a-z0-9-]{4,28}[a-z0-9]",
            _("6 to 30 lower-case letters, digits and hyphens"),
            is_identity=True,
        ),
        "network": Setting(
            _("Network"),
            r"[a-z][a-z0-9/_-]{0,199}",
            _("a name such as default, or …/networks/… or …/subnetworks/…"),
            _(
                "Subnetworks differ by region: regions/europe-west1/subnetworks/NAME. Leave "
                "blank for the network default."
            ),
            form=SettingForm.BY_REGION,
        ),
        "address": ADDRESS,
        "login": Setting(
            _("Login"),
            r"keys|os_login",
            _("keys or os_login is needed"),
            _(
                "os_login: if your organisation requires it. Leave blank for keys in the "
                "machine’s metadata."
            ),
        ),
        "tags": Setting(
            _("Further labels"),
            r"(?!rackrate-|expires=|run=|owner=|installation=)[a-z][a-z0-9_-]{0,62}=[a-z0-9_-]{0,63}",
            _("lower-case letters, digits, _ and -, up to 63, a letter first; none of our own"),
            _(
                "Added to everything that is created, if a policy of the organisation requires "
                "tags."
            ),
            form=SettingForm.PAIRS,
        ),
        "min_cpu_platform": Setting(
            _("Oldest CPU"),
            r"(Intel|AMD|Ampere) [A-Za-z0-9 ]{2,40}",
            _("a platform is called like Intel Ice Lake or AMD Milan"),
            _("Families e2, n1, n2 and n2d mix CPUs. Leave blank for Google’s choice."),
        ),
        "billing_export": Setting(
            _("Table of the billing export"),
            r"[a-z][a-z0-9-]{4,28}[a-z0-9](\.[A-Za-z0-9_]{1,200}){2}",
            _("a table looks like project.dataset.gcp_billing_export_v1_0123AB"),
            _(
                "BigQuery table, to compare a month’s costs with Google’s bill. Leave blank if "
                "it should not be read."
            ),
        ),
    },
    required_settings=("project",),
    rents_machines=True,
    volume=volume,
    priced_disk="pd-balanced",
    region=re.compile(r"[a-z]{2,15}-[a-z]{3,15}[0-9]{1,2}"),
    example_region="europe-west1",
    family=re.compile(r"[^-]+"),
    # Shared-core types: a fraction of a core over time, more of it only in bursts
    # (https://cloud.google.com/compute/docs/general-purpose-machines#sharedcore).
    burstable=re.compile(r"(?:f1-micro|g1-small|e2-(?:micro|small|medium))$"),
    slow_boot=re.compile(r"-metal$"),
    increment=BY_SECOND,
    lines={
        "e2|f1|g1": _("cost-optimized"),
        "n[0-9]": _("general purpose"),
        "t2": _("scale-out"),
        "c3|c4": _("general purpose, fast"),
        "c2": _("compute optimized"),
        "m[0-9]": _("memory optimized"),
        "z3": _("storage optimized"),
        "h[0-9]": _("high-performance computing"),
        "[ag][2-4]": _("with GPU"),
    },
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("billing catalogue: on demand and spot"),
            needs_account=True,
            documents={
                "skus": re.compile(r'"skus"\s*:\s*\['),
                "machine_types": re.compile(r'"items"\s*:\s*\{'),
            },
        ),
    ),
)
