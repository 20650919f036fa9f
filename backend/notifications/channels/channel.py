"""The base of every channel."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar


class NotDelivered(Exception):
    """Why a notice was not delivered; fit to be shown to an administrator."""


@dataclass(frozen=True)
class Message:
    """A notice for one recipient; the same at every attempt."""

    notice_id: int
    key: str
    """Unique among the notices of a subscription."""
    document: Mapping[str, Any]
    """kind, title, detail, url and at; beside them ids and counts for programs."""
    address: str
    secret: bytes = field(repr=False)
    """Empty where the channel does not sign."""


class Channel(ABC):
    """How notices reach a recipient (docs/add-a-channel.md)."""

    slug: ClassVar[str]
    """Stored with each subscription: 20 characters at most."""
    label: ClassVar[str]
    address_hint: ClassVar[str]
    """Description of an address, as part of a list: "an e-mail address"."""
    is_signed: ClassVar[bool] = False
    """True if a subscription has a secret, which signs its messages."""

    def missing_setting(self) -> str:
        """The setting without which this server cannot send by it; empty where nothing is missing."""
        return ""

    @abstractmethod
    def check_address(self, address: str) -> None:
        """Raise InvalidValue with /address; or with /channel where the server is not set up for it.

        Called when a subscription is written, and again before each message: the settings may
        have changed since then.
        """

    @abstractmethod
    def send(self, message: Message) -> None:
        """Deliver in less than a minute, or raise NotDelivered."""
