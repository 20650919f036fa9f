"""The addresses of docs/articles.md open, take all that they say, and show the figure that they claim."""

import re
from collections.abc import Mapping

import pytest
from django.test import Client

from tests.pure.test_articles import rows

pytestmark = pytest.mark.django_db
ADDRESS = re.compile(r"`(/[^`]*)`")
# 1.64 and 1.98 USD an hour in months of 720 hours; 1.64 in one of 730; the processors of 2014.
SHOWN: Mapping[int, str] = {
    29: "1,181", 30: "1,426", 72: "G3420", 73: "G3420", 86: "1,197", 88: "1,181", 89: "1,197",
}  # fmt: skip


def test_every_address_of_the_articles_shows_its_claim(client: Client, market: None) -> None:
    for number, _, where, *_ in rows():
        for address in ADDRESS.findall(where):
            response = client.get(address.partition("#")[0])
            html = response.content.decode()
            assert response.status_code == 200, (number, address)
            assert "Ignored:" not in html, (number, address)
            if address.startswith(("/?", "/offers/?")):
                assert SHOWN.get(int(number), "") in html, (number, address)
