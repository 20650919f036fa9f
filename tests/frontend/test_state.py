"""The URL is the state: links change one thing and keep the rest."""

import pytest

from backend.rankings.selectors.parsing import parse_query
from backend.site import columns, state


def test_cleaned_drops_empties_and_defaults_and_joins_lists():
    given = {
        "provider": ["aws", "gcp,aws", ""],
        "term": ["on_demand"],
        "currency": ["eur"],
        "q": ["  "],
        "vcpu__gte": ["8"],
    }
    assert state.clean(given) == {
        "provider": ["aws,gcp"],
        "currency": ["EUR"],
        "vcpu__gte": ["8"],
    }


def test_query_changes_one_parameter_and_keeps_the_others():
    params = {"provider": ["aws,gcp"], "page": ["3"]}
    assert state.query(params, page=None, sort="price") == "?provider=aws,gcp&sort=price"
    assert state.query(params, page="1") == "?provider=aws,gcp"
    assert state.query({}, page=None) == ""


def test_chips_name_every_filter_and_link_to_the_state_without_it():
    params = {"metric": ["coremark_score"], "provider": ["aws,gcp"], "ram_gib__gte": ["8"]}
    first, second = state.chips(params, "/")
    assert (first.label, first.value) == ("Provider", "AWS, Google Cloud")
    assert first.url == "/?metric=coremark_score&ram_gib__gte=8"
    assert (second.label, second.value) == ("RAM (GiB)", "≥ 8")
    assert second.url == "/?metric=coremark_score&provider=aws,gcp"


def test_without_filters_keeps_selectors_and_order():
    params = {"metric": ["coremark_score"], "sort": ["price"], "q": ["large"], "page": ["2"]}
    assert state.Address("/", params).without_filters() == "/?metric=coremark_score&sort=price"


def test_heading_turns_round_on_the_second_click():
    here = state.Address("/", {"sort": ["price,-score"]})
    price = here.heading("price")
    assert (price.direction, price.ordinal, price.url) == ("ascending", 1, "/?sort=-price")
    score = here.heading("score")
    assert (score.direction, score.is_first_key) == ("descending", False)
    assert (score.url, score.also) == ("/?sort=-score", "score")
    rank = here.heading("rank")
    assert (rank.direction, rank.url, rank.also) == ("", "/?sort=rank", "rank")
    assert here.heading("vcpu").also == "-vcpu"  # more comes first


def test_repeated_sort_keys_are_dropped_from_every_link():
    params = state.clean({"sort": [",".join(["price", "-score", "-price"] * 1000)]})
    here = state.Address("/", params)
    assert params == {"sort": ["price,-score"]}
    assert here.heading("score").url == "/?sort=-score"
    assert len(here.sorting()) == 2


def test_sorting_lists_each_key_with_links_to_reverse_and_remove_it():
    first, second = state.Address("/", {"sort": ["price,-score"]}).sorting()
    assert (first.label, first.is_descending, first.turn_url) == (
        "Price",
        False,
        "/?sort=-price,-score",
    )
    assert (second.turn_url, second.without_url) == ("/?sort=price,score", "/?sort=price")
    (only,) = state.Address("/", {}).sorting()
    assert (only.name, only.is_descending) == ("value_per_cost", True)


def test_with_key_appends_a_column_or_reverses_it_where_it_is():
    assert state.with_key("price", "-score") == "price,-score"
    assert state.with_key("price,-score,vcpu", "score") == "price,score,vcpu"


def test_cleaned_drops_the_machine_and_amounts_of_absent_parts():
    given = {
        "basis": ["machine,disk", "disk"],
        "basis_disk_gb": ["500"],
        "basis_egress_gb": ["9"],
        "base": ["m5"],
    }
    assert state.clean(given) == {"basis": ["disk"], "basis_disk_gb": ["500"]}
    assert state.clean({"basis": ["machine"], "measured": ["any"]}) == {}


def test_chip_of_a_basis_names_its_amounts_and_removes_them_together():
    params = {"basis": ["disk,egress"], "basis_disk_gb": ["500"], "q": ["x"]}
    basis, _ = state.chips(params, "/")
    assert basis.value == "machine + disk 500 GB + traffic out 1000 GB/month"
    assert basis.url == "/?q=x"


def test_chip_of_a_mix_names_its_metrics_weights_and_baseline():
    params = {"weights": ["cmips_score:2,coremark_score"], "base": ["m5"], "tax_rate": ["0.19"]}
    mix, tax = state.chips(params, "/")
    assert mix.value.endswith("×2, CoreMark ×1, against m5")
    assert mix.url == "/?tax_rate=0.19"
    assert tax.value == "19%"


def test_chips_put_codes_into_words():
    params = {"vcpu_kind!": ["shared,burstable"], "flags!": ["stale_price"], "measured": ["1"]}
    assert [(chip.label, chip.value) for chip in state.chips(params, "/")] == [
        ("vCPU kind", "≠ shared, burstable"),
        ("Notes", "≠ old price"),
        ("Measured", "yes"),
    ]


def test_switched_turns_a_ready_made_filter_on_and_off_again():
    wanted = {"flags!": "disturbed,cached"}
    assert state.Address("/", {"page": ["3"]}).toggle(wanted) == (
        False,
        "/?flags!=disturbed,cached",
    )
    on = state.Address("/", {"flags!": ["disturbed,cached"], "q": ["x"]})
    assert on.toggle(wanted) == (True, "/?q=x")


def test_address_of_a_view_states_only_what_differs_from_it():
    kept = {"provider": ["aws"], "sort": ["price"], "currency": ["EUR"]}
    here = state.Address("/", {**kept, "q": ["x"]}, "cheap", kept)
    assert here.url() == "/?view=cheap&q=x"
    assert here.url(q=None) == "/?view=cheap"
    assert here.url(q=None, currency="USD") == "/?view=cheap&currency=USD"
    provider = next(chip for chip in here.chips() if chip.label == "Provider")
    assert provider.url == "/?view=cheap&provider=&q=x"


def test_cost_of_a_purchase_has_no_period():
    assert state.cost({"currency": ["EUR"], "period": ["month"]}) == "EUR/month"
    assert state.cost({"term": ["purchase"]}) == "USD"


def test_known_leaves_out_what_the_ranking_only_warns_of():
    assert state.known({"foo": ["1"], "vcpu!": ["2"], "q": ["x"]}) == {"vcpu!": ["2"], "q": ["x"]}


def test_last_of_a_repeated_value_counts_as_in_the_ranking():
    given = {
        "currency": ["EUR", "usd"],
        "period": ["month", "year"],
        "price__lte": ["300", "5"],
        "vcpu": ["4", "8"],
        "q": ["a", " "],
    }
    query, _ = parse_query(given, currencies=frozenset({"USD", "EUR"}))
    params = state.clean(given)
    assert params == {
        "currency": ["USD"],
        "period": ["year"],
        "price__lte": ["5"],
        "vcpu": ["4", "8"],
        "q": ["a"],
    }
    assert state.cost(params) == f"{query.currency}/{query.period}" == "USD/year"
    assert [one.values for one in query.filters] == [(5,), (4, 8)]


def test_pairs_are_the_hidden_inputs_of_the_named_parameters():
    params = {"metric": ["x"], "vcpu": ["4", "8"], "page": ["2"]}
    assert state.pairs({"vcpu", "page", "absent"}, params) == [
        ("vcpu", "4"), ("vcpu", "8"), ("page", "2"),
    ]  # fmt: skip
    assert state.pairs((), params) == []


@pytest.mark.parametrize(
    ("given", "params"),
    [
        ({"basis": ["machine,egress", "disk,egress"]}, {"basis": ["egress,disk"]}),
        ({"sort": ["-value_per_cost"], "cols": [",".join(columns.STANDARD)]}, {}),
        ({"sort": ["price", "-score, price,score"]}, {"sort": ["-score,price"]}),
        ({"weights": ["cmips_score:2", "coremark_score"]},
         {"weights": ["cmips_score:2,coremark_score"]}),
        ({"tax_rate": ["0.19"], "base": ["m5"]}, {"tax_rate": ["0.19"]}),
        ({"region!": ["a, b", "a"]}, {"region!": ["a,b"]}),
        ({"provider": [",", " "]}, {}),
    ],
)  # fmt: skip
def test_address_states_the_same_ranking_in_one_spelling(given, params):
    assert state.clean(given) == params
    assert state.clean(state.clean(given)) == params


@pytest.mark.parametrize(
    ("params", "changes", "url"),
    [
        ({"page": ["2"], "q": ["a b"]}, {"page": None}, "?q=a+b"),
        ({"q": ["x"]}, {"term": "on_demand"}, "?q=x"),
        ({"period": ["month"]}, {"period": "hour"}, "?period=hour"),
        ({"flags!": ["outlier,cached"]}, {"vcpu__gte": "8"}, "?flags!=outlier,cached&vcpu__gte=8"),
        ({"q": ["ä&=?#"]}, {}, "?q=%C3%A4%26%3D%3F%23"),
        ({"vcpu": ["4", "8"]}, {"vcpu": "2"}, "?vcpu=2"),
    ],
)
def test_link_changes_one_parameter_and_escapes_what_is_typed(params, changes, url):
    before = {name: list(values) for name, values in params.items()}
    assert state.query(params, **changes) == url
    assert params == before
