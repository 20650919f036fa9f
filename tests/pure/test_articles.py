"""Every figure of the articles has a test, and the stated ones bear the published values."""

import ast
import re
from decimal import Decimal
from pathlib import Path

import pytest

from backend.calculators.calc.presets import PRESETS
from backend.foundation.facts import JOBS, PARTS, SERVERS, Fact
from backend.measure import cmips
from backend.measure.readers import stated
from backend.money.pricing import price_per_period
from backend.providers.registry import PROVIDERS, provider
from tests.pure.storage_documents import segment
from tests.pure.test_cmips import published_rows

ROOT = Path(__file__).parents[2]
ROW = re.compile(
    r"\| ([0-9]+) \| [^|]+ \| ([^|]+) \| ([^|]+) \| `([^`|]+)::([^`|]+)` \| ([^|]+) \|"
)
STATES = ("reproduced", "stated", "inconsistent because ")


def rows() -> list[tuple[str, ...]]:
    lines = (ROOT / "docs/articles.md").read_text().split("\n")
    matches = [ROW.fullmatch(line) for line in lines if re.match(r"\| [0-9]", line)]
    assert all(matches), "a row without its six cells, or without a test"
    return [match.groups() for match in matches if match]


def test_all_ninety_claims_stand_once_in_the_table() -> None:
    assert [int(row[0]) for row in rows()] == list(range(1, 91))
    assert [row for row in rows() if not row[5].startswith(STATES)] == []


def test_every_claim_names_a_test_that_exists() -> None:
    tests = {
        path: {
            node.name
            for node in ast.parse((ROOT / "tests" / path).read_text()).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        }
        for path in {row[3] for row in rows()}
    }
    assert [(n, path, name) for n, _, _, path, name, _ in rows() if name not in tests[path]] == []


def fact(facts: tuple[Fact, ...], what: str) -> Fact:
    (one,) = (fact for fact in facts if fact.what.startswith(what))
    return one


@pytest.mark.parametrize(
    ("what", "value", "unit"),
    [
        ("AMD Ryzen 7 3700X, 8 cores, 16 threads, 3.6 to 4.4 GHz", "65", "W"),
        ("AMD board with 2.5 Gb Ethernet", "169.99", "GBP"),
        ("Intel board with 2.5 Gb Ethernet", "254", "GBP"),
        ("10 Gb Ethernet card", "80", "GBP"),
        ("Intel Xeon E5-2620 v4", "400", "USD"),
        ("Intel Core i7-4770S", "300", "USD"),
        ("NAS for 16 blades", "30000", "EUR"),
        ("16 blades", "30000", "EUR"),
    ],
)
def test_part_bears_the_published_figure(what: str, value: str, unit: str) -> None:
    one = fact(PARTS, what)
    assert (one.value, one.unit) == (Decimal(value), unit)
    assert one.source
    assert re.fullmatch(r"[0-9]{4}(-[0-9]{2}-[0-9]{2})?", one.day)


def test_boards_are_73_dollars_or_90_euros_apart() -> None:
    prices = [one.value for one in PARTS if one.what.startswith("Supermicro")]
    assert prices == [169, 160, 242, 250]
    assert (242 - 169, 250 - 160) == (73, 90)


@pytest.mark.parametrize(
    ("what", "value", "unit"),
    [
        ("CMIPS of two E5-2620 v4", 16_000, "CMIPS"),
        ("CMIPS of the same", 20_000, "CMIPS"),
        ("SAS port that hardware tests passed", 168, "errors"),
        ("the same port: running disparity", 172, "errors"),
        ("the same port: lost synchronization", 5, "errors"),
        ("SAS port that would be a fault", 1_000_000, "errors"),
        ("File server with 5 TB", 16, "GB"),
    ],
)
def test_server_bears_the_published_figure(what: str, value: int, unit: str) -> None:
    one = fact(SERVERS, what)
    assert (one.value, one.unit) == (value, unit)


def test_fact_without_a_figure_states_its_outcome() -> None:
    every = [
        *PARTS,
        *JOBS,
        *SERVERS,
        *(one for each in PROVIDERS.values() for one in each.incidents),
    ]
    assert all(one.source and one.what for one in every)
    assert [one for one in every if (one.value is None) is not bool(one.outcome)] == []
    assert [one.outcome for one in JOBS if one.value is None] == ["aborted"]


def test_incident_of_2013_stands_at_its_provider() -> None:
    (incident,) = provider("linode").incidents
    assert (incident.day, incident.outcome) == ("2013-04-12", "break-in")
    assert "2013-04-16" in incident.source


def test_desktop_processor_scores_more_than_both() -> None:
    scores = {row["slug"]: int(row["cmips_score"]) for row in published_rows()}
    assert scores["aws-m2-4xlarge-2013"] < scores["rackspace-30gb-8-cores-2013"] == 4539
    (sample,) = stated.parse("cmips_score > 4539")
    assert (sample.value, sample.flags) == (4539, ("lower_bound",))


def test_twenty_gigabit_fibre_is_a_kind_of_link() -> None:
    # 2 × 20 × 10⁹ / 8
    speed = PRESETS["20_gigabit"].bytes_per_s
    assert segment(speed, 2, "bond").total_bytes_per_s == 5_000_000_000


def test_cup_of_a_monthly_price_depends_on_the_month() -> None:
    def cup(hours: int) -> Decimal:
        return cmips.cup(price_per_period(Decimal(20), "month", "hour", Decimal(hours)), 1427)

    # 20 / 720 / 1,427 and 20 / 730 / 1,427
    assert (round(cup(720), 9), round(cup(730), 9)) == (
        Decimal("0.000019466"), Decimal("0.000019199"),
    )  # fmt: skip
    assert round(1 - cup(730) / cup(720), 3) == Decimal("0.014")
    monthly = [row["slug"] for row in published_rows() if row["unit"] == "month"]
    assert len(monthly) == 3
