"""Offers, prices and scores of the catalog in the place of what a scenario document names."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import Workspace
from backend.catalog.models import Offer, OfferKind, PriceObservation
from backend.catalog.services.hardware import hardware_create
from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.conclusion import conclude
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.selectors.resolving import Resolved, resolve
from backend.scenarios.selectors.scenarios import simulate_document
from tests import factories
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup

pytestmark = pytest.mark.django_db
TODAY = dt.date(2026, 11, 21)
MONTHLY = {"unit": "month", "purchase_model": "monthly"}


def resolved_startup(*options: Document, **given: Any) -> Resolved:
    return resolve(startup(*options, **given), workspace_slug="default", today=TODAY)


def plain(offer: Offer, **price_given: Any) -> dict[str, Any]:
    """The price that takes the place of the offer."""
    document = resolved_startup(all_of("one", {"offer": offer.slug, **price_given})).document
    return dict(document["options"][0]["parts"][0]["price"])


def faults(*options: Document, **given: Any) -> dict[str, str]:
    with pytest.raises(InvalidDocument) as refused:
        resolved_startup(*options, **given)
    return dict(refused.value.errors)


def priced(amount: str = "0.4", kind: str = OfferKind.CLOUD, **given: Any) -> Offer:
    offer = factories.offer(kind=kind)
    factories.price(offer, amount, **given)
    return offer


# --- one rule for each kind of price --------------------------------------------------------------


def test_price_by_the_hour_is_billed_by_the_second() -> None:
    assert plain(priced()) == price("0.4")


def test_price_with_a_cap_is_billed_by_hours_begun() -> None:
    offer = priced("0.006", monthly_cap=Decimal("3.79"))
    assert plain(offer) == price("0.006", "hour_ceil_cap", cap="3.79")


@pytest.mark.parametrize(("name", "last"), [("n1", "0.4"), ("n2", "0.6")])
def test_price_with_a_table_of_discounts_is_billed_by_it(name: str, last: str) -> None:
    given = plain(priced(sustained_use=name))
    assert given["billing"] == "sustained_use"
    assert given["tiers"][-1] == ["1.0", last]
    assert simulate(startup(all_of("one", given)))["options"]


def test_demo_scenario_bills_sustained_use_and_none_beside_a_commitment(market: None) -> None:
    document = json.loads((settings.FIXTURE_DIR / "scenarios" / "commitment.json").read_text())
    # A day of steep steps, of which an independent engine knows the cost.
    document["demand"]["daily"] = [*[0.3] * 7, 0.8, 0.8, *[1.6] * 8, *[1.2] * 4, *[0.5] * 3]
    document["policy"]["min"] = 2
    given = resolve(document, today=TODAY)
    result = simulate({**given.document, "uncertainty": None})
    cost = {o["name"]: Decimal(o["cost_total"]) for o in result["options"]}
    # An independent engine billed the listed hours under Google's tiers for N2.
    assert round(cost["on demand"], 2) == Decimal("3625.46")
    assert round(1 - cost["committed for a year"] / cost["on demand"], 3) == Decimal("0.034")
    [left_out] = [a for a in given.assumptions if "sustained use" in a["name"]]
    assert left_out["value"] == "left out beside a commitment"


@pytest.mark.parametrize("name", ["startup", "startup-2013", "commitment"])
def test_shipped_example_answers_which_option_to_take(market: None, name: str) -> None:
    document = json.loads((settings.FIXTURE_DIR / "scenarios" / f"{name}.json").read_text())
    result = simulate_document(document).result
    said = conclude(result, "USD", "its time")
    [best] = [one for one in result["options"] if said.sentence.startswith(f"“{one['name']}”")]
    assert " the cheapest" in said.sentence
    # It serves in any case, and hardly a simulation speaks for another one.
    assert (best["p_serves"], best["unserved_share"] < 1e-5) in {(None, True), (1.0, True)}
    assert best["p_cheapest"] is None or best["p_cheapest"] > 0.9


def test_price_by_the_month_is_monthly_or_a_contract_if_dedicated() -> None:
    assert plain(priced("49", **MONTHLY)) == price("49", "monthly")
    offer = priced("49", OfferKind.DEDICATED, setup_amount=Decimal(99), minimum_months=3, **MONTHLY)
    assert plain(offer) == price("49", "dedicated", setup="99", minimum_months=3)
    assert plain(priced("9", OfferKind.DEDICATED, **MONTHLY))["minimum_months"] == 1


def test_price_by_the_year_is_a_twelfth_of_it_a_month() -> None:
    offer = priced("1200", unit="year", purchase_model="monthly")
    assert plain(offer) == price("100", "monthly")


def test_reservation_pays_hourly_fee_and_upfront_over_the_term() -> None:
    reserved = {"purchase_model": "reserved", "term": "1y"}
    offer = priced("0.2", setup_amount=Decimal(500), **reserved)
    assert plain(offer, term="reserved_1y") == price(
        "0.2", "reserved", upfront="500", term_months=12
    )
    # all upfront: 876 over 12 × 730 h
    whole = priced("876", unit="once", **reserved)
    assert plain(whole, term="reserved_1y") == price("0.1", "reserved", term_months=12)


def test_commitment_by_the_month_is_a_reservation_of_730_hours() -> None:
    offer = priced("73", unit="month", purchase_model="committed", term="3y")
    assert plain(offer, term="committed_3y") == price("0.1", "reserved", term_months=36)


def test_savings_plan_is_a_discount_on_the_price_without_one() -> None:
    offer = priced("0.4")
    factories.price(offer, "0.3", purchase_model="savings", term="1y")
    given = plain(offer, term="savings_1y", commit_per_hour="1")
    assert given == price("0.4", "savings", discount="0.25", commit_per_hour="1")
    bare = priced("0.3", purchase_model="savings", term="1y")
    assert (
        "discount"
        in faults(all_of("one", {"offer": bare.slug, "term": "savings_1y"}))[
            "/options/0/parts/0/price/term"
        ]
    )


def test_spot_price_keeps_what_is_stated_beside_it() -> None:
    offer = priced("0.1", purchase_model="spot", zone="a")
    given = plain(offer, term="spot", interruptions_per_month="0")
    assert given == price("0.1", "spot", interruptions_per_month="0")
    stated = all_of("one", {"offer": offer.slug, "term": "spot", "interruptions_per_month": "0"})
    assert len(resolved_startup(stated).assumptions) == 1


def test_spot_price_without_a_rate_has_one_that_is_assumed_and_said() -> None:
    offer = priced("0.1", purchase_model="spot", zone="a")
    assert plain(offer, term="spot") == price("0.1", "spot", interruptions_per_month="0.05")
    given = resolved_startup(all_of("one", {"offer": offer.slug, "term": "spot"}))
    [assumed] = [a for a in given.assumptions if a["name"].startswith("interruptions of")]
    assert (assumed["value"], assumed["unit"]) == ("0.05", "per server and 730 h")
    assert "assumed" in assumed["source"]
    assert Decimal(simulate(given.document)["options"][0]["interruptions"]) > 0


def test_billing_that_is_stated_wins() -> None:
    offer = priced("0.006", monthly_cap=Decimal("3.79"))
    assert plain(offer, billing="hour_ceil") == price("0.006", "hour_ceil")
    assert plain(offer, minimum_s=None)["billing"] == "hour_ceil_cap"


def test_own_hardware_is_its_document_and_in_another_currency_its_month() -> None:
    factories.rate("USD", "1.25")
    document = {
        "name": "Rack",
        "currency": "EUR",
        "servers": 2,
        "items": [{"name": "board", "count": 2, "unit_price": "900.10", "watts": "80"}],
    }
    model = hardware_create(workspace=factories.workspace(), document=document, actor="test")
    assert plain(model.offer)["billing"] == "purchase"
    given = plain(model.offer, currency="USD")
    assert (given["billing"], given["month_convention"]) == ("monthly", 730)
    assert Decimal(given["amount"]) == pytest.approx(
        Decimal(model.cost["price_per_month"]) * Decimal("1.25"), rel=Decimal("1e-12")
    )


def test_machine_that_is_bought_has_no_price_to_run() -> None:
    offer = priced("2000", unit="once", purchase_model="purchase")
    told = faults(all_of("one", {"offer": offer.slug, "term": "purchase"}))
    assert "is bought, not rented" in told["/options/0/parts/0/price/offer"]


# --- one observation ------------------------------------------------------------------------------


def test_price_observation_is_taken_as_it_is() -> None:
    offer = priced("0.4")
    old = factories.price(offer, "0.9", observed_at=factories.AT - dt.timedelta(days=400))
    given = resolved_startup(all_of("one", {"price_observation": str(old.pk)}))
    assert given.document["options"][0]["parts"][0]["price"] == price("0.9")
    assert "0.9" in given.assumptions[0]["value"]


def test_price_observation_must_be_a_published_price_of_a_machine() -> None:
    offer = priced()
    waiting = factories.price(offer, "9", zone="a", is_published=False)
    egress = factories.price(offer, "9", zone="b", basis="+egress")
    wrong: list[Any] = [waiting.pk, egress.pk, "7", 7, None]
    options = [
        all_of(str(n), {"price_observation": str(pk) if n < 2 else pk})
        for n, pk in enumerate(wrong)
    ]
    told = faults(*options)
    assert [told[f"/options/{n}/parts/0/price/price_observation"] for n in range(5)] == [
        f"no published price has the id {waiting.pk}",
        "the price includes more than the machine: +egress",
        *["the id of a price is needed"] * 3,
    ]
    both = {"offer": offer.slug, "price_observation": str(waiting.pk)}
    assert "enough" in faults(all_of("a", both))["/options/0/parts/0/price/price_observation"]


# --- currencies -----------------------------------------------------------------------------------


def test_prices_come_in_the_currency_that_is_stated_else_in_their_own() -> None:
    factories.rate("USD", "1.25")
    euro = priced("0.4", currency="EUR")
    assert plain(euro)["currency"] == "EUR"
    document = resolved_startup(all_of("typed", price("1")), all_of("euro", {"offer": euro.slug}))
    given = document.document["options"][1]["parts"][0]["price"]
    assert (given["amount"], given["currency"]) == ("0.5", "USD")
    assert "converted at 1.25 USD/EUR of 2026-10-30" in document.assumptions[0]["source"]
    dollar = priced()
    mixed = resolved_startup(all_of("e", {"offer": euro.slug}), all_of("d", {"offer": dollar.slug}))
    assert [option["parts"][0]["price"]["currency"] for option in mixed.document["options"]] == [
        "USD",
        "USD",
    ]


def test_anomalies_of_a_price_are_among_the_assumptions() -> None:
    offer = priced(missing_since=factories.AT, tax_basis="gross")
    (assumed,) = resolved_startup(all_of("one", {"offer": offer.slug})).assumptions
    assert assumed["source"] == (
        "read on 2026-11-01, 20 days ago; test; its list does not contain it any more; "
        "includes tax at a rate that is not known"
    )


def test_currency_without_a_rate_is_a_fault() -> None:
    offer = priced(currency="CHF")
    told = faults(all_of("one", {"offer": offer.slug, "currency": "USD"}))
    assert "no exchange rate" in told["/options/0/parts/0/price/currency"]


# --- scores ---------------------------------------------------------------------------------------

SCORED = {"metric": "cmips_score", "units_per_score": "0.01", "target_utilisation": "0.7"}


def test_score_times_units_is_the_capacity_of_each_part() -> None:
    one, other = priced(), priced("0.1")
    factories.sample(one, 4281.0)
    factories.sample(other, 3101.5)
    given = resolved_startup(
        all_of("one", {"offer": one.slug}),
        hybrid("both", {"offer": one.slug}, {"offer": other.slug}),
        all_of("own", {"offer": one.slug}, capacity="7"),
        all_of("typed", price("1"), capacity="3"),
        capacity=SCORED,
    )
    capacities = [[p["capacity"] for p in o["parts"]] for o in given.document["options"]]
    assert capacities == [["42.81"], ["42.81", "31.015"], ["7"], ["3"]]
    assert given.document["capacity"] == {"target_utilisation": "0.7"}
    names = [one["name"] for one in given.assumptions]
    assert f"cmips_score of {one.slug}" in names
    assert simulate(given.document)["options"]


def test_unknown_score_is_a_fault_of_the_offer() -> None:
    one = priced()
    told = faults(all_of("one", {"offer": one.slug}), capacity=SCORED)
    assert told == {"/options/0/parts/0/price/offer": f"cmips_score of {one.slug} is not known"}


@pytest.mark.parametrize(
    ("capacity", "pointer"),
    [
        ({"metric": "speed", "units_per_score": 1}, "/capacity/metric"),
        ({"metric": ["speed"], "units_per_score": 1}, "/capacity/metric"),
        ({"metric": "boot_time_s", "units_per_score": 1}, "/capacity/metric"),
        ({"metric": "cmips_score"}, "/capacity/units_per_score"),
        ({"metric": "cmips_score", "units_per_score": 0}, "/capacity/units_per_score"),
        ({"units_per_score": 1}, "/capacity/metric"),
    ],
)
def test_fault_of_the_capacity_is_listed(capacity: Document, pointer: str) -> None:
    assert pointer in faults(all_of("one", {"offer": priced().slug}), capacity=capacity)


def test_spread_of_scores_and_boots_becomes_a_default_of_the_uncertainty() -> None:
    one = priced()
    for n in range(3):
        host = factories.host(one)
        factories.sample(one, 4000.0 + 100 * n, host=host)
        boot = {"metric": "boot_time_s", "unit": "s", "variant": "standard"}
        factories.sample(one, 40.0 + n, host=host, **boot)
    given = resolved_startup(
        all_of("one", {"offer": one.slug}), capacity=SCORED, uncertainty={"draws": 10}
    )
    spread = given.document["uncertainty"]
    assert 0 < Decimal(spread["score_cv"]) < 1
    stated = resolved_startup(
        all_of("one", {"offer": one.slug}), capacity=SCORED, uncertainty={"score_cv": "0.3"}
    )
    assert stated.document["uncertainty"]["score_cv"] == "0.3"
    without = resolved_startup(all_of("one", {"offer": one.slug}), capacity=SCORED)
    assert "uncertainty" not in without.document


@pytest.mark.parametrize("source", ["published", "measured"])
def test_score_without_an_interval_has_the_stated_spread(source: str) -> None:
    """S14: a scenario took a score of unknown spread as exact."""
    one = priced()
    factories.sample(one, 4000.0, source=source)
    given = resolved_startup(
        all_of("one", {"offer": one.slug}), capacity=SCORED, uncertainty={"draws": 10}
    )
    assert Decimal(given.document["uncertainty"]["score_cv"]) >= Decimal("0.05")


# --- what is not there, and what is no offer ------------------------------------------------------


def test_offers_must_be_known_and_have_the_price() -> None:
    bare, known = factories.offer(), priced()
    other = Workspace.objects.create(slug="other", name="Other")
    hidden = factories.offer(workspace=other)
    factories.price(hidden)
    told = faults(
        all_of("a", {"offer": "no-such"}),
        all_of("b", {"offer": bare.slug}),
        all_of("c", {"offer": known.slug, "term": "spot"}),
        all_of("d", {"offer": known.slug, "term": "for ever"}),
        all_of("e", {"offer": ""}),
        all_of("f", {"offer": 7}),
        all_of("g", {"offer": hidden.slug}),
        all_of("h", {"offer": "\0\ud800"}),
    )
    at = "/options/{}/parts/0/price/{}"
    assert told == {
        at.format(0, "offer"): "no offer is called 'no-such'",
        at.format(1, "offer"): f"no on_demand price of {bare.slug} is known",
        at.format(2, "term"): f"no spot price of {known.slug} is known",
        at.format(3, "term"): told[at.format(3, "term")],
        at.format(4, "offer"): "the slug of an offer is needed",
        at.format(5, "offer"): "the slug of an offer is needed",
        at.format(6, "offer"): f"no offer is called {hidden.slug!r}",
        at.format(7, "offer"): "no offer is called '\\x00\\ud800'",
    }
    assert "'for ever' is not one of on_demand" in told[at.format(3, "term")]


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {"options": 7}, {"options": [7, {"parts": 7}, {"parts": [7, {"price": 7}]}]}],
)
def test_what_is_no_document_is_left_to_the_reader(document: Any) -> None:
    assert resolve(document, today=TODAY).document == document


def test_document_is_not_changed_itself() -> None:
    document = startup(all_of("one", {"offer": priced().slug}))
    before = repr(document)
    resolve(document, today=TODAY)
    assert repr(document) == before


def test_many_offers_take_few_queries(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    offers = [priced(str(n + 1)) for n in range(20)]
    for offer in offers:
        factories.sample(offer, 100.0)
    options = [all_of(offer.slug, {"offer": offer.slug}) for offer in offers]
    assert PriceObservation.objects.count() == 20
    with django_assert_max_num_queries(6):
        resolved_startup(*options, capacity=SCORED)
