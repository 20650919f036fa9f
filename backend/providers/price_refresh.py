"""A refresh of all price lists: the state of each list, and one sentence for each provider."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from backend.foundation.texts import text as _


class Trouble(StrEnum):
    """Why a price list could not be read."""

    UNREACHABLE = "unreachable"
    THROTTLED = "throttled"
    REFUSED = "refused"
    BROKEN = "broken"
    """The provider's server failed, or broke off in the middle."""
    UNREADABLE = "unreadable"
    """The answer is no price list, or has another form."""
    NO_ACCOUNT = "no_account"


class ListState(StrEnum):
    """How far the refresh is with one list."""

    WAITING = "waiting"
    READING = "reading"
    READ = "read"
    FAILED = "failed"


CAUSES = {
    Trouble.UNREACHABLE: _("{provider} could not be reached."),
    Trouble.THROTTLED: _("{provider} allows no more requests for now."),
    Trouble.REFUSED: _("{provider} refused the request."),
    Trouble.BROKEN: _("The server of {provider} failed."),
    Trouble.UNREADABLE: _("The answer of {provider} is not a price list that can be read."),
    Trouble.NO_ACCOUNT: _("{provider} shows these prices to customers only."),
}
REMEDIES = {
    Trouble.UNREACHABLE: _(
        "Check the network, DNS and firewall of the machine that runs the workers, then refresh again."
    ),
    Trouble.THROTTLED: _("Refresh again in an hour."),
    Trouble.REFUSED: _("Check the key and its rights on the page Clouds, then refresh again."),
    Trouble.BROKEN: _("Refresh again in an hour; the fault is on their side."),
    Trouble.UNREADABLE: _(
        "Look whether a proxy answers in its place. If not, their form may have changed: import the "
        "list from a file."
    ),
    Trouble.NO_ACCOUNT: _("Add an account with a key that may read on the page Clouds."),
}


@dataclass(frozen=True)
class ListProgress:
    """A list of the refresh; `trouble` and `error` where it failed."""

    region: str
    state: ListState
    is_changed: bool = False
    """True if its answer changed prices."""
    trouble: Trouble | None = None
    error: str = ""


@dataclass(frozen=True)
class ProviderProgress:
    """The lists of one provider in the order in which they are read."""

    slug: str
    name: str
    lists: Sequence[ListProgress]
    lacks_account: bool = False
    """True if it has a list that is left out for want of an account."""

    def count(self, state: ListState) -> int:
        return sum(entry.state is state for entry in self.lists)

    @property
    def done(self) -> int:
        return self.count(ListState.READ) + self.count(ListState.FAILED)

    @property
    def is_running(self) -> bool:
        return self.done < len(self.lists)

    @property
    def failures(self) -> Sequence[ListProgress]:
        return [entry for entry in self.lists if entry.state is ListState.FAILED]

    @property
    def trouble(self) -> Trouble | None:
        """Trouble of the last list that failed; NO_ACCOUNT where only that is missing."""
        if self.failures:
            return self.failures[-1].trouble or Trouble.UNREADABLE
        return Trouble.NO_ACCOUNT if self.lacks_account else None

    @property
    def result(self) -> str:
        """Counts of lists so far; empty where none was read."""
        read, total = self.count(ListState.READ), len(self.lists)
        if self.is_running:
            return _(
                "{provider}: {done} of {total} lists done.",
                provider=self.name,
                done=self.done,
                total=total,
            )
        if not read:
            return ""
        return _(
            "{provider}: {read} of {total} lists read, {changed} with other prices than before.",
            provider=self.name,
            read=read,
            total=total,
            changed=sum(entry.is_changed for entry in self.lists),
        )

    @property
    def cause(self) -> str:
        return _(CAUSES[self.trouble], provider=self.name) if self.trouble else ""

    @property
    def remedy(self) -> str:
        return REMEDIES[self.trouble] if self.trouble else ""

    @property
    def detail(self) -> str:
        """The technical reason, for the person who repairs it."""
        return self.failures[-1].error if self.failures else ""


@dataclass(frozen=True)
class RefreshProgress:
    """All providers of a refresh."""

    providers: Sequence[ProviderProgress]

    @property
    def total(self) -> int:
        return sum(len(provider.lists) for provider in self.providers)

    @property
    def done(self) -> int:
        return sum(provider.done for provider in self.providers)

    @property
    def read(self) -> int:
        return sum(provider.count(ListState.READ) for provider in self.providers)

    @property
    def is_running(self) -> bool:
        return self.done < self.total

    @property
    def unread(self) -> Sequence[ProviderProgress]:
        """Providers with a list that failed; keys that nobody stored are no failure."""
        return [provider for provider in self.providers if provider.failures]

    @property
    def sentence(self) -> str:
        """The whole in one sentence; empty where no list was ever asked for."""
        if not self.total:
            return ""
        if self.is_running:
            return _(
                "Reading price lists: {done} of {total} done.", done=self.done, total=self.total
            )
        if not self.read:
            return _("No provider could be read. All prices stay as they were.")
        if not self.unread:
            return _("All {total} price lists were read.", total=self.total)
        return _(
            "{read} of {total} price lists were read. What could not be read keeps its prices.",
            read=self.read,
            total=self.total,
        )
