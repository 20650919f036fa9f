"""Offers of one's own from a table."""

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.current_prices import current_price
from backend.catalog.services.table_rows import TableReport
from backend.catalog.services.tables import table_import
from tests import factories
from tests.backend.conftest import API
from tests.pure.parsing.test_quotes import OFFER, PRICED, table

pytestmark = pytest.mark.django_db


def imported(*offers: dict[str, str], **given: Any) -> TableReport:
    workspace = factories.workspace()
    return table_import(
        kind="offers", workspace=workspace, text=table(*offers), actor="test", **given
    )


def test_offers_are_made_with_and_without_a_price(client: Client) -> None:
    report = imported(PRICED | {"vcpu": "8", "ram_gib": "32"}, OFFER | {"offer": "unpriced"})
    assert (report.offers_new, report.prices_new, report.refused) == (2, 1, [])
    priced, bare = Offer.objects.order_by("slug")
    assert (priced.slug, priced.kind, priced.provider.slug) == ("own-rack-7", "onprem", "own")
    assert (priced.vcpu_count, priced.memory_bytes) == (8, 32 * 2**30)
    assert current_price(bare) is None
    listed = client.get(f"{API}/offers").json()["results"]
    assert {row["offer_id"]: row["price"] for row in listed} == {
        "own-rack-7": "0.25",
        "own-unpriced": None,
    }


def test_an_offer_imported_again_replaces_its_old_values() -> None:
    imported(PRICED | {"vcpu": "8", "arch": "x86_64"})
    report = imported(PRICED | {"vcpu": "16", "kind": "dedicated", "amount": "0.3"})
    assert (report.offers_new, report.offers_changed) == (0, 1)
    # the price of today was told already, with another amount
    assert [remark.line for remark in report.refused] == [2]
    offer = Offer.objects.get()
    # what the line leaves out stays
    assert (offer.vcpu_count, offer.kind, offer.arch) == (16, "dedicated", "x86_64")
    assert offer.prices.get().amount == Decimal("0.25")


def test_commitments_are_kept_with_their_terms() -> None:
    imported(PRICED, PRICED | {"purchase_model": "reserved", "term": "1y", "setup": "100"})
    found = PriceObservation.objects.order_by("term").values_list("purchase_model", "term")
    assert list(found) == [("on_demand", ""), ("reserved", "1y")]
    assert Offer.objects.count() == 1


def test_command_stores_a_file_and_fails_on_a_bad_line(tmp_path: Path) -> None:
    file = tmp_path / "offers.csv"
    file.write_text(table(PRICED))
    out = io.StringIO()
    call_command("import_offers", str(file), "--json", stdout=out)
    assert json.loads(out.getvalue())["offers_new"] == 1
    file.write_text(table(PRICED | {"offer": "b", "unit": "week"}))
    with pytest.raises(CommandError, match="line 2, unit"):
        call_command("import_offers", str(file), stderr=io.StringIO())
    file.write_bytes(b"\x81")
    with pytest.raises(CommandError, match=r"the table is refused.*CSV UTF-8"):
        call_command("import_offers", str(file), stderr=io.StringIO())
