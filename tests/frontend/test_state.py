"""The URL is the state: links change one thing and keep the rest."""

from backend.web import state


def test_cleaned_drops_empties_and_defaults_and_joins_lists():
    given = {
        "provider": ["aws", "gcp,aws", ""],
        "metric": ["cmips_score"],
        "currency": ["eur"],
        "q": ["  "],
        "vcpu__gte": ["8"],
    }
    assert state.cleaned(given) == {
        "provider": ["aws,gcp"],
        "currency": ["EUR"],
        "vcpu__gte": ["8"],
    }


def test_query_changes_one_parameter_and_keeps_the_others():
    params = {"provider": ["aws,gcp"], "page": ["3"]}
    assert state.query(params, page=None, sort="price") == "?provider=aws,gcp&sort=price"
    assert state.query(params, page="1") == "?provider=aws,gcp"
    assert state.query({}, page=None) == ""


def test_chips_tell_every_filter_and_link_to_the_state_without_it():
    params = {"metric": ["coremark_score"], "provider": ["aws,gcp"], "ram_gib__gte": ["8"]}
    first, second = state.chips(params, "/")
    assert (first.label, first.value) == ("Provider", "AWS, Google Cloud")
    assert first.url == "/?metric=coremark_score&ram_gib__gte=8"
    assert (second.label, second.value) == ("RAM (GiB)", "≥ 8")
    assert second.url == "/?metric=coremark_score&provider=aws,gcp"


def test_without_filters_keeps_selectors_and_order():
    params = {"metric": ["coremark_score"], "sort": ["price"], "q": ["large"], "page": ["2"]}
    assert state.without_filters(params, "/") == "/?metric=coremark_score&sort=price"


def test_heading_turns_round_on_the_second_click():
    params = {"sort": ["price,-score"]}
    price = state.heading(params, "/", "price", is_descending_first=False)
    assert (price.direction, price.ordinal, price.url) == ("ascending", 1, "/?sort=-price")
    score = state.heading(params, "/", "score", is_descending_first=True)
    assert (score.direction, score.is_first_key) == ("descending", False)
    rank = state.heading(params, "/", "rank", is_descending_first=False)
    assert (rank.direction, rank.url) == ("", "/?sort=rank")


def test_cost_of_a_purchase_has_no_period():
    assert state.cost({"currency": ["EUR"], "period": ["month"]}) == "EUR/month"
    assert state.cost({"term": ["purchase"]}) == "USD"


def test_known_leaves_out_what_the_ranking_only_warns_of():
    assert state.known({"foo": ["1"], "vcpu!": ["2"], "q": ["x"]}) == {"vcpu!": ["2"], "q": ["x"]}
