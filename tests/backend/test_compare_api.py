"""Offers side by side over the API."""

import csv
import io
from decimal import Decimal

import pytest

from tests.frontend.rows import published

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def market(settings):
    settings.PUBLIC_READ = True
    settings.SECURE_SSL_REDIRECT = False
    published("a", 1000.0, "0.1", kind="cloud")
    published("b", 900.0, "0.05", kind="vps")


def rows(client, query):
    answer = client.get(f"/api/v1/compare?per_page=250&{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def cell(found, item, offer):
    return next(r for r in found["results"] if (r["item"], r["offer_id"]) == (item, offer))


def test_list_has_a_row_for_each_offer_and_item(client):
    found = rows(client, "o=b,a&base=a")
    assert [row["offer_id"] for row in found["results"]][:4] == ["b", "a", "b", "a"]
    price = cell(found, "price", "b")
    assert price["delta_ratio"] == "-0.5"
    assert (price["base"], price["better"], price["distinguishable"]) == ("a", "lower", True)
    assert cell(found, "price", "a")["delta_ratio"] is None
    score = cell(found, "cmips_score", "b")
    assert (score["value"], score["unit"], score["delta_ratio"]) == ("900.0", "CMIPS", "-0.1")
    assert score["distinguishable"] is False  # single figures, whose CPUs may be shared
    assert cell(found, "kind", "b")["text"] == "vps"
    assert found["basis"]["base"] == "a"


def test_value_per_cost_is_that_of_the_ranking(client):
    ranked = client.get("/api/v1/rankings?currency=USD&period=month").json()["results"]
    expected = {row["offer_id"]: Decimal(row["value_per_cost"]) for row in ranked}
    found = rows(client, "o=a,b&period=month")
    for slug in ("a", "b"):
        assert Decimal(cell(found, "value_per_cost", slug)["value"]) == expected[slug]


def test_csv_holds_the_digits_of_json(client):
    found = rows(client, "o=a,b")["results"]
    answer = client.get("/api/v1/compare.csv?o=a,b")
    text = b"".join(answer.streaming_content) if answer.streaming else answer.content
    read = list(csv.DictReader(io.StringIO(text.decode())))
    assert [row["value"] for row in read] == [row["value"] or "" for row in found]
    assert len(read) == len(found)


def test_differences_only_leaves_out_what_is_alike(client):
    published("c", 200.0, "0.05", kind="vps")
    items = {row["item"] for row in rows(client, "o=a,c&differences=1")["results"]}
    assert {"kind", "price", "cmips_score"} <= items
    assert "provider" not in items


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "o"),
        ("o=", "o"),
        ("o=a,nope", "o"),
        ("o=a,b&base=c", "base"),
        ("o=1,2,3,4,5,6,7", "o"),
        ("o=a&metric=none", "metric"),
    ],
)
def test_bad_parameters_are_named(client, query, field):
    answer = client.get(f"/api/v1/compare?{query}")
    assert answer.status_code == 400
    assert field in {error["field"] for error in answer.json()["errors"]}


def test_filters_of_a_ranking_change_nothing(client):
    plain = rows(client, "o=a,b")["results"]
    assert rows(client, "o=a,b&provider=none&q=zzz")["results"] == plain
