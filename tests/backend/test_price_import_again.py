"""A list that is imported again: unchanged, changed, shorter, back, and not plausible."""

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest

from backend.accounts.models import AuditEntry
from backend.catalog.models import (
    PriceFeed,
    PriceObservation,
)
from backend.catalog.selectors.current_prices import best_prices
from backend.catalog.selectors.data_version import data_version
from backend.catalog.selectors.price_choice import PriceBasis
from backend.catalog.services.price_import import MOMENT, ImportReport, price_review
from backend.foundation.errors import InvalidValue
from backend.money.price_lists import Result
from backend.money.pricing.purchase import PurchaseModel
from tests import factories
from tests.backend.price_lists import DAY, LISTS, everything, machine, many, price, record

pytestmark = pytest.mark.django_db


# --- the same again, changed, gone, back --------------------------------------------------------


@pytest.mark.parametrize("provider", LISTS)
def test_same_list_again_changes_no_row(provider: str) -> None:
    first = record(LISTS[provider](), provider=provider, region="")
    assert first.is_changed
    assert first.published == first.priced > 0
    before = everything()
    again = record(LISTS[provider](), day=1, provider=provider, region="")
    assert (again.is_changed, again.unchanged, again.published) == (False, first.priced, 0)
    assert everything() == before
    feed = PriceFeed.objects.get()
    assert (feed.checked_at, feed.changed_at) == (factories.AT + DAY, factories.AT)


@pytest.mark.parametrize("provider", LISTS)
def test_no_float_stands_between_a_list_and_its_rows(provider: str) -> None:
    results = list(LISTS[provider]())
    assert not [value for result in results for value in _leaves(_slots(result))]
    record(results, provider=provider, region="")
    stored = PriceObservation.objects.values()
    assert not [value for row in stored for value in _leaves(row)]
    assert not list(_leaves(PriceFeed.objects.get().summary))


def _slots(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__dataclass_fields__}


def _leaves(value: Any) -> Iterable[float]:
    """The floats anywhere within."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)


def test_only_what_changed_is_appended() -> None:
    record(many())
    version = data_version()
    report = record([price("0.11", "m5.0"), *many()[1:]], day=1)
    assert (report.published, report.unchanged) == (1, 29)
    assert data_version() == version + 1
    changed = PriceObservation.objects.filter(offer__name="m5.0").order_by("observed_at")
    assert [row.amount for row in changed] == [Decimal("0.1"), Decimal("0.11")]
    assert best_prices(PriceBasis())[changed[0].offer_id].charge.amount == Decimal("0.11")


def test_what_is_included_is_part_of_a_price() -> None:
    record([price(included={"traffic_bytes": 20})])
    assert record([price(included={"traffic_bytes": 20})], day=1).unchanged == 1
    assert record([price(included={"traffic_bytes": 1})], day=2).published == 1


def test_rule_19_a_vanished_price_is_stale_and_in_force_until_it_is_back() -> None:
    record(many())
    report = record(many()[1:], day=1)
    assert (report.missing, report.incomplete, report.unchanged) == (1, [], 29)
    gone = PriceObservation.objects.get(offer__name="m5.0")
    assert gone.missing_since == factories.AT + DAY
    choice = best_prices(PriceBasis())[gone.offer_id]
    assert (choice.charge.amount, choice.is_missing) == (Decimal("0.1"), True)
    assert record(many()[1:], day=2).missing == 0
    gone.refresh_from_db()
    assert gone.missing_since == factories.AT + DAY
    back = record(many(), day=3)
    assert (back.returned, back.published) == (1, 0)
    gone.refresh_from_db()
    assert gone.missing_since is None
    assert PriceObservation.objects.count() == 30


def test_rule_27_nothing_new_counts_while_much_is_missing() -> None:
    record(many())
    incomplete = [price("0.11", "m5.0"), *many()[1:20]]
    report = record(incomplete, day=1)
    assert (report.incomplete, report.missing, report.quarantined) == (["eu-west-1"], 10, 1)
    before = everything()
    again = record(incomplete, day=2)
    assert (again.incomplete, again.quarantined, again.is_changed) == (["eu-west-1"], 1, False)
    assert everything() == before
    held = PriceObservation.objects.get(offer__name="m5.0", is_published=True)
    assert best_prices(PriceBasis())[held.offer_id].charge.amount == Decimal("0.1")
    whole = record([price("0.11", "m5.0"), *many()[1:]], day=3)
    assert (whole.incomplete, whole.published, whole.returned) == ([], 1, 10)
    assert best_prices(PriceBasis())[held.offer_id].charge.amount == Decimal("0.11")
    # The row that waited is the one that is published.
    assert PriceObservation.objects.count() == 31


def test_shorter_list_counts_when_a_person_says_that_it_is_whole() -> None:
    record(many())
    shorter = [price("0.11", "m5.0"), *many()[1:20]]
    record(shorter, day=1)
    report = record(shorter, day=2, is_shrinking_ok=True)
    assert (report.incomplete, report.published) == ([], 1)
    assert record(shorter, day=3).incomplete == []
    assert PriceObservation.objects.exclude(missing_since=None).count() == 10


def test_region_missing_from_a_newer_list_is_incomplete() -> None:
    record([price(), price("0.2", region="us-east-1")], region="")
    report = record([price()], day=1, region="")
    assert (report.incomplete, report.missing) == (["us-east-1"], 1)


def test_what_is_read_later_supersedes_when_the_clock_went_back() -> None:
    record(many(), day=10)
    changed = [price("0.11", "m5.0"), *many()[1:]]
    for day in (10, 5):
        amount = Decimal("0.11" if day == 10 else "0.12")
        changed[0] = price(str(amount), "m5.0")
        assert record(changed, day=day).published == 1
        newest = PriceObservation.objects.get(offer__name="m5.0", amount=amount)
        assert best_prices(PriceBasis())[newest.offer_id].charge.amount == amount
    assert record(changed, day=6).unchanged == 30
    assert PriceFeed.objects.get().checked_at == newest.observed_at + MOMENT


def test_older_file_does_not_replace_a_newer_price() -> None:
    new, old = dt.date(2026, 7, 1), dt.date(2026, 1, 1)
    record([price("0.11", valid_from=new)])
    report = record([price("0.1", valid_from=old)], day=1)
    assert (report.published, report.quarantined) == (0, 1)
    waiting = PriceObservation.objects.get(is_published=False)
    assert waiting.anomaly == "from 2026-01-01, while the price in force is from 2026-07-01"
    assert best_prices(PriceBasis())[waiting.offer_id].charge.amount == Decimal("0.11")
    assert record([price("0.11", valid_from=new)], day=2).unchanged == 1


def test_price_in_another_currency_waits_until_a_person_accepts_it() -> None:
    record(many())
    changed = [price("10", "m5.0", currency="EUR"), *many()[1:]]
    for day in (1, 2):
        report = record(changed, day=day)
        assert (report.published, report.quarantined, report.incomplete) == (0, 1, [])
    waiting = PriceObservation.objects.get(is_published=False)
    assert waiting.anomaly == "0.1 USD before, 10 EUR now"
    assert best_prices(PriceBasis())[waiting.offer_id].charge.amount == Decimal("0.1")
    price_review(
        workspace=factories.workspace(),
        observation=waiting,
        is_accepted=True,
        actor="anna",
        reason="announced",
    )
    assert best_prices(PriceBasis())[waiting.offer_id].currency == "EUR"
    assert record(changed, day=3).unchanged == 30


def test_list_in_another_currency_counts_when_accepted_as_complete() -> None:
    record(many())
    euros = [price("0.09", f"m5.{n}", currency="EUR") for n in range(30)]
    assert record(euros, day=1).quarantined == 30
    assert record(euros, day=2, is_shrinking_ok=True).published == 30
    assert {one.currency for one in best_prices(PriceBasis()).values()} == {"EUR"}


# --- quarantine -----------------------------------------------------------------------------------


def implausible(day: int = 1, amount: str = "0.2") -> ImportReport:
    return record([price(amount, "m5.0"), *many()[1:]], day=day)


def test_rule_27_an_implausible_price_waits_and_the_old_one_stays_current() -> None:
    record(many())
    assert implausible().quarantined == 1
    waiting = PriceObservation.objects.get(is_published=False)
    assert (waiting.amount, waiting.anomaly) == (Decimal("0.2"), "0.1 before, 0.2 now")
    assert best_prices(PriceBasis())[waiting.offer_id].charge.amount == Decimal("0.1")
    before = everything()
    assert (implausible(day=2).quarantined, everything()) == (1, before)


def test_rule_27_spot_is_compared_with_on_demand_of_another_list() -> None:
    record([price("0.1")])
    spot = price("0.2", purchase_model=PurchaseModel.SPOT, zone="euw1-az1")
    report = record([spot], feed_kind="spot", day=1)
    assert report.quarantined == 1
    assert "on demand 0.1" in PriceObservation.objects.get(is_published=False).anomaly


def test_rule_27_vcpus_known_before_are_a_gate() -> None:
    types = [machine(f"m5.{n}", vcpu_count=Decimal(2)) for n in range(4)]
    record([*types, *(price("0.1", f"m5.{n}") for n in range(3))], day=0)
    dear = [price("0.1", f"m5.{n}") for n in range(3)] + [price("1", "m5.3")]
    assert record(dear, day=1).quarantined == 1
    assert "per vCPU" in PriceObservation.objects.get(is_published=False).anomaly


def test_accepted_price_is_published_and_audited() -> None:
    record(many())
    implausible()
    waiting, version = PriceObservation.objects.get(is_published=False), data_version()
    price_review(
        workspace=factories.workspace(),
        observation=waiting,
        is_accepted=True,
        actor="anna",
        reason="announced",
    )
    assert best_prices(PriceBasis())[waiting.offer_id].charge.amount == Decimal("0.2")
    assert data_version() == version + 1
    entry = AuditEntry.objects.get(action="price_accept")
    assert (entry.actor, entry.object_id) == ("anna", str(waiting.pk))
    assert entry.detail["reason"] == "announced"
    assert implausible(day=2).is_changed is False


def test_refused_price_is_not_asked_about_again() -> None:
    record(many())
    implausible()
    waiting = PriceObservation.objects.get(is_published=False)
    price_review(
        workspace=factories.workspace(),
        observation=waiting,
        is_accepted=False,
        actor="anna",
        reason="a slip",
    )
    before = everything()
    report = implausible(day=2)
    assert (report.refused, report.quarantined, report.is_changed) == (1, 0, False)
    assert everything() == before
    assert AuditEntry.objects.get().action == "price_refuse"
    # Another doubtful price is another question.
    assert implausible(day=3, amount="0.3").quarantined == 1


def test_waiting_price_is_withdrawn_when_the_list_goes_back() -> None:
    record(many())
    implausible()
    assert record(many(), day=2).unchanged == 30
    waiting = PriceObservation.objects.get(is_published=False)
    assert waiting.missing_since == factories.AT + 2 * DAY
    with pytest.raises(InvalidValue, match="not on the provider's list"):
        price_review(
            workspace=factories.workspace(),
            observation=waiting,
            is_accepted=True,
            actor="anna",
            reason="late",
        )
    # The same doubt later is a new question with its own date.
    assert implausible(day=3).quarantined == 1
    assert PriceObservation.objects.filter(is_published=False).count() == 2


def test_waiting_price_is_withdrawn_when_its_type_vanishes() -> None:
    record(many())
    implausible()
    record(many()[1:], day=2)
    assert PriceObservation.objects.get(is_published=False).missing_since is not None


@pytest.mark.parametrize(
    ("is_published", "reason", "field"), [(True, "why", "/price"), (False, " ", "/reason")]
)
def test_review_is_refused_naming_the_field(is_published: bool, reason: str, field: str) -> None:
    row = factories.price(factories.offer(), is_published=is_published)
    with pytest.raises(InvalidValue) as caught:
        price_review(
            workspace=factories.workspace(),
            observation=row,
            is_accepted=True,
            actor="anna",
            reason=reason,
        )
    assert caught.value.field == field


def test_review_is_refused_the_second_time() -> None:
    row = factories.price(factories.offer(), is_published=False)
    price_review(
        workspace=factories.workspace(),
        observation=row,
        is_accepted=False,
        actor="anna",
        reason="a slip",
    )
    with pytest.raises(InvalidValue, match="does not wait"):
        price_review(
            workspace=factories.workspace(),
            observation=row,
            is_accepted=True,
            actor="bert",
            reason="no slip",
        )
