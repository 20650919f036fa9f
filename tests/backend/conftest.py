"""Callers of the API with each scope, and the demo data."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from backend.accounts.services.tokens import token_create
from tests import factories
from tests.market import FEW_OFFERS, WHOLE_MARKET

API = "/api/v1"


@pytest.fixture(autouse=True)
def roomy_throttles(settings: LazySettings) -> None:
    """Counters live in the shared Redis: tests that are not about them never meet a limit."""
    settings.THROTTLE_TOKEN = "1000000/min"
    settings.THROTTLE_ANONYMOUS = "1000000/min"
    settings.THROTTLE_PAGES = settings.THROTTLE_REFUSED = "1000000/min"
    settings.THROTTLE_SIGN_IN = "1000000/min"
    settings.WORK_RATE_TOKEN = settings.WORK_RATE_ANONYMOUS = f"{10**12}/min"


@pytest.fixture
def demo(db: None) -> None:
    """Some offers of each table that comes with the program: pages of all of them take a second."""
    FEW_OFFERS.load()


@pytest.fixture
def market(db: None) -> None:
    """All of them."""
    WHOLE_MARKET.load()


@pytest.fixture
def token(db: None, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Makes a token of a scope in the default workspace and returns its text."""
    for offers in {"demo", "market"} & {*request.fixturenames}:
        # First, whatever order the test names them in: rows are copied into empty tables only.
        request.getfixturevalue(offers)

    def made(scope: str = "read", **given: Any) -> str:
        name = given.pop("name", f"{scope} token")
        workspace = given.pop("workspace", None) or factories.workspace()
        return token_create(
            workspace=workspace,
            owner=given.pop("owner", None) or factories.owner(),
            name=name,
            scope=scope,
            **given,
        )[1]

    return made


@pytest.fixture
def caller(token: Callable[..., str]) -> Callable[..., Client]:
    """A client that sends a token of the scope with every request."""

    def made(scope: str = "read", **given: Any) -> Client:
        return Client(headers={"authorization": f"Bearer {token(scope, **given)}"})

    return made


def rows(response: Any) -> list[dict[str, str]]:
    """The rows of a CSV answer."""
    assert response.status_code == 200, response.content
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"), newline="")))


def fields(response: Any) -> list[str]:
    """The fields that a problem document complains of."""
    problem = response.json()
    assert response["Content-Type"] == "application/problem+json", response.content
    assert problem["status"] == response.status_code
    return [error["field"] for error in problem.get("errors", [])]
