"""The form above the ranking: it shows what is in force, whatever that is, and counts what is left."""

import pytest

from backend.measure.metrics import METRICS, OWN_METRICS
from backend.rankings.pages.ranking import forms
from backend.rankings.selectors.ranking import Ranking
from backend.site import state
from backend.site.metric_field import metric_groups
from tests.frontend.ranking_rows import ranking_row

IMPORTED = next(key for key in METRICS if key not in OWN_METRICS)


def form(params: state.Params, **given) -> forms.RankingForm:
    return forms.RankingForm(params, currencies=["EUR", "USD"], scored=frozenset(), **given)


def ranking(*rows) -> Ranking:
    return Ranking(rows, (), {}, 7, METRICS["cmips_score"], 0)


def chosen(select: forms.RankingForm, name: str) -> str:
    return str(select[name].value())


# --- selectors ------------------------------------------------------------------------------------


def test_form_shows_the_defaults_when_the_address_says_nothing():
    made = form({})
    assert [chosen(made, name) for name in ("metric", "period", "currency", "term", "measured")] == [
        "cmips_score", "hour", "USD", "on_demand", "any",
    ]  # fmt: skip
    assert chosen(made, "hours_per_month") == "730"
    assert not made.errors


@pytest.mark.parametrize(
    ("name", "value"),
    [("metric", "no_such"), ("currency", "XYZ"), ("period", "week"), ("term", "stolen")],
)
def test_value_that_is_no_choice_is_shown_with_its_error(name, value):
    made = form({name: [value]}, errors={name: "is not known", "vcpu__gte": "is elsewhere"})
    assert f'<option value="{value}" selected>' in str(made[name])
    assert made.errors == {name: ["is not known"]}


def test_metric_without_any_figure_cannot_be_chosen():
    menu = str(form({"metric": ["cmips_score"]})["metric"])
    assert '<option value="cmips_score" selected>' in menu
    assert '<option value="net_rtt_ns" disabled>' in menu


def test_metrics_of_others_are_offered_where_an_offer_has_them():
    assert [label for label, _ in metric_groups(frozenset(), "cmips_score")] == [
        "Measured by our probes", "No data yet",
    ]  # fmt: skip
    groups = dict(metric_groups(frozenset({IMPORTED}), "cmips_score"))
    assert [key for key, _ in groups["From other suites"]] == [IMPORTED]
    assert dict(metric_groups(frozenset(), "gone"))[""] == [("gone", "gone")]


# --- menus ----------------------------------------------------------------------------------------


def menu(name: str, params: state.Params, *rows) -> forms.Menu:
    (made,) = forms.menus([name], params, ranking(*rows))
    return made


def test_menu_counts_the_offers_of_each_value():
    rows = [ranking_row("a", 1.0, "1"), ranking_row("b", 1.0, "1", provider="gcp"),
            ranking_row("c", 1.0, "1")]  # fmt: skip
    made = menu("provider", {}, *rows)
    assert [(one.code, one.label, one.count) for one in made.options] == [
        ("aws", "AWS", 2), ("gcp", "Google Cloud", 1),
    ]  # fmt: skip
    assert made.summary == "All"


def test_flags_of_one_offer_count_one_by_one():
    rows = [ranking_row("a", 1.0, "1", flags="imported unstable"),
            ranking_row("b", 1.0, "1", flags="imported"), ranking_row("c", 1.0, "1")]  # fmt: skip
    counts = {one.code: one.count for one in menu("flags", {}, *rows).options}
    assert counts == {"imported": 2, "unstable": 1}


def test_value_in_force_is_in_the_menu_even_when_no_offer_has_it():
    made = menu("region", {"region": ["eu-west-1,mars"]}, ranking_row("a", 1.0, "1"))
    assert [(one.code, one.count, one.is_on) for one in made.options] == [
        ("eu-west-1", 1, True), ("mars", 0, True),
    ]  # fmt: skip
    assert made.summary == "eu-west-1, mars"


def test_menu_of_left_out_values_says_not():
    made = menu("kind", {"kind!": ["vps"]}, ranking_row("a", 1.0, "1"))
    assert (made.is_not, made.summary) == (True, "not VPS")
    both = menu("kind", {"kind!": ["vps"], "kind": ["cloud"]}, ranking_row("a", 1.0, "1"))
    assert (both.is_not, both.summary) == (False, "cloud")


def test_menu_holds_the_most_frequent_values_and_the_one_in_force():
    rows = [ranking_row(f"o{n}", 1.0, "1", region=f"r{n:03}") for n in range(100)]
    rows += [ranking_row(f"more{n}", 1.0, "1", region="r099") for n in range(3)]
    codes = [one.code for one in menu("region", {"region": ["r098"]}, *rows).options]
    assert len(codes) == forms.MOST_OPTIONS + 1
    assert {"r098", "r099"} <= set(codes)
    assert codes == sorted(codes)


# --- bounds, basis, mix ---------------------------------------------------------------------------


def test_fields_of_bounds_show_their_values_and_errors():
    params = {"vcpu__gte": ["8"], "price__lte": ["much"]}
    groups = forms.ranges(params, {"price__lte": "'much' is not a number"})
    made = {one.name: one for _, ones in groups for one in ones}
    assert (made["vcpu"].low, made["vcpu"].high, made["vcpu"].low_error) == ("8", "", "")
    assert (made["price"].high, made["price"].high_error) == ("much", "'much' is not a number")
    assert made["vcpu"].kind == "decimal"
    assert [title for title, _ in groups] == ["Most used", "All other figures"]


def test_parts_of_a_price_show_which_are_included_and_how_much():
    params = {"basis": ["disk,ip"], "basis_disk_gb": ["500"]}
    errors = {"basis_ipv4": "is too much"}
    parts = {one.code: one for one in forms.basis_parts(params, errors, may_write=False)}
    assert {code for code, one in parts.items() if one.is_on} == {"disk", "ip"}
    assert (parts["disk"].amount_name, parts["disk"].amount) == ("basis_disk_gb", "500")
    assert parts["ip"].error == "is too much"
    assert parts["egress"].amount == state.DEFAULTS["basis_egress_gb"]
    assert parts["list"].amount_name == ""
    assert "contract" not in parts


def test_contract_is_offered_to_those_who_may_see_it():
    parts = {
        one.code: one for one in forms.basis_parts({"basis": ["contract"]}, {}, may_write=True)
    }
    assert [code for code, one in parts.items() if one.is_on] == ["contract"]


def test_weights_of_a_mix_are_one_where_none_is_stated():
    params = {"weights": ["cmips_score:2.5,coremark_score,unknown_score:3"]}
    given = {one.key: one.weight for one in forms.weights(params, frozenset())}
    assert (given["cmips_score"], given["coremark_score"]) == ("2.5", "1")
    assert given["unknown_score"] == "3"  # stays in the form, with its error elsewhere
    assert given["memory_bandwidth_bytes_per_s"] == ""
