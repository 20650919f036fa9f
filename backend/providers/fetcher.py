"""The interface of every `<slug>/fetch.py`: fetch an answer as it came, then read its content."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from backend.money.price_lists import ParsedPrice, Result
from backend.providers.http import Client, FetchError, Patience, Validators, bearer
from backend.providers.machines import Access
from backend.providers.price_refresh import Trouble
from backend.providers.spool import Spool


@dataclass(frozen=True)
class FetchRequest:
    """A list to be fetched, or to be read from files."""

    patience: Patience
    region: str = ""
    """The provider's code, for lists of one region."""
    access: Access | None = None
    """Access of an account there, for lists that need one."""
    endpoint: str = ""
    """Another address than the provider's own."""
    validators: Validators = field(default_factory=Validators)
    on_demand: Sequence[ParsedPrice] = ()
    """On-demand prices of the region, for lists that are joined on them."""

    def token_client(self, base: str) -> Client:
        """A client that sends the account's API token."""
        token = self.secret("token")
        return Client(
            self.endpoint or base,
            self.patience,
            headers=bearer(token),
            secret={"token": token},
        )

    def pair_client(self, base: str, user: str, password: str) -> Client:
        """A client that sends the fields of the account's secret with these names."""
        name, words = self.secret(user), self.secret(password)
        pair = b64encode(f"{name}:{words}".encode()).decode()
        return Client(
            self.endpoint or base,
            self.patience,
            headers={"Authorization": f"Basic {pair}"},
            secret={password: words, "pair": pair},
        )

    def secret(self, name: str) -> str:
        """A field of the account's secret; FetchError where there is none."""
        value = self.access.secret.get(name, "") if self.access else ""
        if not value:
            raise FetchError(f"the account has no {name}", trouble=Trouble.NO_ACCOUNT)
        return value


class PriceFetcher(Protocol):
    """A kind of list of one provider."""

    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        """Write the answer to the spool, the pages of each document by the name that the feed gives
        it. Raises FetchError, NotModified or Cancelled."""
        ...

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        """Content of the documents. Raises InvalidValue for one of another form."""
        ...
