"""Google Cloud: the SKUs of the Billing Catalog, and the machine types that they make up."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from backend.money.price_lists import Result, answers
from backend.providers.fetcher import FetchRequest
from backend.providers.gcp import prices
from backend.providers.http import Client, FetchError, Validators, bearer
from backend.providers.machines import Access
from backend.providers.price_refresh import Trouble
from backend.providers.spool import Spool

CATALOGUE = "https://cloudbilling.googleapis.com"
COMPUTE = "https://compute.googleapis.com"
# The number of Compute Engine in the catalogue; it is the same for everybody.
SERVICE = "6F81-5844-456A"
SKUS, TYPES = "skus", "machine_types"
# The most that each interface gives in a page.
MOST_SKUS, MOST_TYPES = "5000", "500"
# The catalogue's limit is a strict one.
PAUSE_S = 30.0
SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


class Catalog:
    """On demand and spot prices of all regions."""

    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        access = request.access or Access(kind="")
        key = access.secret.get("api_key", "")
        # In a header: an address would be written into logs on its way.
        headers = {"X-Goog-Api-Key": key} if key else _identity(access, CATALOGUE)
        _pages(
            _client(request, CATALOGUE, headers),
            f"v1/services/{SERVICE}/skus",
            {"pageSize": MOST_SKUS},
            spool,
            SKUS,
        )
        project = access.settings.get("project", "")
        _pages(
            _client(request, COMPUTE, _identity(access, COMPUTE)),
            f"compute/v1/projects/{project}/aggregated/machineTypes",
            {"maxResults": MOST_TYPES},
            spool,
            TYPES,
        )
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return prices.parse(spool.pages(SKUS), prices.shapes(spool.pages(TYPES)))


FETCHERS = {"on_demand": Catalog()}


def _client(request: FetchRequest, base: str, headers: Mapping[str, str]) -> Client:
    return Client(
        request.endpoint or base,
        request.patience,
        headers=headers,
        secret={**(request.access.secret if request.access else {}), **headers},
        least_wait_s=PAUSE_S,
    )


def _pages(client: Client, path: str, params: Mapping[str, str], spool: Spool, kind: str) -> None:
    token: dict[str, str] = {}
    with client:
        while True:
            client.get(path, spool.page(kind), params={**params, **token})
            next_token = answers.word(spool.last(kind), "nextPageToken")
            if not next_token:
                return
            token = {"pageToken": next_token}


def _identity(access: Access, audience: str) -> dict[str, str]:
    """The header that says who we are: signed with the account's key, or the worker's machine's."""
    from google.auth import exceptions, jwt

    text = access.secret.get("service_account_json", "")
    try:
        if not text:
            return bearer(_own_token())
        # Signed by ourselves: no other address has to be asked for a token first.
        make: Any = jwt.Credentials.from_service_account_info
        signed = make(json.loads(text), audience=f"{audience}/")
        signed.refresh(None)
        return bearer(signed.token.decode())
    except (exceptions.GoogleAuthError, ValueError) as error:
        # Its words may quote the key.
        detail = f"the account's key cannot be used ({type(error).__name__})"
        raise FetchError(detail, trouble=Trouble.REFUSED) from None


def _own_token() -> str:
    """A token of the machine or container that we run on."""
    import google.auth
    from google.auth.transport.requests import Request

    credentials: Any = google.auth.default(scopes=SCOPES)[0]
    credentials.refresh(Request())
    return str(credentials.token)
