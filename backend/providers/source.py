"""What every fetcher is given and gives: an answer as it came, then what it says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from backend.domain.parsing.prices import ParsedPrice, Result
from backend.providers.http import FetchError, Patience, Validators
from backend.providers.machines import Access
from backend.providers.spool import Spool


@dataclass(frozen=True)
class Wanted:
    """One list to be fetched."""

    patience: Patience
    region: str = ""
    """The provider's code, for lists of one region."""
    access: Access | None = None
    """Of an account there, for lists that need one."""
    endpoint: str = ""
    """Another place than the provider's own."""
    validators: Validators = field(default_factory=Validators)
    on_demand: Mapping[str, ParsedPrice] = field(default_factory=dict)
    """Prices by SKU that savings plans are joined on."""

    def secret(self, name: str) -> str:
        """A field of the account's secret; FetchError where there is none."""
        found = self.access.secret.get(name, "") if self.access else ""
        if not found:
            raise FetchError(f"the account holds no {name}")
        return found


class Source(Protocol):
    """One kind of list of one provider."""

    def fetch(self, wanted: Wanted, spool: Spool) -> Validators:
        """Write the answer to the spool. Raises FetchError, NotModified or Unwanted."""
        ...

    def read(self, wanted: Wanted, spool: Spool) -> Iterator[Result]:
        """What the answer says. Raises InvalidValue where it has not the form of one."""
        ...
