"""Lines of pages made of parts by hand: samples, fleets, machines, costs, histories, own hardware."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace
from uuid import UUID

import pytest

from backend.benchmarks.models import ResourcePurchase, ResourceState
from backend.benchmarks.pages.campaigns.views import _cost_words
from backend.benchmarks.pages.runs.views import cost_words
from backend.benchmarks.selectors.costs import Cost
from backend.benchmarks.selectors.history import Point
from backend.catalog.pages.hardware.forms import HardwareForm
from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.rankings.calc.fleet_search import TRAFFIC, Fault, InfeasibleOffer
from backend.rankings.calc.fleets import Fleet, FleetTarget, Requirement, Rule
from backend.rankings.pages.requirements.forms import RequirementForm
from backend.rankings.pages.requirements.lines import failure_groups, fleet_lines, headings
from backend.site import lines, machines
from backend.site.history_plots import history_plot
from tests.frontend.ranking_rows import ranking_row

AT = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)


# --- samples --------------------------------------------------------------------------------------


def sample(value: float, repeat: int, metric="memory_bandwidth_bytes_per_s", **given):
    known = {"variant": "all", "unit": "bytes/s", "flags": [], "excluded_reason": "", "parameters": {},
             "evidence": SimpleNamespace(n=repeat, run_id=UUID(int=1), pk=5)}  # fmt: skip
    return SimpleNamespace(metric=metric, value=value, repeat=repeat, **{**known, **given})


def test_samples_of_a_metric_share_the_unit_of_the_middle_one():
    made = lines.sample_lines([sample(9e8, 0), sample(2e9, 1), sample(3e10, 2)])
    assert [(line.shown, line.unit) for line in made] == [
        ("0.900", "GB/s"), ("2.000", "GB/s"), ("30.00", "GB/s"),
    ]  # fmt: skip
    assert made[1].evidence_url == f"/runs/{UUID(int=1)}/evidence/1/"


def test_sample_without_evidence_or_run_leads_where_its_text_is():
    imported = sample(1.0, 0, evidence=SimpleNamespace(n=0, run_id=None, pk=5))
    published = sample(1.0, 0, evidence=None, metric="old_score", unit="points")
    first, second = lines.sample_lines([imported, published])
    assert first.evidence_url == "/evidence/5/"
    assert (second.evidence_url, second.label, second.unit) == (None, "old_score", "points")


def test_result_is_the_median_of_the_repeats_that_count():
    samples = [
        sample(10.0, 0),
        sample(30.0, 1, flags=["unstable"]),
        sample(20.0, 2),
        sample(99.0, 3, flags=["disturbed"]),
        sample(1.0, 4, excluded_reason="typo"),
    ]
    (line,) = lines.result_lines(lines.sample_lines(samples))
    assert (line.median, line.low, line.high) == (20.0, "10.00", "30.00")
    assert line.flags == ["unstable"]  # of those that count
    assert line.excluded_count == 2
    assert [piece.shown for piece in line.pieces] == ["10.00", "30.00", "20.00", "99.00", "1.00"]


def test_variants_of_a_metric_stand_beside_each_other():
    """Queue depth 8 is measured long after dd, and read beside it."""
    read, write = "disk_read_bytes_per_s", "disk_write_bytes_per_s"
    order = [(write, "dd_direct"), (read, "dd_direct"), (read, "fio_1m_qd8"), (write, "fio_1m_qd8")]
    samples = [sample(1e9, 0, metric, variant=variant) for metric, variant in order]
    made = lines.result_lines(lines.sample_lines(samples))
    assert [(line.metric, line.variant) for line in made] == [
        (write, "dd_direct"), (write, "fio_1m_qd8"), (read, "dd_direct"), (read, "fio_1m_qd8"),
    ]  # fmt: skip


def test_result_that_a_person_left_out_whole_still_has_a_line():
    (line,) = lines.result_lines(lines.sample_lines([sample(5.0, 0, excluded_reason="typo")]))
    assert (line.shown, line.low, line.excluded_count) == ("5.000", "", 1)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("memory_bytes", 2**34, "16 GiB"),
        ("l3_bytes", 32_000_000, "32 MB"),
        ("steal_ratio", 0.0123, "1.2%"),
        ("wall_s", 5.0, "5 s"),
        ("is_quiet", False, "no"),
        ("threads_per_core", 2, "2"),
    ],
)
def test_fact_reads_with_its_unit(name, value, shown):
    ((_, text),) = lines.facts({name: value, "schema": 1, "nested": {"a": 1}, "empty": ""})
    assert text == shown


@pytest.mark.parametrize("url", ["/runs/1/", "", None])
def test_address_of_this_site_has_no_host(url, settings):
    settings.PUBLIC_URL = "https://rackrate.example/"
    assert lines.own_path(url) == (url or None)
    assert lines.own_path("https://rackrate.example/runs/1/") == "/runs/1/"
    assert lines.own_path("https://other.example/x") == "https://other.example/x"


# --- what it costs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (Cost(Decimal("0.0133"), "USD"), "$0.01"),
        (Cost(Decimal(0), "USD"), "$0.00"),
        (Cost(Decimal(2), "EUR", ("rack",)), "€2.00 and more"),
        (Cost(Decimal(0), "EUR", ("rack",)), "not known: no price"),
    ],
)
def test_cost_of_a_campaign_never_hides_what_is_not_known(cost, words):
    assert _cost_words(cost) == words


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (None, ""),
        ({"currency": "USD"}, ""),
        ({"so_far": "0", "currency": "USD"}, "cost so far $0.00"),
        ({"so_far": "0.0012", "currency": "USD", "cap": "0.0042"},
         "cost so far < $0.01 of at most < $0.01"),
    ],
)  # fmt: skip
def test_cost_of_a_run_is_shown_beside_its_cap(cost, words):
    assert cost_words(cost) == words


def machine(**given):
    known = {"state": ResourceState.CREATED, "provider_id": "i-1", "is_alarmed": False,
             "purchase_model": ResourcePurchase.SPOT, "region": "eu-west-1", "zone": "",
             "currency": "USD", "reserved_amount": Decimal("0.5"), "launched_at": AT,
             "gone_at": None, "parts": []}  # fmt: skip
    return SimpleNamespace(**{**known, **given})


def test_machine_reads_with_its_state_cost_and_life(monkeypatch):
    monkeypatch.setattr(machines, "resource_cost", lambda _: Decimal("0.0133"))
    living = machines.line(machine())
    assert (living.state, living.tone, living.purchase) == ("exists", "live", "spot")
    assert (living.location, living.reserved, living.cost) == (
        "eu-west-1", "0.5 USD", "0.0133 USD",
    )  # fmt: skip
    assert (living.lived_s, living.is_gone) == (None, False)
    gone = machines.line(
        machine(state=ResourceState.GONE, zone="b", gone_at=AT + dt.timedelta(minutes=3))
    )
    assert (gone.lived_s, gone.location, gone.tone) == (180, "eu-west-1 · b", "")
    assert machines.line(machine(is_alarmed=True)).tone == "bad"


def test_machine_that_never_was_costs_nothing_and_says_so():
    made = machines.line(machine(state=ResourceState.GONE, provider_id="", launched_at=None))
    assert (made.state, made.cost, made.lived_s) == ("never made", "", None)


# --- history --------------------------------------------------------------------------------------


def point(n: int, median: float, host: str = "rack", band: tuple[float, float] | None = None):
    return Point(
        run_id=UUID(int=n), host_id=UUID(int=100), host=host, at=AT + dt.timedelta(days=n),
        median=median, low=median - 1, high=median + 1, n=3,
        band=band and SimpleNamespace(low=band[0], high=band[1]),
    )  # fmt: skip


def test_run_that_left_its_band_is_marked():
    points = [point(0, 100.0), point(1, 104.0, band=(95, 105)), point(2, 90.0, band=(95, 105))]
    plot = history_plot("cmips_score", "all", points)
    assert plot is not None
    line, outside = plot.marks
    assert (line.lows, line.highs) == ([None, 95.0, 95.0], [None, 105.0, 105.0])
    assert outside.values == [None, None, 90.0]
    assert outside.tone != line.tone
    assert plot.extra["lowest repeat"] == ["99", "103", "89"]
    assert plot.summary.endswith("last 90 CMIPS. 1 left the band of the runs before.")


def test_hosts_have_a_line_each_with_gaps_and_at_most_five_are_shown():
    points = [point(n, 10.0, host=f"h{n % 6}") for n in range(12)]
    plot = history_plot("cmips_score", "all", points)
    assert plot is not None
    assert [mark.label for mark in plot.marks] == ["h0", "h1", "h2", "h3", "h4"]
    assert plot.marks[1].values == [None, 10.0, None, None, None] * 2
    assert plot.marks[0].lows is None  # no band is known yet
    assert len({mark.tone for mark in plot.marks}) == 5


def test_single_run_is_no_history():
    assert history_plot("cmips_score", "all", [point(0, 1.0)]) is None


# --- fleets ---------------------------------------------------------------------------------------

CPU = FleetTarget("cmips_score", Decimal(1000))
RAM = FleetTarget("ram_gib", Decimal(64))


def answer(*fleets, failures=(), targets=(CPU, RAM), max_servers=None):
    requirement = Requirement(targets, max_servers=max_servers)
    return SimpleNamespace(requirement=requirement, fleets=fleets, failures=failures)


def fleet(*servers: tuple[str, int], **given):
    known = {
        "given": {"cmips_score": Decimal(1500), "ram_gib": Decimal(64)},
        "holds_at_worst": True,
        **given,
    }
    return SimpleNamespace(
        servers=[(ranking_row(slug, 1.0, "1"), count) for slug, count in servers],
        fleet=Fleet(servers, Decimal(73), **known),
        cost_per_month=Decimal(73),
        cost_per_hour=Decimal("0.1"),
        headroom={"cmips_score": Decimal("1.5"), "ram_gib": Decimal("1.0004")},
    )


def test_fleet_says_what_it_gives_beyond_each_target():
    (shown,) = fleet_lines(answer(fleet(("m5", 2))))
    assert [(cell.shown, cell.headroom) for cell in shown.cells] == [
        ("1,500", "50% to spare"), ("64", "just enough"),
    ]  # fmt: skip
    assert (shown.per_month, shown.per_hour, shown.traffic) == ("73.00", "0.1000", "")
    assert headings(answer()) == [("CPU, all threads (CMIPS-compatible)", "CMIPS"),
                                  ("Memory", "GiB")]  # fmt: skip


def test_at_most_24_blocks_are_drawn_and_every_type_has_one():
    (shown,) = fleet_lines(answer(fleet(("m5", 20), ("c5", 10), ("t3", 3))))
    assert [(len(part.blocks), part.more) for part in shown.parts] == [(20, 0), (4, 6), (1, 2)]


@pytest.mark.parametrize(
    ("given", "words", "tone"),
    [
        ({"holds_at_worst": True}, "holds", "good"),
        ({"holds_at_worst": None}, "not known", ""),
        ({"holds_at_worst": False, "count_at_worst": 3}, "3 needed", "warn"),
        ({"holds_at_worst": False}, "not enough", "warn"),
    ],
)
def test_fleet_says_whether_it_holds_at_the_worse_ends(given, words, tone):
    (shown,) = fleet_lines(answer(fleet(("m5", 2), **given)))
    assert shown.holds[:2] == (words, tone)


def test_failures_are_gathered_by_reason_the_most_frequent_first():
    failures = [
        InfeasibleOffer("a", Fault.SERVERS, "5 servers for cmips_score", "cmips_score"),
        InfeasibleOffer("b", Fault.UNKNOWN, "", "ram_gib"),
        InfeasibleOffer("c", Fault.UNKNOWN, "", "ram_gib"),
        InfeasibleOffer("d", Fault.BOUND, "fsync_p99_ns is 9", "fsync_p99_ns"),
        InfeasibleOffer("e", Fault.REFUSED, "not_offered by the month"),
        InfeasibleOffer("f", Fault.TRAFFIC, "", TRAFFIC),
        InfeasibleOffer("g", Fault.NOTHING, "", TRAFFIC),
    ]
    slow = FleetTarget("fsync_p99_ns", Decimal(5), Rule.AT_MOST)
    groups = failure_groups(answer(failures=failures, targets=(CPU, RAM, slow), max_servers=1))
    assert (groups[0].title, groups[0].count) == ("Memory: not known", 2)
    titles = {group.title: group.failures for group in groups}
    assert titles["More than 1 server would be needed"] == [
        ("a", "5 servers for CPU, all threads (CMIPS-compatible)")
    ]
    assert any(title.endswith("too high") for title in titles)
    assert titles["Not offered by the month"] == [("e", "")]
    assert "The price of traffic is not known there" in titles
    assert "Traffic: it has none" in titles


# --- forms of documents ---------------------------------------------------------------------------


def requirement(given, errors=()) -> RequirementForm:
    return RequirementForm(
        given,
        currencies=["EUR", "USD"],
        scored={"cmips_score"},
        metric="cmips_score",
        errors=errors,
    )


def test_requirement_form_has_a_free_line_more_than_is_filled():
    assert [line.number for line in requirement({}).lines] == [1, 2]
    filled = requirement({"target": ["cmips_score:10,coremark_score:20"]})
    assert len(filled.lines) == 3
    assert 'value="10"' in str(filled.lines[0].amount)
    assert 'value="coremark_score" selected' in str(filled.lines[1].metric)


def test_requirement_form_shows_what_is_in_force():
    form = requirement({"kinds": ["vps,cloud"], "mixed": ["on"], "currency": ["eur"]})
    assert form["kinds"].value() == ["vps", "cloud"]
    assert form["mixed"].value() is True
    assert form["currency"].value() == "EUR"
    assert form["term"].value() == "on_demand"
    assert 'value="CHF" selected' in str(requirement({"currency": ["chf"]})["currency"])


@pytest.mark.parametrize(
    ("pointer", "where"),
    [
        ("/ram_gib", "ram_gib"),
        ("/currency", "currency"),
        ("/targets/cmips_score", "line 0"),
        ("/targets/", "line 1"),
        ("/targets", "line 1"),
        ("/filters/vcpu__gte", "vCPU"),
        ("/limit", "limit"),
    ],
)
def test_error_of_a_requirement_is_beside_what_it_names(pointer, where):
    typed = {"target": ["cmips_score", ""], "amount": ["many", "5"]}
    form = requirement(typed, [(pointer, "is wrong")])
    shown = dict(form.errors)
    shown |= {f"line {n}": line.errors for n, line in enumerate(form.lines) if line.errors}
    shown |= {label: [detail] for label, detail in form.other_errors}
    assert shown == {where: ["is wrong"]}


def hardware(**typed) -> HardwareForm:
    empty = {"items-TOTAL_FORMS": "3", "items-INITIAL_FORMS": "0"}
    return HardwareForm({**empty, "name": "rack", "servers": "4", **typed})


def test_cost_model_leaves_out_empty_lines_and_assumptions():
    form = hardware(
        **{"items-1-name": "server", "items-1-count": "4", "items-1-unit_price": "1999.50"},
        pue="1.3", life_months="60",
    )  # fmt: skip
    assert form.document() == {
        "name": "rack", "servers": 4, "pue": "1.3", "life_months": 60,
        "items": [{"name": "server", "count": 4, "unit_price": "1999.50"}],
    }  # fmt: skip


def test_refused_item_has_its_error_in_the_line_where_it_was_typed():
    form = hardware(**{"items-2-name": "server", "items-2-count": "0"})
    form.document()
    form.report(InvalidDocument([("/items/0/count", "0 is below 1"), ("/pue", "is too low")]))
    assert form.items.forms[2].errors == {"count": ["0 is below 1"]}
    assert form.errors["pue"] == ["is too low"]
    form.report(InvalidValue("/name", "is taken"))
    assert form.errors["name"] == ["is taken"]
