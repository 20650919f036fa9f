"""The access log: off by default; a line for each request, with who asked and without secrets."""

import io
import logging
from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from django.test import Client

from backend.core.logs import MaskingFormatter
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream, logger = io.StringIO(), logging.getLogger("rackrate.access")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(MaskingFormatter("%(name)s %(message)s"))
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)


@pytest.mark.parametrize("is_on", [True, False])
def test_access_log_names_path_status_person_and_address(
    settings: LazySettings, written: io.StringIO, is_on: bool
) -> None:
    settings.ACCESS_LOG, settings.PUBLIC_READ = is_on, True
    client = Client(REMOTE_ADDR="192.0.2.7")
    client.get("/api/v1/providers?q=secret")
    client.force_login(factories.user(username="ada"))
    client.get("/api/v1/nothing")
    client.get("/healthz")  # what watches the site would fill the log
    lines = [line.split(" in ") for line in written.getvalue().splitlines()]
    heads, tails = [line[0] for line in lines], [line[1].partition(" ms ")[2] for line in lines]
    assert (
        heads
        == [
            "rackrate.access GET /api/v1/providers 200",
            "rackrate.access GET /api/v1/nothing 404",
        ]
        * is_on
    )
    assert tails == ["for a stranger from 192.0.2.7", "for ada from 192.0.2.7"] * is_on


@pytest.mark.parametrize(
    "path", ["/feeds/{}.csv", "/accounts/link/{}/", "/accounts/invitation/{}/", "/x/{}/"]
)
def test_access_log_masks_what_a_path_lets_in(
    settings: LazySettings, written: io.StringIO, path: str
) -> None:
    settings.ACCESS_LOG = True
    secret = "rf_0123456789abcdef0123456789abcdef"
    Client().get(path.format(secret))
    assert secret not in written.getvalue()
    assert "***" in written.getvalue()
