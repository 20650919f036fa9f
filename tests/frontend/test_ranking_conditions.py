"""The conditions box and the other fields that only forms send, as parameters of the URL."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.rankings.pages.ranking.conditions import SIGNS, conditions
from backend.rankings.pages.ranking.folding import fold
from backend.rankings.selectors.columns import COLUMNS

NUMERIC = [column.name for column in COLUMNS if column.kind.is_numeric]
NUMBERS = st.decimals(min_value=-(10**9), max_value=10**9, places=6)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        (" ,; and ", {}),
        (
            "vcpu>=4 ram_gib 8..64 price<300",
            {"vcpu__gte": "4", "ram_gib__gte": "8", "ram_gib__lte": "64", "price__lt": "300"},
        ),
        ("vcpu >= 4,price<=.5", {"vcpu__gte": "4", "price__lte": ".5"}),
        ("VCPU>4 && score<1e3 and rank=1", {"vcpu__gt": "4", "score__lt": "1e3", "rank": "1"}),
        ("ram_gib=8..; disk_gb ..64", {"ram_gib__gte": "8", "disk_gb__lte": "64"}),
        ("price -5..5", {"price__gte": "-5", "price__lte": "5"}),
        ("vcpu≥4 vcpu≤8 vcpu≠6", {"vcpu__gte": "4", "vcpu__lte": "8", "vcpu!": "6"}),
        ("arch=x86_64,arm64, kind!=vps", {"arch": "x86_64,arm64", "kind!": "vps"}),
        ("measured_at>=2026-11-01", {"measured_at__gte": "2026-11-01"}),
        ("vcpu>=4 vcpu>=4", {"vcpu__gte": "4"}),
    ],
)
def test_conditions_are_parameters(text, found):
    assert conditions(text) == found


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("ram>=4", "'ram' is not a column; did you mean ram_gib?"),
        ("vcpu>=4 hello", "'hello' is not a column"),
        ("vcpu=>4", "'vcpu=>4' is not a condition"),
        ("vcpu>=", "'vcpu>=' is not a condition"),
        ("vcpu 4", "'vcpu 4' is not a condition"),
        ("8..9", "'8..9' is not a condition"),
        ("price<cheap", "'cheap' is not a number"),
        ("price<=1,2", "'1,2' is not a number"),
        ("pareto=maybe", "'maybe' is not one of"),
        ("measured_at>soon", "'soon' is not a date"),
        ("ram_gib 64..8", "holds nothing"),
        ("ram_gib ..", "has no bound"),
        ("arch>=x", "arch has no order"),
        ("vcpu>=4 vcpu>=5", "two conditions say different things: 4 and 5"),
        ("vcpu>=4 " * 200, "more than 1000 characters"),
    ],
)
def test_conditions_say_what_they_did_not_understand(text, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        conditions(text)


@given(
    st.lists(
        st.tuples(st.sampled_from(NUMERIC), st.sampled_from(sorted(SIGNS)), NUMBERS),
        unique_by=lambda one: one[0],
    ),
    st.sampled_from([" ", ", ", ";", " and ", " && "]),
)
def test_conditions_keep_every_figure_they_state(stated, separator):
    text = separator.join(f"{name}{sign}{format(value, 'f')}" for name, sign, value in stated)
    if len(text) > 1000:
        return
    found = conditions(text)
    assert {name: Decimal(value) for name, value in found.items()} == {
        name + SIGNS[sign]: value for name, sign, value in stated
    }


@given(st.text())
def test_conditions_never_fail_but_with_a_sentence(text):
    params, errors = fold({"where": [text]})
    assert all(value for values in params.values() for value in values)
    assert all(name == "where" and detail for name, detail in errors)


def test_folded_lets_conditions_win_over_the_fields_of_the_same_form():
    params, errors = fold({"vcpu__gte": ["2"], "where": ["vcpu>=4"], "q": ["x"]})
    assert (params, errors) == ({"vcpu__gte": ["4"], "q": ["x"]}, [])


def test_folded_leaves_out_conditions_in_error_as_a_whole():
    params, errors = fold({"where": ["vcpu>=4 price<x"], "q": ["x"]})
    assert params == {"q": ["x"]}
    assert errors == [("where", "'x' is not a number")]


def test_folded_turns_ticks_round_where_all_but_these_is_asked():
    params, _ = fold({"provider": ["aws", "gcp"], "not": ["provider", "kind", "nonsense"]})
    assert params == {"provider!": ["aws", "gcp"], "provider": [""]}


def test_folded_adds_keys_to_the_order_in_force():
    assert fold({"also": ["price"]})[0]["sort"] == ["-value_per_cost,price"]
    assert fold({"sort": ["price,-score"], "also": ["-price"]})[0]["sort"] == ["-price,-score"]
    assert "sort" not in fold({"also": [""]})[0]


def test_folded_makes_weights_of_every_field_that_has_one():
    given_fields = {"w.cmips_score": ["2"], "w.coremark_score": [" "], "weights": ["old:1"]}
    assert fold(given_fields)[0] == {"weights": ["cmips_score:2"]}
    assert fold({"w.cmips_score": [""]})[0] == {"weights": [""]}


def test_folded_reads_the_list_on_which_boxes_were_ticked():
    params, _ = fold({"at": ["provider=aws&sort=price&where=x"], "o": ["a", "b"]})
    assert params == {"provider": ["aws"], "sort": ["price"], "o": ["a", "b"]}
