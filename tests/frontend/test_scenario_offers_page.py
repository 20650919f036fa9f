"""All offers for a scenario's load: which is cheapest, where its figures come from, and into the editor."""

from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from backend.scenarios.models import Scenario
from backend.scenarios.services.scenarios import scenario_freeze
from tests import factories
from tests.frontend.test_scenario_pages import rows, stored, text_of

pytestmark = pytest.mark.django_db
ALONE = "Each offer alone"


@pytest.fixture
def sized(db: None) -> Scenario:
    """Three servers all day and 20 for five hours, by CMIPS."""
    small, large = factories.offer("small"), factories.offer("large", vcpu_kind="shared")
    factories.sample(small, 100)
    factories.price(small, "0.10")
    factories.sample(large, 400)
    factories.price(large, "0.90")
    committed = factories.offer("committed")
    factories.sample(committed, 100)
    factories.price(committed, "0.05", purchase_model="reserved", term="1y")
    capacity = {"units_per_server": "1", "metric": "cmips_score", "units_per_score": "0.01"}
    return stored(capacity=capacity)


def address(scenario: Scenario, asked: str = "") -> str:
    return f"/scenarios/{scenario.slug}/offers/{asked}"


def test_offers_stand_with_the_options_cheapest_first(client: Client, sized: Scenario) -> None:
    page = text_of(client, address(sized))
    assert "2 offers compared" in page
    table = rows(page, ALONE)
    named = [row[1] for row in table]
    # 157 server-hours a day for 30 days at 0.10; large ones run 1 all day and 5 for five hours
    assert (table[0][0], table[0][1].split()[0], table[0][2]) == ("1", "small", "471")
    assert any("option of this scenario" in name for name in named)
    costs = [float(row[2].replace(",", "")) for row in table]
    assert costs == sorted(costs)
    [large] = [row for row in table if row[1].startswith("large")]
    assert large[2] == "1,188"  # 44 server-hours a day
    assert "shared" in large[1]
    assert large[7] == "4"
    assert "1 offer without a price for this payment option" in page
    assert "20 × <a" in page  # 20 small ones for the peak, 2.00 an hour


def test_price_and_score_are_one_click_away(client: Client, sized: Scenario) -> None:
    page = text_of(client, address(sized))
    price = factories.Offer.objects.get(slug="small").prices.get()
    for href in (f"/prices/{price.pk}/", "/offers/small/scores/cmips_score/", "/offers/small/"):
        assert f'href="{href}"' in page
        assert client.get(href).status_code == 200
    csv = f"/api/v1/scenarios/{sized.slug}/screening.csv?term=on_demand"
    assert f'href="{csv}"' in page
    assert client.get(csv).status_code == 200
    assert address(sized) in text_of(client, f"/scenarios/{sized.slug}/")


def test_committed_offers_are_shown_always_on(client: Client, sized: Scenario) -> None:
    page = text_of(client, address(sized, "?term=reserved_1y"))
    [row] = [row for row in rows(page, ALONE) if row[1].startswith("committed")]
    assert "always on" in row[1]
    assert row[2] == "720"  # 20 × 720 h × 0.05


def test_offer_opens_in_the_editor_as_one_more_option(client: Client, sized: Scenario) -> None:
    assert "Add as an option" not in text_of(client, address(sized))
    client.force_login(factories.user(role="write"))
    page = text_of(client, address(sized))
    edit = f"/scenarios/{sized.slug}/edit/"
    assert f'href="{edit}?offer=small"' in page
    count = len(sized.document["options"])
    name = f"options.{count}.parts.0.price.offer"
    assert f'name="{name}" value="small"' in text_of(client, f"{edit}?offer=small&term=spot")
    # What is no offer adds nothing.
    assert 'value="nobody"' not in text_of(client, f"{edit}?offer=nobody")
    assert Scenario.objects.get().document == sized.document


def test_frozen_scenario_says_whose_day_it_is(client: Client, sized: Scenario) -> None:
    scenario_freeze(scenario=sized, note="", actor="ada")
    client.force_login(factories.user(role="write"))
    page = text_of(client, address(sized))
    assert "the offers are those of today" in page
    assert "Add as an option" not in page


def test_page_says_in_words_why_there_is_nothing(client: Client, sized: Scenario) -> None:
    page = text_of(client, address(stored(name="Unsized")))
    assert "To compare offers, the scenario must say" in page
    assert "/capacity/metric" in page
    empty = text_of(client, address(sized, "?term=spot"))
    assert "No offer on sale has both a score" in empty
    # What is no term or provider narrows nothing.
    assert "2 offers compared" in text_of(client, address(sized, "?term=x&provider=x"))


def test_load_that_takes_too_long_is_refused_in_words(
    client: Client, sized: Scenario, settings: Any
) -> None:
    settings.WORK_ANONYMOUS_STEPS = 100
    page = text_of(client, address(sized))
    assert "Nothing was calculated" in page
    assert escape("take longer steps") in page
