"""A host as people state it: the one description for API, files, lists, forms and stored rows."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from backend.benchmarks.calc.money_document import AmountDocument, PlainAmount
from backend.benchmarks.calc.offered import KINDS
from backend.foundation.addresses import check_address
from backend.foundation.documents.model import Document, fields_of
from backend.foundation.documents.stored_values import Identifier
from backend.foundation.documents.values import (
    Flag,
    Many,
    Object,
    Text,
    WholeNumber,
    Word,
    fault,
    shown,
)
from backend.foundation.errors import InvalidValue
from backend.money.pricing.purchase import PriceUnit

SSH_PORT = 22
MAX_PORT = 65_535
MAX_NAME = 100
MAX_TAGS = 20
MAX_KEY = 20_000
MAX_SLUG = 120
DEDICATED = "dedicated"
# A machine of one's own is paid for by these; rented ones have shorter ones, too.
UNITS = (PriceUnit.HOUR, PriceUnit.MONTH, PriceUnit.YEAR)
# As people write them, and as spreadsheets in their languages write TRUE and FALSE of an export.
YES = frozenset(
    ["yes", "true", "ja", "wahr", "oui", "vrai", "sí", "si", "verdadero", "sì", "vero", "1"]
)
NO = frozenset(["no", "false", "nein", "falsch", "non", "faux", "falso", "0"])


@dataclass(frozen=True)
class HostAddress(Text):
    """A host name or an IP address."""

    most: int = 255

    def read(self, value: Any) -> str:
        try:
            return check_address(super().read(value))
        except InvalidValue as error:
            raise fault(error.detail) from None


USER = Text(
    "User to log in as",
    most=64,
    pattern=r"[A-Za-z_][A-Za-z0-9_.-]*",
    allowed="letters, digits, _ . - are allowed, a letter first",
)
TAG = Text(
    most=40,
    pattern=r"[A-Za-z0-9][A-Za-z0-9_.:=-]*",
    allowed="up to 40 letters, digits, _ . : = - are allowed",
)
PRIVATE_KEY = Text(
    'Another key to log in with; "" deletes the one that was given',
    most=MAX_KEY,
    least=0,
    is_secret=True,
)
KIND = Word("Of its own offer, when it is made", choices=KINDS)
Tags = list[Annotated[str, TAG]]


class HostDescription(Document):
    """Description of a host, which everybody may see."""

    name: Annotated[str, Text("Name as given", most=MAX_NAME, is_line=True)]
    is_in_production: Annotated[bool, Flag("Whether all its runs are careful")] = False
    tags: Annotated[Tags, Many("Words that group hosts", high=MAX_TAGS)] = []


class HostLogin(Document):
    """Login of a host, which strangers do not see."""

    address: Annotated[str, HostAddress("Name or IP address")]
    port: Annotated[int, WholeNumber("SSH port", low=1, high=MAX_PORT)] = SSH_PORT
    username: Annotated[str, USER]


class HostFields(HostLogin, HostDescription):
    """Fields that are stated in the same way everywhere."""


class HostSettings(HostFields):
    """Everything that may change of a host. The private key is never shown: none of a change keeps
    the stored one."""

    bastion: Annotated[UUID | None, Identifier("Host that is logged in to first")] = None
    certificate: Annotated[str, Text("Of the key that logs in", most=MAX_KEY, least=0)] = ""
    private_key: Annotated[str | None, PRIVATE_KEY, Field(repr=False)] = None


# Fields that a row of a host has under the same names.
STORED = (*HostFields.model_fields, "certificate")


class PriceDocument(AmountDocument):
    """A price as stated by the host's owner."""

    unit: Annotated[str, Word(choices=UNITS)]
    setup: Annotated[Decimal | None, PlainAmount("Paid once")] = None


class HostDocument(HostSettings):
    """A host to log in to over SSH; the private key is kept encrypted and never shown. Without one
    the host has to let in Rackrate's own key, which the answer shows."""

    offer: Annotated[
        str | None, Text("Slug of the offer that it is an instance of", most=MAX_SLUG)
    ] = None
    kind: Annotated[str, KIND] = DEDICATED
    price: Annotated[PriceDocument | None, Object("Of its own offer", is_nullable=True)] = None


class HostEntry(HostFields):
    """A host to log in to by Rackrate's own key or the one that it was given; no secret stands here."""

    bastion: Annotated[str | None, Text("Name of the host that it is reached through")] = None
    kind: Annotated[str, KIND] = DEDICATED


# --- lists of hosts, whose cells are texts --------------------------------------------------------


@dataclass(frozen=True)
class YesNo(Flag):
    """A word for yes or no."""

    def read(self, value: Any) -> bool:
        word = str(value).casefold()
        # A word taken for no would measure a host in production at full load.
        if word not in YES | NO:
            raise fault(f"{shown(value)} is neither yes nor no")
        return word in YES


class ListedHost(HostFields):
    """A host in a list, under the names of its columns; what the list leaves open is None."""

    is_in_production: Annotated[bool, YesNo(), Field(alias="production")] = False
    username: Annotated[str | None, USER] = None  # type: ignore[assignment]
    kind: Annotated[str | None, KIND] = None
    bastion: Annotated[str | None, Text("Name, address or identifier of another host")] = None

    def stated_in(self, columns: Collection[str]) -> dict[str, Any]:
        """Values of the columns, but for the kind, which never changes."""
        names = {shown: name for name, shown in LIST_NAMES.items()}
        stated = {names[column] for column in columns if column in names}
        return self.model_dump(include=stated - {"kind"})


# Columns of a list by the names of their fields.
LIST_NAMES = dict(zip(ListedHost.model_fields, fields_of(ListedHost), strict=True))
LIST_COLUMNS = tuple(LIST_NAMES.values())
