"""Feeds: the key in the address opens one view, to the letter, until it ends; and never shows."""

import io
import logging
from collections.abc import Callable
from typing import Any

import openpyxl
import pytest
from django.conf import LazySettings
from django.test import Client

from backend.accounts.models import AuditEntry, Workspace
from backend.accounts.services.members import member_remove, member_update
from backend.accounts.services.people import user_switch
from backend.accounts.services.tokens import token_create
from backend.catalog.services.data_version import data_version_bump
from backend.config import settings as settings_module
from backend.core import clock
from backend.core.logs import MaskingFormatter, mask_secrets
from backend.foundation.errors import InvalidValue
from backend.rankings.models import FeedKey, SavedView
from backend.rankings.services import feeds
from backend.rankings.services.feeds import (
    feed_key_create,
    feed_key_match,
    feed_key_revoke,
    is_in_force,
)
from backend.rankings.services.views import view_create, view_delete, view_update
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db
KEYS = f"{API}/feed-keys"
Caller = Callable[..., Client]
PARAMS = {"provider": ["aws"], "sort": ["-price"], "cols": ["offer_id,provider,price"]}


def saved(slug: str = "ours", **given: Any) -> SavedView:
    fields_given = {"workspace": factories.workspace(), "params": PARAMS, "actor": "ada", **given}
    return view_create(name=slug, slug=slug, **fields_given)


def made(view: SavedView, **given: Any) -> tuple[FeedKey, str]:
    return feed_key_create(view=view, **{"name": "sheet", "actor": "ada", **given})


def feed(key: str, slug: str = "ours", kind: str = "csv") -> str:
    return f"/feeds/{key}/{slug}.{kind}"


def sent(client: Client, method: str, path: str, document: Any) -> Any:
    return getattr(client, method)(path, document, content_type="application/json")


@pytest.fixture
def closed(settings: LazySettings) -> None:
    settings.PUBLIC_READ = False


# --- what a key opens -------------------------------------------------------------------------


@pytest.mark.usefixtures("demo", "closed")
def test_feed_gives_the_rows_of_its_view_without_headers_or_cookies(caller: Caller) -> None:
    _, key = made(saved())
    answer = Client().get(feed(key))
    expected = caller("read").get(f"{API}/rankings.csv?view=ours")
    assert answer.status_code == 200
    assert answer.content == expected.content
    assert {row["provider"] for row in rows(answer)} == {"aws"}
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert not answer.cookies
    assert Client().get(f"{API}/rankings.csv?view=ours").status_code == 401


@pytest.mark.usefixtures("demo", "closed")
def test_feed_goes_over_to_another_pepper_when_it_is_read(settings: LazySettings) -> None:
    _, key = made(saved())
    before, settings.TOKEN_PEPPER = settings.TOKEN_PEPPER, "another pepper altogether, long enough"
    assert Client().get(feed(key)).status_code == 401
    settings.TOKEN_PEPPERS_PREVIOUS = [before]
    assert Client().get(feed(key)).status_code == 200
    settings.TOKEN_PEPPERS_PREVIOUS = []
    assert Client().get(feed(key)).status_code == 200


@pytest.mark.usefixtures("demo", "closed")
@pytest.mark.parametrize("end", ["disabled", "removed", "deleted"])
def test_feed_ends_when_its_maker_is_disabled_or_leaves(end: str) -> None:
    ben = factories.user(username="ben", role="write")
    view = saved()
    _, text = made(view, actor="ben")
    other_key, other_text = made(view, name="other", actor=factories.user(username="cy").username)
    assert Client().get(feed(text)).status_code == 200
    if end == "disabled":
        user_switch(user=ben, is_active=False, workspace=view.workspace, actor="boss")
    elif end == "removed":
        member_remove(membership=ben.memberships.get(), actor="boss")
    else:
        ben.delete()
    assert Client().get(feed(text)).status_code == 401
    assert Client().get(feed(other_text)).status_code == 200
    assert is_in_force(other_key)


@pytest.mark.usefixtures("demo", "closed")
def test_feed_goes_on_when_its_maker_is_enabled_again_or_has_another_role() -> None:
    ben = factories.user(username="ben", role="write")
    view = saved()
    _, text = made(view, actor="ben")
    for is_active in (False, True):
        user_switch(user=ben, is_active=is_active, workspace=view.workspace, actor="boss")
    member_update(membership=ben.memberships.get(), scope="read", actor="boss")
    assert Client().get(feed(text)).status_code == 200


@pytest.mark.usefixtures("demo", "closed")
def test_no_address_opens_a_view_where_feeds_are_off(
    settings: LazySettings, caller: Caller
) -> None:
    view = saved()
    _, key = made(view)
    settings.FEEDS = False
    refused = Client().get(feed(key, kind="json"))
    assert refused.status_code == 401
    assert "switched off" in refused.json()["detail"]
    with pytest.raises(InvalidValue, match="switched off"):
        made(view, name="another")
    # A spreadsheet reads the same rows with a token in a header.
    assert caller("read").get(f"{API}/rankings.csv?view=ours").status_code == 200


@pytest.mark.usefixtures("demo", "closed")
def test_feed_gives_every_format_and_its_workbook_does_not_hold_the_key() -> None:
    _, key = made(saved())
    assert b"\t" in Client().get(feed(key, kind="tsv")).content
    assert Client().get(feed(key) + "?dialect=excel-eu").content.startswith(b"\xef\xbb\xbf")
    page = Client().get(feed(key, kind="json") + "?per_page=1&page=2").json()
    assert (len(page["results"]), page["results"][0]["provider"]) == (1, "aws")
    workbook = Client().get(feed(key, kind="xlsx"))
    about = openpyxl.load_workbook(io.BytesIO(workbook.content))["About"]
    told = " ".join(str(cell.value) for line in about.iter_rows() for cell in line)
    assert "/?view=ours" in told
    assert key not in told


@pytest.mark.usefixtures("demo", "closed")
@pytest.mark.parametrize(
    "query", ["provider=gcp", "provider=", "cols=flags", "view=other", "metric=", "q=x", "x=1"]
)
def test_feed_cannot_be_asked_for_more_than_its_view(query: str) -> None:
    saved("other", visibility="private")
    _, key = made(saved())
    answer = Client().get(feed(key, kind="json") + f"?{query}")
    assert answer.status_code == 400
    assert fields(answer) == [query.partition("=")[0]]
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"


@pytest.mark.usefixtures("demo", "closed")
def test_feed_key_opens_no_other_view_and_nothing_else() -> None:
    saved("other")
    _, key = made(saved())
    assert Client().get(feed(key, "other")).status_code == 404
    for headers in (
        {"authorization": f"Bearer {key}"},
        {"authorization": f"Bearer rr_{key.removeprefix('rf_')}"},
    ):
        assert Client(headers=headers).get(f"{API}/rankings").status_code == 401
    for method in ("post", "put", "patch", "delete", "options"):
        assert getattr(Client(), method)(feed(key)).status_code in (403, 405)


@pytest.mark.usefixtures("demo", "closed")
def test_feed_is_401_without_a_valid_key_or_without_its_view() -> None:
    view = saved()
    key, text = made(view)
    admin = token_create(
        workspace=factories.workspace(), owner=factories.owner(), name="a", scope="admin"
    )[1]
    for wrong in (
        text[:-1] + "g",
        text[:-2],
        text[:11],
        f"{text}0",
        text.upper(),
        admin,
        "x",
        "rf_",
    ):
        refused = Client(headers={"authorization": f"Bearer {admin}"}).get(feed(wrong))
        assert refused.status_code == 401, wrong
        assert "WWW-Authenticate" in refused.headers
        assert refused.headers["Referrer-Policy"] == "no-referrer"
    assert Client().get(feed(text)).status_code == 200
    feed_key_revoke(key=key, actor="ada")
    assert Client().get(feed(text)).status_code == 401
    soon, expiring = made(view, name="soon")
    assert Client().get(feed(expiring)).status_code == 200
    FeedKey.objects.filter(pk=soon.pk).update(expires_at=clock.now())
    assert Client().get(feed(expiring)).status_code == 401
    _, last = made(view)
    view_delete(view=view, actor="ada")
    assert Client().get(feed(last)).status_code == 401


@pytest.mark.usefixtures("demo", "closed")
def test_feed_is_304_until_the_data_or_the_view_changes() -> None:
    view = saved()
    _, key = made(view)
    etag = Client().get(feed(key)).headers["ETag"]
    unchanged = Client().get(feed(key), headers={"if-none-match": etag})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert unchanged.headers["Referrer-Policy"] == "no-referrer"
    view_update(view=view, params={"provider": ["ovh"]}, actor="ada")
    changed = Client().get(feed(key), headers={"if-none-match": etag})
    assert changed.status_code == 200
    assert {row["provider"] for row in rows(changed)} == {"ovh"}
    data_version_bump()
    newest = Client().get(feed(key), headers={"if-none-match": changed.headers["ETag"]})
    assert newest.status_code == 200


@pytest.mark.usefixtures("closed")
def test_feed_ranks_the_offers_of_its_own_workspace() -> None:
    elsewhere = Workspace.objects.create(slug="elsewhere", name="Elsewhere")
    theirs = factories.offer("theirs", workspace=elsewhere)
    factories.sample(theirs, 10.0)
    factories.sample(factories.offer("everyones"), 20.0)
    _, inside = made(saved(workspace=elsewhere, params={"cols": ["offer_id"]}))
    _, outside = made(saved(params={"cols": ["offer_id"]}))
    assert {row["offer_id"] for row in rows(Client().get(feed(inside)))} == {"theirs", "everyones"}
    assert {row["offer_id"] for row in rows(Client().get(feed(outside)))} == {"everyones"}


# --- keys -------------------------------------------------------------------------------------


def test_feed_key_is_random_stored_as_digest_and_matched_whole() -> None:
    key, text = made(saved())
    other, _ = made(saved("second"))
    assert len(bytes.fromhex(text.removeprefix("rf_"))) * 8 >= 128 + 32
    assert text not in repr(vars(key))
    assert bytes(key.digest) != bytes(other.digest)
    found = feed_key_match(text)
    assert found == key
    assert feed_key_match(text.replace("rf_", "rr_")) is None
    assert feed_key_match(f"{text}\0") is None
    assert text not in repr(list(AuditEntry.objects.values_list("detail", flat=True)))


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": "a\nb\0"}, "/name"),
        ({"expires_days": 0}, "/expires_days"),
        ({"expires_days": 3651}, "/expires_days"),
    ],
)
def test_feed_key_is_refused_by_field(change: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        made(saved(), **change)
    assert refused.value.field == pointer


def test_feed_key_is_refused_when_its_view_has_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_KEYS", 2)
    view = saved()
    first, _ = made(view, name="first")
    made(view, name="second")
    with pytest.raises(InvalidValue, match="revoke one"):
        made(view, name="third")
    feed_key_revoke(key=first, actor="ada")
    assert made(view, name="third")[0].pk


def test_feed_key_is_refused_when_one_of_the_same_name_is_in_force() -> None:
    view = saved()
    first, _ = made(view)
    with pytest.raises(InvalidValue, match="revoke it first"):
        made(view)
    made(view, actor="bob")
    feed_key_revoke(key=first, actor="ada")
    assert made(view)[0].pk


@pytest.mark.usefixtures("demo")
def test_feed_key_records_its_last_use_to_the_minute() -> None:
    key, text = made(saved())
    Client().get(feed(text))
    key.refresh_from_db()
    first = key.last_used_at
    assert first is not None
    Client().get(feed(text))
    key.refresh_from_db()
    assert key.last_used_at == first


def test_feed_keys_of_others_end_when_their_view_becomes_private() -> None:
    view = saved()
    mine, _ = made(view)
    _, text = made(view, actor="bob")
    view_update(view=view, visibility="private", actor="ada")
    mine.refresh_from_db()
    assert mine.revoked_at is None
    assert feed_key_match(text) is None


def test_feed_keys_are_made_listed_and_ended_over_the_api(caller: Caller) -> None:
    saved()
    client = caller("write")
    answer = sent(client, "post", KEYS, {"view": "ours", "name": "sheet", "expires_days": 30})
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    document = answer.json()
    assert document["feed_url"].endswith(feed(document["key"]))
    listed = rows(client.get(f"{KEYS}.csv?view=ours"))
    assert [(row["name"], row["view"]) for row in listed] == [("sheet", "ours")]
    assert document["key"] not in client.get(KEYS).content.decode()
    assert client.get(f"{KEYS}?view=other").json()["count"] == 0
    assert caller("admin").get(KEYS).json()["count"] == 1
    other = caller("write", name="other", owner=factories.user(role="write"))
    assert other.get(KEYS).json()["count"] == 0
    assert other.delete(f"{KEYS}/{document['id']}").status_code == 404
    assert client.delete(f"{KEYS}/{document['id']}").status_code == 204
    assert Client().get(feed(document["key"])).status_code == 401
    assert set(AuditEntry.objects.values_list("action", flat=True)) >= {
        "feed_key_create",
        "feed_key_revoke",
    }


def test_feed_key_needs_write_and_a_view_that_one_sees(caller: Caller) -> None:
    saved(visibility="private")
    document = {"view": "ours", "name": "sheet"}
    assert sent(caller("read"), "post", KEYS, document).status_code == 403
    refused = sent(caller("write"), "post", KEYS, document)
    assert refused.status_code == 400
    assert fields(refused) == ["/view"]
    assert sent(Client(), "post", KEYS, document).status_code == 401
    assert caller("read", name="second").get(KEYS).status_code == 403
    assert not FeedKey.objects.exists()


def test_admin_lists_views_keys_and_reports_without_key_digests(
    client: Client,
) -> None:
    client.force_login(factories.user(is_staff=True, is_superuser=True))
    key, text = made(saved())
    for model in ("savedview", "feedkey", "report"):
        assert client.get(f"/admin/rankings/{model}/").status_code == 200
        assert client.get(f"/admin/rankings/{model}/add/").status_code == 403
    page = client.get(f"/admin/rankings/feedkey/{key.pk}/change/").content.decode()
    assert key.name in page
    assert text not in page
    assert bytes(key.digest).hex() not in page


# --- never in logs ----------------------------------------------------------------------------


@pytest.mark.usefixtures("demo", "closed")
def test_feed_key_is_in_no_log_line_when_a_feed_is_refused_or_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(MaskingFormatter("%(levelname)s %(name)s %(message)s"))
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    for name in ("django", "django.request", "django.server"):
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    key, text = made(saved())
    Client().get(feed(text, "other"))
    Client().get(feed(text) + "?q=x")

    def broken(**_: Any) -> None:
        raise RuntimeError(f"cannot note {feed(text)}")

    with monkeypatch.context() as patch:
        patch.setattr("backend.rankings.api.feeds.key_mark_used", broken)
        assert Client(raise_request_exception=False).get(feed(text)).status_code == 500
    feed_key_revoke(key=key, actor="ada")
    Client().get(feed(text))
    lines = written.getvalue()
    assert lines.count("/feeds/***/") >= 4
    assert "Traceback" in lines
    assert text[11:] not in lines


def test_every_log_handler_masks() -> None:
    logged: Any = settings_module.LOGGING
    used = {handler["formatter"] for handler in logged["handlers"].values()}
    masking = f"{MaskingFormatter.__module__}.{MaskingFormatter.__qualname__}"
    assert {logged["formatters"][name]["()"] for name in used} == {masking}
    for name in ("django", "django.server"):
        assert "handlers" not in logged["loggers"][name]


def test_masked_keeps_the_part_that_names_a_key() -> None:
    secret = "0123456789abcdef" * 3
    line = f"GET /feeds/rf_12345678{secret}/v.csv with rr_87654321{secret}"
    assert mask_secrets(line) == "GET /feeds/***/v.csv with rr_87654321***"
    assert mask_secrets(f"key rf_12345678{secret}") == "key rf_12345678***"
    assert mask_secrets("/feeds/a%20b?x") == "/feeds/***?x"
    assert mask_secrets("nothing secret in /prices/") == "nothing secret in /prices/"
