"""What every list says in its header fields, and when it says that nothing has changed."""

import datetime as dt
import json
import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils.http import http_date

from backend.api import urls
from backend.catalog.models import DataVersion
from backend.catalog.selectors.data_version import data_version
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
# Of the lists that cannot do without.
QUERIES = {
    "compare": "o=one",
    "prices/history": "offer=one",
    "prices/difference": "from=2026-01-01&to=2026-02-01",
    "requirements": "target=cmips_score:1",
}
SUFFIXES = ("json", "csv", "tsv", "xlsx")
# They tell what happens, which has no version of the data.
LIVE = {"runs", "hosts", "campaigns", "tokens", "schedules", "subscriptions", "resources"} | {
    "table-mappings",
    "samples", "evidence", "views", "feed-keys", "cloud-accounts", "scenarios", "bills",
    "host-authorities", "problems", "results", "audit",
}  # fmt: skip


@pytest.fixture
def admin(caller: Callable[..., Client]) -> Client:
    factories.sample(factories.offer("one"), 100.0)
    return caller("admin")


def address(name: str, suffix: str = "json") -> str:
    return f"{API}/{name}.{suffix}?{QUERIES.get(name, '')}"


# A file of the audit trail is an entry of the audit trail: the list is never twice the same.
@pytest.mark.parametrize("name", sorted({*urls.LISTS} - {"audit"}))
def test_every_list_answers_304_with_nothing_while_it_is_the_same(admin: Client, name: str) -> None:
    seen = set()
    for suffix in SUFFIXES:
        first = admin.get(address(name, suffix))
        assert first.status_code == 200, first.content
        seen.add(first["ETag"])
        again = admin.get(address(name, suffix), headers={"if-none-match": first["ETag"]})
        assert (again.status_code, again.content) == (304, b""), suffix
        assert again["ETag"] == first["ETag"]
        assert "Vary" in again
        other = admin.get(address(name, suffix), headers={"if-none-match": '"another"'})
        assert other.status_code == 200
    assert len(seen) == len(SUFFIXES)


@pytest.mark.parametrize("name", urls.LISTS)
def test_every_list_has_version_length_and_description_headers(admin: Client, name: str) -> None:
    for suffix in SUFFIXES:
        answer = admin.get(address(name, suffix))
        assert answer["X-Schema-Version"] == "1"
        assert answer["X-Total-Count"].isdigit()
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Cache-Control"] == "private, no-cache"
        assert re.search(r'<http://testserver/api/v1/\S+>; rel="describedby"', answer["Link"])
        has_version = name not in LIVE
        assert answer.get("X-Data-Version") == (str(data_version()) if has_version else None)
    assert ("data_version" in admin.get(address(name)).json()) is has_version


def test_live_list_changes_its_etag_with_its_content(admin: Client) -> None:
    first = admin.get(f"{API}/runs")
    factories.run()
    changed = admin.get(f"{API}/runs", headers={"if-none-match": first["ETag"]})
    assert changed.status_code == 200
    assert changed["ETag"] != first["ETag"]


# --- dates ----------------------------------------------------------------------------------------


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[dt.datetime], None]:
    """Sets the clock."""

    def moved(moment: dt.datetime) -> None:
        monkeypatch.setattr(clock, "now", lambda: moment)

    return moved


def changed_on(moment: dt.datetime) -> None:
    data_version_bump()
    DataVersion.objects.update(changed_at=moment)


def test_last_modified_is_when_the_data_changed_and_asked_about_by_date(
    client: Client, settings: LazySettings, at: Callable[[dt.datetime], None]
) -> None:
    settings.PUBLIC_READ = True
    change = dt.datetime(2026, 11, 5, 10, 0, 0, 900_000, tzinfo=dt.UTC)
    changed_on(change)
    at(change + dt.timedelta(hours=1))
    first = client.get(f"{API}/metrics")
    assert first["Last-Modified"] == "Thu, 05 Nov 2026 10:00:00 GMT"
    since = {"if-modified-since": first["Last-Modified"]}
    assert client.get(f"{API}/metrics", headers=since).status_code == 304
    changed_on(change + dt.timedelta(minutes=30))
    assert client.get(f"{API}/metrics", headers=since).status_code == 200


def test_last_modified_is_absent_within_the_second_of_a_change(
    client: Client, settings: LazySettings, at: Callable[[dt.datetime], None]
) -> None:
    settings.PUBLIC_READ = True
    change = dt.datetime(2026, 11, 5, 10, 0, 0, 100_000, tzinfo=dt.UTC)
    changed_on(change)
    at(change + dt.timedelta(milliseconds=700))
    assert "Last-Modified" not in client.get(f"{API}/metrics")
    since = {"if-modified-since": http_date(change.timestamp())}
    assert client.get(f"{API}/metrics", headers=since).status_code == 200
    at(change + dt.timedelta(seconds=1))
    assert "Last-Modified" in client.get(f"{API}/metrics")


def test_midnight_is_a_change_for_prices_grow_old(
    client: Client, settings: LazySettings, at: Callable[[dt.datetime], None]
) -> None:
    settings.PUBLIC_READ = True
    changed_on(dt.datetime(2026, 11, 5, 10, tzinfo=dt.UTC))
    at(dt.datetime(2026, 11, 6, 9, tzinfo=dt.UTC))
    assert client.get(f"{API}/rankings")["Last-Modified"] == "Fri, 06 Nov 2026 00:00:00 GMT"


def test_prices_have_no_last_modified_because_they_expire(admin: Client) -> None:
    assert "Last-Modified" not in admin.get(f"{API}/prices")


# --- pages, limits, errors ------------------------------------------------------------------------


def test_pages_are_linked_in_the_header_as_in_the_body(admin: Client) -> None:
    for _ in range(5):
        factories.offer()
    page = admin.get(f"{API}/offers?per_page=2&page=2")
    links = dict(re.findall(r'<([^>]*)>; rel="(\w+)"', page["Link"]))
    relations = {relation: target for target, relation in links.items()}
    assert relations == {
        "next": page.json()["next"],
        "prev": page.json()["previous"],
        "describedby": "http://testserver/api/v1/columns",
    }
    assert 'rel="next"' not in admin.get(f"{API}/offers.csv?per_page=2")["Link"]


def test_limits_are_in_the_headers_before_and_when_they_are_met(
    client: Client, settings: Any
) -> None:
    settings.THROTTLE_ANONYMOUS = "2/min"
    settings.PUBLIC_READ = True
    caller = {"REMOTE_ADDR": str(uuid4())}
    answers = [client.get(f"{API}/metrics", **caller) for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429]
    assert {one["RateLimit-Policy"] for one in answers} == {'"address";q=2;w=60'}
    left = [re.fullmatch(r'"address";r=(\d+);t=(\d+)', one["RateLimit"]) for one in answers]
    assert [found and found[1] for found in left] == ["1", "0", "0"]
    assert 1 <= int(answers[2]["Retry-After"]) <= 60


def test_error_of_csv_is_one_plain_line_by_suffix_and_by_accept(admin: Client) -> None:
    by_suffix = admin.get(f"{API}/rankings.csv?page=0&metric=none")
    by_accept = admin.get(f"{API}/rankings?page=0&metric=none", headers={"accept": "text/csv"})
    for answer in (by_suffix, by_accept):
        assert answer.status_code == 400
        assert answer["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.content.endswith(b"\r\n")
        assert answer.content.count(b"\n") == 1
        assert b"page:" in answer.content
        assert b"metric:" in answer.content
    as_json = admin.get(f"{API}/rankings?page=0", headers={"accept": "application/json"})
    assert json.loads(as_json.content)["errors"][0]["field"] == "page"


def test_every_problem_has_a_code_of_the_list(admin: Client, caller: Callable[..., Client]) -> None:
    codes = {row["code"]: row["status"] for row in admin.get(f"{API}/problems").json()["results"]}
    json_body: dict[str, Any] = {"data": "{", "content_type": "application/json"}
    answers = {
        "invalid": admin.get(f"{API}/rankings?page=0"),
        "parse_error": admin.post(f"{API}/tokens", **json_body),
        "authentication_failed": admin.get(f"{API}/tokens", headers={"authorization": "Bearer x"}),
        "permission_denied": caller("read").get(f"{API}/tokens"),
        "not_found": admin.get(f"{API}/offers/none"),
        "method_not_allowed": admin.post(f"{API}/rankings"),
        "unsupported_media_type": admin.post(f"{API}/tokens", b"x", content_type="text/plain"),
    }
    for code, answer in answers.items():
        assert answer.json()["code"] == code
        assert answer.status_code == codes[code]


def test_answer_to_a_write_is_json_whatever_table_is_accepted(admin: Client) -> None:
    for address in (f"{API}/tokens", f"{API}/tokens.csv"):
        made = admin.post(
            address,
            {"name": address, "scope": "read"},
            content_type="application/json",
            headers={"accept": "text/csv"},
        )
        assert (made.status_code, made["Content-Type"]) == (201, "application/json")
    assert admin.post(f"{API}/rankings.csv").status_code == 405


def test_stranger_gets_no_redirect_from_any_list(client: Client, settings: LazySettings) -> None:
    settings.PUBLIC_READ = False
    for name in urls.LISTS:
        for suffix in SUFFIXES:
            refused = client.get(address(name, suffix))
            assert refused.status_code == 401, name
            assert "Bearer" in refused["WWW-Authenticate"]
