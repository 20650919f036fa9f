"""Own hardware: the list, the form that calculates and stores, one version."""

import re

import pytest

from backend.catalog.models import HardwareModel
from tests import factories
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db


@pytest.fixture
def analyst(client):
    """A client signed in as an analyst."""
    client.force_login(factories.user(role="write"))
    return client


def fields(**given) -> dict[str, str]:
    """A set of two servers with a switch; no energy, space or anything else beside it."""
    free = dict.fromkeys(
        ("rack_units", "support_ratio_per_year", "staff_hours_per_month", "discount_rate_per_year"),
        "0",
    )
    return {
        "name": "Rack 7",
        "currency": "EUR",
        "servers": "2",
        "items-TOTAL_FORMS": "3",
        "items-INITIAL_FORMS": "0",
        "items-0-name": "server",
        "items-0-count": "2",
        "items-0-unit_price": "8000",
        "items-0-watts": "",
        "items-2-name": "switch",
        "items-2-count": "1",
        "items-2-unit_price": "800",
        "annual_failure_rate": "0",
        **free,
        **given,
    }


def text_of(answer, status=200) -> str:
    assert answer.status_code == status
    return shown(answer)


def test_hardware_page_lists_assumptions_with_sources_without_a_model(client):
    text = text_of(client.get("/hardware/"))
    assert "No cost model yet." in text
    assert 'href="/accounts/login/?next=/hardware/"' in text
    assert "mean of the Uptime Institute" in text
    assert text.count('<tr><th scope="row">') >= 13


def test_hardware_page_lists_prices_of_parts_with_their_day(client):
    text = text_of(client.get("/hardware/"))
    assert re.search(
        r"AMD board with 2.5 Gb Ethernet \(B550\)</th>\s*<td class=\"number nowrap\">170 GBP</td>"
        r"\s*<td class=\"nowrap\">2020-11-03</td>",
        text,
    )


def test_hardware_form_calculates_without_storing(analyst):
    text = text_of(analyst.post("/hardware/new/", fields(calculate="1")))
    # (2 × 8,000 + 800) / 60 months / 2 servers = 140.00
    assert "140 EUR per month for one server" in text
    assert not HardwareModel.objects.exists()
    assert 'name="items-4-name"' in text  # two lines and three empty ones


def test_hardware_form_stores_versions_when_saved_twice(analyst):
    first = analyst.post("/hardware/new/", fields(save="1"))
    model = HardwareModel.objects.get()
    assert first.headers["Location"] == f"/hardware/{model.pk}/"
    again = text_of(analyst.get(f"/hardware/new/?from={model.pk}"))
    assert 'value="8000"' in again
    analyst.post("/hardware/new/", fields(save="1", life_months="30"))
    newest = HardwareModel.objects.get(version=2)
    text = text_of(analyst.get(f"/hardware/{newest.pk}/"))
    assert "280 EUR a month for one of 2 servers" in text
    assert "Version 1</a>" in text
    assert "stated by" in text
    old = text_of(analyst.get(f"/hardware/{model.pk}/"))
    assert "version 2</a> is the current one" in old
    assert "plot-hardware-json" in text_of(analyst.get("/hardware/"))


def test_new_version_of_more_servers_takes_more_space_and_staff(analyst):
    of_two = fields(save="1", rack_units="", staff_hours_per_month="3")
    analyst.post("/hardware/new/", of_two)
    first = HardwareModel.objects.get()
    assert first.document["rack_units"] == "2"
    text = text_of(analyst.get(f"/hardware/new/?from={first.pk}"))
    units, staff = (
        re.search(rf'<input[^>]*name="{name}"[^>]*>', text)[0]
        for name in ("rack_units", "staff_hours_per_month")
    )
    assert "value=" not in units  # the default of two servers is none that somebody stated
    assert 'value="3"' in staff
    analyst.post("/hardware/new/", {**of_two, "servers": "5"})
    newest = HardwareModel.objects.get(version=2).document
    assert (newest["rack_units"], newest["staff_hours_per_month"]) == ("5", "3")


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("name", "", "required"),
        ("servers", "two", "whole number"),
        ("currency", "EURO", "three-letter code"),
        ("pue", "0.5", "from 1 to 5"),
        ("items-2-count", "-1", "whole number"),
        ("items-2-unit_price", "eight", "not a"),
    ],
)
def test_hardware_form_says_what_is_wrong_beside_the_field(analyst, field, value, told):
    text = text_of(analyst.post("/hardware/new/", fields(save="1", **{field: value})))
    shown = re.search(rf'id="{field}_error">([^<]*)<', text)
    assert shown is not None
    assert told in shown[1]
    assert not HardwareModel.objects.exists()


def test_hardware_form_is_refused_to_viewers(client):
    client.force_login(factories.user(role="read"))
    assert client.get("/hardware/new/").status_code == 403
