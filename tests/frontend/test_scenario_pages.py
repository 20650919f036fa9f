"""Scenarios: list, editor, preview, result, map, comparison; who may write what."""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from html import unescape
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.accounts.services.workspaces import default_workspace
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.models import Scenario
from backend.scenarios.pages.forms import ScenarioForm
from backend.scenarios.services.scenarios import scenario_create, scenario_freeze
from tests import factories

pytestmark = pytest.mark.django_db
STARTUP = "startup-with-five-busy-hours"


@pytest.fixture
def analyst(client: Client) -> Client:
    client.force_login(factories.user(role="write"))
    return client


def own_prices(document: Mapping[str, Any]) -> dict[str, Any]:
    """A template's document whose prices somebody keeps as their own: with examples there is no
    cheapest option."""
    kept = deepcopy(dict(document))
    for option in kept["options"]:
        for part in option["parts"]:
            part["price"].pop("example", None)
    return kept


def stored(key: str = "startup", **changes: Any) -> Scenario:
    document = {**own_prices(TEMPLATES[key].document), **changes}
    return scenario_create(
        workspace=default_workspace(), document=document, actor="ada", template=key
    )


def text_of(client: Client, url: str, status: int = 200) -> str:
    answer = client.get(url)
    assert answer.status_code == status
    return unescape(answer.content.decode())


def filled(key: str = "startup", **changes: str) -> dict[str, str]:
    """What a browser sends of the editor that was opened from a template."""
    form = ScenarioForm(document=own_prices(TEMPLATES[key].document))
    typed = {name: form[name].value() or "" for name in form.fields}
    return typed | {name.replace("__", "."): text for name, text in changes.items()}


def plot(html: str, name: str) -> dict[str, Any]:
    found = re.search(rf'<script id="{name}-json" type="application/json">(.*?)</script>', html)
    assert found, f"there is no chart {name}"
    return dict(json.loads(found[1]))


def rows(html: str, label: str) -> list[list[str]]:
    """Cells of a table as plain text."""
    found = re.search(rf'aria-label="{label}".*?<tbody>(.*?)</tbody>', html, re.DOTALL)
    assert found, f"there is no table {label}"
    return [
        [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split())
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", found[1], re.DOTALL)
    ]


# --- list and editor ----------------------------------------------------------------------------


def test_list_says_that_there_is_nothing_and_offers_templates(client: Client) -> None:
    text = text_of(client, "/scenarios/")
    assert "No scenario is saved yet." in text
    for key, template in TEMPLATES.items():
        assert f"?template={key}" in text
        assert template.sentence in text


def test_list_marks_what_is_frozen(client: Client) -> None:
    stored()
    scenario_freeze(scenario=stored("events"), actor="ada")
    lines = rows(text_of(client, "/scenarios/"), "Scenarios")
    assert [(line[1], line[2].split()[0]) for line in lines] == [
        ("Event that everybody sees at once", "frozen"),
        ("Startup with five busy hours", "open"),
    ]


@pytest.mark.parametrize("key", TEMPLATES)
def test_editor_opens_with_a_template_and_its_figures(client: Client, key: str) -> None:
    text = text_of(client, f"/scenarios/new/?template={key}")
    assert TEMPLATES[key].sentence in text
    names = [one["name"] for one in TEMPLATES[key].document["options"]]
    shown = rows(text, "Result of each option")
    marks = (" cheapest", " insufficient capacity")
    assert [line[0].removesuffix(marks[0]).removesuffix(marks[1]) for line in shown] == names
    assert text.count("<h1>") == 1


def test_editor_shows_the_worked_figures_of_the_startup(client: Client) -> None:
    text = text_of(client, "/scenarios/new/?template=startup")
    # No verdict on examples: none of them is called the cheapest.
    assert [line[:3] for line in rows(text, "Result of each option")] == [
        ["all cloud", "1,884", "0%"],
        ["all dedicated", "2,000", "0%"],
        ["hybrid", "1,320", "0%"],
    ]


def test_editor_says_so_when_there_is_no_such_template(client: Client) -> None:
    assert "There is no such template" in text_of(client, "/scenarios/new/?template=x")


def test_preview_follows_what_is_typed_without_storing(client: Client) -> None:
    typed = filled(options__0__parts__0__price__amount="0.1")
    text = unescape(client.post("/scenarios/preview/", typed).content.decode())
    # 4,710 server-hours at .1
    assert rows(text, "Result of each option")[0][:3] == ["all cloud cheapest", "471", "0%"]
    drawn = plot(text, "plot-demand")
    assert drawn["marks"][0]["label"] == "demand, servers"
    assert len(drawn["x"]["values"]) <= 120
    assert not Scenario.objects.exists()


def test_preview_names_the_field_that_is_wrong(client: Client) -> None:
    typed = filled(demand__windows__0__from="ten", options__2__parts__1__price__billing="")
    text = unescape(client.post("/scenarios/preview/", typed).content.decode())
    assert (
        '<a href="#demand.windows.0.from">window 1, From: '
        "'ten' is not a time of day such as 22:00</a>"
    ) in text
    assert '<a href="#options.2.parts.1.price.billing">option 3, part 2, Billed: ' in text
    assert "<table" not in text


def test_editor_works_without_scripts_when_calculated(client: Client) -> None:
    answer = client.post(
        "/scenarios/new/?template=startup", filled(demand__base="4", calculate="1")
    )
    text = unescape(answer.content.decode())
    # (4 × 19 + 20 × 5) × 30 × .4
    assert rows(text, "Result of each option")[0][1] == "2,112"
    assert 'value="4"' in text
    assert not Scenario.objects.exists()


def test_editor_stores_when_saved(analyst: Client) -> None:
    answer = analyst.post("/scenarios/new/?template=startup", filled(name="Ours", save="1"))
    assert answer.headers["Location"] == "/scenarios/ours/"
    scenario = Scenario.objects.get()
    assert (scenario.name, scenario.template) == ("Ours", "startup")
    assert AuditEntry.objects.filter(action="scenario_create").exists()


def test_editor_keeps_what_was_typed_when_it_is_refused(analyst: Client) -> None:
    typed = filled(name="Ours", horizon__days="1.5001", policy__min="many", save="1")
    answer = analyst.post("/scenarios/new/", typed)
    text = unescape(answer.content.decode())
    assert text.count('<li><a href="#horizon.step_s">') == 2  # above, and beside the result
    assert "id=\"policy.min_error\">'many' is not a whole number" in text
    assert 'value="many"' in text
    assert 'value="Ours"' in text
    assert not Scenario.objects.exists()


def test_editor_changes_a_scenario(analyst: Client) -> None:
    stored()
    assert 'value="Startup with five busy hours"' in text_of(analyst, f"/scenarios/{STARTUP}/edit/")
    answer = analyst.post(f"/scenarios/{STARTUP}/edit/", filled(demand__base="4", save="1"))
    assert answer.headers["Location"] == f"/scenarios/{STARTUP}/"
    assert Scenario.objects.get().document["demand"]["base"] == "4"
    refused = analyst.post(f"/scenarios/{STARTUP}/edit/", filled(demand__base="-4", save="1"))
    assert "-4 is below 0" in unescape(refused.content.decode())


def test_editor_leads_away_from_what_is_frozen(analyst: Client) -> None:
    scenario_freeze(scenario=stored(), actor="ada")
    answer = analyst.get(f"/scenarios/{STARTUP}/edit/")
    assert answer.headers["Location"] == f"/scenarios/{STARTUP}/"


def test_editor_leads_away_from_what_has_more_options_than_it(analyst: Client) -> None:
    option = TEMPLATES["startup"].document["options"][0]
    stored(options=[{**option, "name": f"option {n}"} for n in range(15)], uncertainty=None)
    answer = analyst.get(f"/scenarios/{STARTUP}/edit/", follow=True)
    assert "more options or windows than the editor" in unescape(answer.content.decode())


@pytest.fixture
def small() -> None:
    offer = factories.offer("acme-small")
    factories.price(offer, amount="0.37", unit="hour", currency="USD")


def test_offer_shows_its_price_and_a_typed_one_that_counts_instead(
    client: Client, small: None
) -> None:
    price = "options__0__parts__0__price__"
    named = {f"{price}offer": "acme-small", f"{price}billing": ""}
    answer = client.post("/scenarios/preview/", filled(**named, **{f"{price}amount": ""}))
    text = unescape(answer.content.decode())
    assert "0.3700 USD an hour, billed by the second" in text
    assert "counts instead" not in text
    assert rows(text, "Result of each option")[0][1] == "1,743"  # 4,710 h × .37
    text = unescape(client.post("/scenarios/preview/", filled(**named)).content.decode())
    assert "Your price 0.4 counts instead of the offer’s 0.3700 USD an hour" in text


def test_words_of_an_offer_lead_to_it_with_its_price(client: Client, small: None) -> None:
    field = "options.0.parts.0.price.offer"
    typed = filled() | {field: "SMALL acme"}
    text = unescape(client.post("/scenarios/preview/", typed).content.decode())
    assert f'value="{field}=acme-small"' in text
    picked = client.post("/scenarios/new/", typed | {"pick": f"{field}=acme-small"})
    text = unescape(picked.content.decode())
    assert 'value="acme-small"' in text
    assert rows(text, "Result of each option")[0][1] == "1,743"


def test_buttons_change_what_is_typed_without_scripts(client: Client) -> None:
    typed = filled(demand__unit="users")
    steady = unescape(client.post("/scenarios/new/", typed | {"shape": "steady"}).content.decode())
    # 20 day and night, in the unit that was typed
    assert rows(steady, "Result of each option")[0][1] == "5,760"
    assert 'value="users"' in steady
    more = client.post("/scenarios/new/", typed | {"add": "dedicated"}).content.decode()
    names = [line[0] for line in rows(more, "Result of each option")]
    assert names == ["all cloud", "all dedicated", "hybrid", "Dedicated"]  # at an example price
    less = client.post("/scenarios/new/", typed | {"remove": "0"}).content.decode()
    assert rows(less, "Result of each option")[0][0] == "all dedicated"


def test_address_chooses_shape_and_options(client: Client, small: None) -> None:
    text = text_of(client, "/scenarios/new/?shape=steady&offer=acme-small&add=own")
    lines = rows(text, "Result of each option")
    assert [line[0] for line in lines] == ["acme-small", "Own rack"]  # its price is an example
    assert lines[0][1] == "5,328"  # 20 × 720 h × .37


def test_own_rack_is_typed_into_fields(client: Client) -> None:
    typed = filled("own_rack")
    servers = "options.0.parts.0.price.hardware.servers"
    items = "options.0.parts.0.price.hardware.items"
    assert (typed[servers], typed[items]) == ("20", "20, server, 3000, 250")
    text = client.post("/scenarios/preview/", typed | {items: "20, server, dear, 250"})
    assert f'<a href="#{items}">option 1, part 1, What is bought: ' in text.content.decode()


def test_every_error_stands_in_one_list_with_links(client: Client) -> None:
    price = "options__1__parts__0__price__offer"
    typed = filled(demand__base="-3", horizon__step_s="none", **{price: "nothing"})
    text = unescape(client.post("/scenarios/preview/", typed).content.decode())
    linked = set(re.findall(r'<li><a href="#([^"]+)">', text))
    assert linked == {"demand.base", "horizon.step_s", "options.1.parts.0.price.offer"}


# --- result -------------------------------------------------------------------------------------


def test_result_shows_cost_with_what_is_unserved(client: Client) -> None:
    stored("events")
    text = text_of(client, "/scenarios/event-that-everybody-sees-at-once/")
    lines = rows(text, "Figures of each option")
    # 18 servers short for 4 minutes: 72 server-minutes of 6,120
    assert lines[0][:5] == ["cloud, as it comes insufficient capacity", "167", "1.18%", "4", "18"]
    assert lines[1][:3] == ["cloud, 20 wait for it cheapest", "787", "0%"]
    assert (
        "“cloud, 20 wait for it” is the cheapest, 61% below "
        "“dedicated, 20 for the month”, but cannot grow past 20 servers: 787 USD in 1 day."
    ) in text
    assert "Not counted, for they leave demand unmet: “cloud, as it comes” (1.2%)." in text
    assert plot(text, "plot-cost")["x"]["values"][0] == "cloud, as it comes, 1.18% unmet"
    first = text_of(client, "/scenarios/event-that-everybody-sees-at-once/?option=1")
    assert max(plot(first, "plot-served")["marks"][2]["values"]) == 18


def test_result_has_every_chart_with_the_figures_of_the_option(client: Client) -> None:
    stored()
    text = text_of(client, f"/scenarios/{STARTUP}/?option=3&span=day")
    served = plot(text, "plot-served")
    assert served["title"].endswith("hybrid")
    assert served["x"]["values"][-1] - served["x"]["values"][0] < 86_400_000
    duration = plot(text, "plot-duration")
    assert [mark["label"] for mark in duration["marks"][:2]] == ["always on", "beyond it"]
    assert duration["marks"][0]["values"][0] == 3
    assert duration["marks"][1]["values"][0] == 17
    assert duration["x"]["values"][-1] == 100
    assert "plot-pareto" not in text  # all demand is served
    assert "plot-cash" not in text  # of a single month
    assert plot(text, "plot-odds")["marks"][0]["values"][2] > 50
    assert plot(text, "plot-spread")["marks"][0]["lows"]
    assert plot(text, "plot-tornado")["marks"][0]["lows"][0] == 1320.0
    meetings = rows(text, "Break-even")
    assert [
        "all cloud",
        "all dedicated",
        "price, per second, now 0.4000",
        "0.4246",
        "USD/hour",
    ] in (meetings)


def test_result_shows_the_cheapest_option_when_the_address_names_none(client: Client) -> None:
    stored()
    for query in ("", "?option=99", "?option=x"):
        served = plot(text_of(client, f"/scenarios/{STARTUP}/{query}"), "plot-served")
        assert served["title"].endswith("hybrid")
    first = plot(text_of(client, f"/scenarios/{STARTUP}/?option=1&span=all"), "plot-served")
    assert first["title"].endswith("all cloud")
    assert first["x"]["values"][-1] - first["x"]["values"][0] > 28 * 86_400_000


def test_result_lists_contracts_when_the_project_may_end(client: Client) -> None:
    stored("project_may_fail")
    lines = rows(text_of(client, "/scenarios/a-project-that-may-fail/"), "Contracts")
    assert lines[1][0] == "dedicated, 12 months"
    assert lines[1][3:6] == ["9.202", "14.03", "1.524"]
    text = text_of(client, "/scenarios/a-project-that-may-fail/")
    assert "“dedicated, by the month” has the lowest expected cost: 920 USD" in text
    costs = rows(text, "Figures of each option")
    assert [line[0].endswith("cheapest") for line in costs] == [False, False, True]


def test_result_has_no_intervals_when_no_spread_is_stated(client: Client) -> None:
    stored(uncertainty=None)
    text = text_of(client, f"/scenarios/{STARTUP}/")
    assert "Under uncertainty" not in text
    assert "plot-tornado" not in text


def test_result_lists_what_was_assumed_and_what_was_stated(client: Client) -> None:
    stored()
    ledger = {
        line[0]: line[1:4]
        for line in rows(text_of(client, f"/scenarios/{STARTUP}/"), "Assumptions")
    }
    assert ledger["warmup s"] == ["0", "s", "assumed"]
    assert ledger["demand, base"] == ["3", "unit of the demand", "stated"]
    assert ledger["price, hybrid, burst"] == ["0.4", "USD/hour", "stated"]
    assert "policy, cooldown s" not in ledger  # of another policy


def test_result_of_a_frozen_scenario_stays_as_it_was(analyst: Client) -> None:
    stored()
    analyst.post(
        f"/reports/new/scenario/{STARTUP}/", {"title": "Hybrid", "note": "We take the hybrid."}
    )
    Scenario.objects.update(document={**TEMPLATES["events"].document})
    text = text_of(analyst, f"/scenarios/{STARTUP}/")
    assert "We take the hybrid." in text
    assert "Snapshot of" in text
    assert rows(text, "Figures of each option")[2][1] == "1,320"


def test_result_says_so_when_an_offer_is_gone(client: Client) -> None:
    scenario = stored()
    part = {"role": "all", "price": {"offer": "gone"}}
    options = [{"name": "gone", "parts": [part]}]
    Scenario.objects.filter(pk=scenario.pk).update(
        document={**scenario.document, "options": options}
    )
    for page in ("", "map/"):
        text = text_of(client, f"/scenarios/{STARTUP}/{page}")
        assert "no offer is called 'gone'" in text
    compared = text_of(client, f"/scenarios/compare/?s={STARTUP}")
    assert "has no result any more" in compared


def test_result_shows_money_by_month_when_there_are_several(client: Client) -> None:
    stored(horizon={"start": "2026-01-01T00:00:00+00:00", "months": 2, "step_s": 3600})
    text = text_of(client, f"/scenarios/{STARTUP}/?option=2")
    by_month = plot(text, "plot-months")
    assert by_month["x"]["values"] == ["Jan 2026", "Feb 2026"]
    assert by_month["marks"][0]["values"] == [2000.0, 2000.0]
    assert plot(text, "plot-cash")["marks"][1]["values"] == [2000.0, 4000.0]


def test_curves_draw_cost_against_load_and_say_never(client: Client) -> None:
    stored(horizon={"start": "2026-01-01T00:00:00+00:00", "days": 30, "step_s": 3600})
    text = text_of(client, f"/scenarios/{STARTUP}/curves/")
    load, hours = plot(text, "plot-load"), plot(text, "plot-hours-a-day")
    # At the load as stated, ten tenths of it, the figures of the result.
    stated = load["x"]["values"].index(20.0)
    assert [mark["values"][stated] for mark in load["marks"]] == [1884.0, 2000.0, 1320.0]
    # 17 × 30 × h × .4 + 300 = 2,000 at h = 8.33: of whole hours the first above it
    assert "“hybrid” is the cheapest below 9 hours a day." in text
    assert "“all dedicated” is the cheapest above 9 hours a day (checked up to 24)." in text
    assert "“all cloud” is never the cheapest: wherever it serves the demand, another" in text
    assert hours["x"]["label"] == "hours a day at the peak"


def test_map_names_the_cheapest_option_with_its_unmet_demand(client: Client) -> None:
    stored()
    text = text_of(client, f"/scenarios/{STARTUP}/map/")
    line = next(line for line in rows(text, "Cheapest option") if "as stated" in line[0])
    assert line[1] == "all cloud 377 USD"
    assert line[5] == "hybrid as stated 1,320 USD"
    assert line[9].startswith("all dedicated 2,000")


@pytest.mark.parametrize("table", ["steps", "load_duration", "months", "cash"])
def test_links_lead_to_every_table(client: Client, table: str) -> None:
    stored()
    text = text_of(client, f"/scenarios/{STARTUP}/")
    links = re.findall(rf'href="(/api/v1/[^"]*table={table})"', text)
    assert [re.sub(r".*\.(\w+)\?.*", r"\1", link) for link in links] == ["csv", "xlsx", "json"]
    assert client.get(links[0]).status_code == 200


# --- compare, copy, delete ----------------------------------------------------------------------


def test_comparison_puts_options_of_scenarios_side_by_side(client: Client) -> None:
    stored()
    stored("events")
    slugs = f"s={STARTUP}&s=event-that-everybody-sees-at-once&s=x"
    text = text_of(client, f"/scenarios/compare/?{slugs}")
    assert "No scenario is called x." in text
    lines = rows(text, "Options of the scenarios")
    assert len(lines) == 6
    assert lines[3][1:4] == ["cloud, as it comes insufficient capacity", "167 USD", "1.18%"]
    drawn = plot(text, "plot-pareto")
    assert len(drawn["marks"]) == 6
    assert drawn["x"]["label"] == "cost, USD per month"
    assert drawn["x"]["values"][0] == pytest.approx(300 + 1020 / 720 * 730, abs=1e-6)


def test_comparison_has_limits_and_words_for_nothing(client: Client) -> None:
    assert "Nothing to compare" in text_of(client, "/scenarios/compare/")
    assert "No scenario is called \N{REPLACEMENT CHARACTER}." in text_of(
        client, "/scenarios/compare/?s=%00"
    )
    many = "&".join(f"s={n}" for n in range(9))
    assert "At most 8 are compared." in text_of(client, f"/scenarios/compare/?{many}")


def test_copy_opens_in_the_editor(analyst: Client) -> None:
    stored()
    answer = analyst.post(f"/scenarios/{STARTUP}/copy/")
    assert answer.headers["Location"] == f"/scenarios/{STARTUP}-copy/edit/"


def test_scenario_is_deleted_by_who_may(client: Client) -> None:
    scenario_freeze(scenario=stored(), actor="ada")
    stored("events")
    client.force_login(factories.user(role="write"))
    events = "/scenarios/event-that-everybody-sees-at-once/delete/"
    assert client.post(events).headers["Location"] == "/scenarios/"
    assert client.post(f"/scenarios/{STARTUP}/delete/").status_code == 403
    assert Scenario.objects.count() == 1


@pytest.mark.parametrize("action", ["copy", "delete"])
def test_readers_change_nothing(client: Client, action: str) -> None:
    stored()
    client.force_login(factories.user(role="read"))
    assert client.post(f"/scenarios/{STARTUP}/{action}/").status_code == 403
    assert client.post("/scenarios/new/", filled(save="1")).status_code == 403
    assert client.post(f"/scenarios/{STARTUP}/edit/", filled(save="1")).status_code == 403
    assert Scenario.objects.count() == 1


def test_unknown_scenario_is_not_found(client: Client) -> None:
    for page in ("", "edit/", "map/"):
        assert client.get(f"/scenarios/nothing/{page}").status_code == 404


@pytest.mark.parametrize("page", ["", "new/", f"{STARTUP}/", f"{STARTUP}/map/"])
def test_pages_keep_to_twelve_queries(
    analyst: Client, django_assert_max_num_queries: DjangoAssertNumQueries, page: str
) -> None:
    stored()
    with django_assert_max_num_queries(12):
        analyst.get(f"/scenarios/{page}")
