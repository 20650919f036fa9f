"""What the API says when something is not there, and what may have been meant."""

from typing import Any

import pytest
from django.test import Client

from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _offers(db: None) -> None:
    factories.sample(factories.offer("one", region=factories.region()), 100.0)
    factories.offer("bare")


def detail(client: Client, address: str, status: int = 404) -> str:
    answer = client.get(f"{API}/{address}")
    assert answer.status_code == status, answer.content
    body = answer.json()
    return str(body["detail"])


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("offers/nope", "there is no offer 'nope'"),
        ("value?offer=onee", "there is no offer 'onee' (did you mean one?)"),
        ("value?offer=one&provider=gcp", "the offer one does not meet the filters"),
        ("value?offer=bare", "the offer bare has no score for cmips_score (missing: price score)"),
        ("rankings?page=7&per_page=1", "page 7 is behind the last one, which is 1"),
        ("scenarios/none", "there is nothing at scenarios 'none'"),
        ("ofers", f"there is no address {API}/ofers; {API}/ lists them"),
    ],
)
def test_answer_says_what_is_missing(client: Client, address: str, said: str) -> None:
    assert detail(client, address) == said


def test_cell_of_a_spreadsheet_gets_words_where_it_asks_for_them(client: Client) -> None:
    answer = client.get(f"{API}/value?offer=onee&errors=text")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert answer.content == b"#N/A: there is no offer 'onee' (did you mean one?)"
    wrong = client.get(f"{API}/value?offer=one&column=scoore&errors=text")
    assert (wrong.status_code, wrong.content[:5]) == (200, b"#N/A:")
    assert client.get(f"{API}/value?offer=one&errors=text").content == b"100.0"


@pytest.mark.parametrize(
    ("query", "warning"),
    [
        ("pageing=2", "unknown parameter pageing was ignored (did you mean page?)"),
        ("vcpu__gtee=2", "unknown parameter vcpu__gtee was ignored (did you mean vcpu__gte?)"),
        ("zzzzzz=2", "unknown parameter zzzzzz was ignored"),
        ("provider=AWS", "no offer has the provider 'AWS' (did you mean aws?)"),
    ],
)
def test_warning_names_the_nearest_known_one(client: Client, query: str, warning: str) -> None:
    assert client.get(f"{API}/rankings?{query}").json()["warnings"] == [warning]
    if "=2" in query:
        assert (
            warning.split(" (", maxsplit=1)[0] in client.get(f"{API}/metrics?{query}")["X-Warning"]
        )


def test_index_leads_to_every_list(client: Client) -> None:
    index: dict[str, Any] = client.get(f"{API}/").json()
    assert index["rankings"] == f"http://testserver{API}/rankings"
    public = [name for name in index if name not in {"tokens", "feed-keys", "cloud-accounts"}]
    assert client.get(index["schema"]).status_code == 200
    assert len(public) > 25


def test_results_are_the_samples_and_contention_takes_a_document(client: Client) -> None:
    samples, results = (client.get(f"{API}/{name}").json() for name in ("samples", "results"))
    assert results["results"] == samples["results"] != []
    refused = client.get(f"{API}/contention")
    assert refused.status_code == 405
    assert "POST" in refused["Allow"]


def test_wrong_host_and_endless_parameters_are_a_problem_document(client: Client) -> None:
    many = "&".join(f"x{n}=1" for n in range(20_001))
    for answer in (
        client.get(f"{API}/offers", headers={"host": "elsewhere.example"}),
        client.get(f"{API}/offers?{many}"),
    ):
        assert answer.status_code == 400
        assert answer["Content-Type"] == "application/problem+json"
    page = client.get("/offers/", headers={"host": "elsewhere.example"})
    assert (page.status_code, page["Content-Type"]) == (400, "text/html; charset=utf-8")


@pytest.mark.parametrize("query", ["vcpu__gte=٤", "hours_per_month=٧"])
def test_digits_of_other_scripts_are_refused_as_in_bodies(client: Client, query: str) -> None:
    assert client.get(f"{API}/rankings?{query}").status_code == 400
