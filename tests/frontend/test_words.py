"""Codes, ratios and bases in words, and the filters of templates that write them."""

from dataclasses import fields
from decimal import Decimal

import pytest
from django.template import Context, Template

from backend.measure.readers.observe import Conditions
from backend.providers import registry
from backend.scenarios.pages import figures as scenario_figures
from backend.scenarios.selectors.scenarios import Simulated
from backend.site import columns, figures, lines, words
from backend.site.charts import distinct_labels


def rendered(expression: str, **values: object) -> str:
    """What a template shows for this expression."""
    return Template(f"{{% load rackrate %}}{{{{ {expression} }}}}").render(Context(values))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.25", "25%"),
        ("0.125", "12.5%"),
        ("1", "100%"),
        ("-0.5", "-50%"),
        ("0.00001", "0.001%"),
        ("0.08375", "8.375%"),
        ("much", "much"),
        ("", ""),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
    ],
)
def test_ratio_of_an_address_reads_in_percent(text, shown):
    assert words.ratio(text) == shown


@pytest.mark.parametrize(
    ("basis", "shown"),
    [
        ("machine", "the machine alone"),
        ("machine+egress", "the machine, traffic out"),
        ("sustained_use+ip", "the machine, discounted for whole months, public IPv4"),
        ("machine+disk+tax", "the machine, disk, tax"),
        ("other", "other"),
    ],
)
def test_basis_of_a_price_reads_as_what_it_includes(basis, shown):
    assert words.holds(basis) == shown


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ("disk", "disk 80 GB"),
        ("ip", "80 public IPv4"),
        ("egress", "traffic out 80 GB/month"),
        ("list", "machine at list price"),
        ("tax", "tax"),
    ],
)
def test_part_of_a_basis_has_its_amount_and_unit(part, shown):
    assert words.basis_part(part, "80") == shown


@pytest.mark.parametrize(
    ("column", "code", "shown"),
    [
        ("kind", "onprem", "own rack"),
        ("kind", "barge", "barge"),
        ("vcpu_kind", "burstable", "burstable"),
        ("price_term", "reserved_3y", "Reserved, 3 years"),
        ("price_term", "leased_2y", "Leased 2y"),
        ("interval_basis", "published_sd", "published spread, of one machine"),
        ("interval_basis", "stated_spread", "stated spread between machines"),
        ("interval_basis", "none", "none"),
        ("flags", "shared_vcpu", "shared vCPU"),
        ("flags", "not_known_yet", "not known yet"),
        ("missing", "egress_price", "price of traffic not known"),
        ("arch", "arm64", "arm64"),
        ("metric", "coremark_score", words.metric("coremark_score")),
        ("metric", "of_somebody_else", "of_somebody_else"),
    ],
)
def test_value_of_a_column_reads_in_words_or_stays_a_code(column, code, shown):
    assert words.category(column, code) == shown


def test_every_provider_has_its_name():
    for slug in registry.PROVIDERS:
        assert words.category("provider", slug) == registry.provider(slug).short_name


@pytest.mark.parametrize(
    ("name", "subject", "sign"),
    [
        ("price__lte", "price", "≤ "),
        ("price__gt", "price", "> "),
        ("price__lt", "price", "< "),
        ("no_such_column__gte", "no_such_column", "≥ "),
    ],
)
def test_sign_of_a_parameter_follows_its_suffix(name, subject, sign):
    assert (words.parameter(name)[0], words.parameter(name)[2]) == (subject, sign)
    if subject == "no_such_column":
        assert words.parameter(name)[1] == "no such column"


# --- columns and labels ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ([], columns.STANDARD),
        (["nonsense"], columns.STANDARD),
        (["price"], ("offer", "price")),
        (["price", "offer", "price"], ("price", "offer")),
        (["nonsense", "score"], ("offer", "score")),
    ],
)
def test_table_has_known_columns_once_and_always_the_offer(named, shown):
    assert columns.shown(named) == shown


def test_every_standard_column_exists():
    assert columns.shown(columns.STANDARD) == columns.STANDARD


def test_second_bar_of_a_name_gets_its_offer():
    bars = [
        {"label": "m5", "offer": "a"},
        {"label": "m5", "offer": "b"},
        {"label": "c", "offer": "c"},
    ]
    assert [bar["label"] for bar in distinct_labels(bars)] == ["m5", "m5 (b)", "c"]


# --- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, ""), (0, "0 s"), (59.6, "1 min 00 s"), (3599.4, "59 min 59 s"), (3600, "1 h 00 min")],
)
def test_duration_is_rounded_before_it_is_split(seconds, shown):
    assert figures.duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (604_800, "1 week"),
        (86_400, "1 day"),
        (90_000, "25 hours"),
        (120, "2 minutes"),
        (61, "61 s"),
    ],
)
def test_interval_uses_the_largest_unit_that_divides_it(seconds, shown):
    assert figures.interval(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(999, "999 B"), (1000, "1 kB"), (999_999, "1 MB"), (2 * 10**12, "2 TB")],
)
def test_size_is_decimal(count, shown):
    assert figures.size(count) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (1024, "1,024"),
        (2.5, "2.5"),
        (100.0, "100"),
        (0, "0"),
        (0.05, "0.05"),
        (Decimal("0.0042"), "0.0042"),
        (-0.0123, "-0.012"),
        (0.1, "0.1"),
        (4e-7, "0.0000004"),
    ],
)
def test_quantity_has_no_padding(value, shown):
    assert figures.quantity(value) == shown


@pytest.mark.parametrize(
    ("amount", "shown"),
    [("99.99995", "100"), ("100", "100"), ("0.00004", "< 0.0001"), ("0.0232", "0.0232")],
)
def test_price_of_an_hour_has_four_decimals(amount, shown):
    assert figures.money(Decimal(amount), "hour") == shown


# --- filters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value", "shown"),
    [
        ("value|percent", 0.4567, "45.7%"),
        ("value|percent", None, ""),
        ("value|percent", "0.5", ""),
        ("value|share", 0.00001, "&lt; 0.01%"),
        ("value|share", 0.0, "0%"),
        ("value|share", 0.25, "25%"),
        ("value|amount", "1234.5", "1,234"),
        ("value|amount:'hour'", "0.05", "0.0500"),
        ("value|amount", "", ""),
        ("value|spaced", "not_offered", "not offered"),
        ("value|state", "of_nobody", "Of_nobody"),
        ("value|reason", "disk_full", "There was not enough free space on the host."),
        ("value|reason", "unheard", "unheard"),
        ("value|get:'a'", {"a": 1}, "1"),
        ("value|get:'b'", {"a": 1}, "None"),
    ],
)
def test_filter_shows(expression, value, shown):
    # what a template writes is escaped; apostrophes do not occur here
    assert rendered(expression, value=value) == shown


def test_flags_are_marks_with_their_meaning():
    text = rendered("value|flags", value="disturbed odd_one")
    assert text == (
        '<span class="mark bad" title="Something else ran on the machine; not ranked.">disturbed</span> '
        '<span class="mark " title="">odd one</span>'
    )
    assert rendered("value|flags", value=["burstable"]).count("<span") == 1
    assert rendered("value|flags", value="") == ""


def test_flag_of_an_import_cannot_write_html():
    assert "<b>" not in rendered("value|flags", value=["<b>"])
    assert "&lt;b&gt;" in rendered("value|flags", value=["<b>"])


# --- options of a scenario ------------------------------------------------------------------------


def option(name: str, cost: str, unmet: float = 0.0, **more: object) -> dict[str, object]:
    return {"name": name, "cost_total": cost, "unserved_share": unmet, **more}


def marked(options):
    """The options of a result whose prices are no examples and whose unmet demand costs nothing."""
    result = {"options": options, "demand": {"unit_hours": "100"}}
    return scenario_figures.mark_options(options, Simulated(result, {"options": []}, 0))


def test_cheapest_is_the_one_that_serves_enough():
    made = marked([option("short", "5", 0.2), option("dear", "20"), option("good", "9.5")])
    assert [one["name"] for one in made if one["is_cheapest"]] == ["good"]
    assert [one["name"] for one in made if one["is_short"]] == ["short"]


def test_no_option_is_the_cheapest_when_each_leaves_demand_unmet():
    made = marked([option("a", "5", 0.2), option("b", "6", 0.1)])
    assert not any(one["is_cheapest"] for one in made)
    assert scenario_figures.beside(made[0]) == "a, 20% unmet"


@pytest.mark.parametrize(
    ("text", "shown"),
    [(None, ""), ("0", "0"), ("0.02", "0.0200"), ("0.0000123", "0.0000123")],
)
def test_small_cost_of_a_unit_keeps_all_its_decimals(text, shown):
    [made] = marked([option("a", "5", cost_per_demand_unit_hour=text)])
    assert made["unit_hour"] == shown


def test_conditions_of_a_run_have_words():
    """A key such as mhz_mean would else be shown as "Mhz mean"."""
    assert {one.name for one in fields(Conditions)} - lines.HIDDEN - lines.FACTS.keys() == set()


def test_counts_of_a_page_have_separators():
    count = "{% include 'ranking/_count.html' %}"
    page = {"paginator": {"count": 2717}}
    assert "2,717 offers" in Template(count).render(Context({"page": page}))
