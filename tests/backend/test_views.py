"""Saved views: what they keep, who sees and changes them, and how a URL opens one."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from backend.accounts.models import AuditEntry, Scope, Workspace
from backend.core.rest.parameters import InvalidParameters
from backend.foundation.errors import InvalidValue
from backend.rankings.models import SavedView
from backend.rankings.selectors.views import (
    changes_from_view,
    merge_params,
    open_view,
    shorten_params,
    view_get,
    view_params,
)
from backend.rankings.services.feeds import feed_key_create, feed_key_revoke
from backend.rankings.services.views import view_create, view_delete, view_update
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db
VIEWS = f"{API}/views"
Caller = Callable[..., Client]
PARAMS = {"provider": ["aws"], "vcpu__gte": ["4"], "sort": ["price,-score"]}


def saved(name: str = "Small AWS", **given: Any) -> SavedView:
    return view_create(
        **{"workspace": factories.workspace(), "params": PARAMS, "actor": "ada", **given},
        name=name,
    )


def sent(client: Client, method: str, path: str, document: Any) -> Any:
    return getattr(client, method)(path, document, content_type="application/json")


def signed_in(username: str, role: str = "write") -> Client:
    client = Client()
    client.force_login(factories.user(username=username, role=role))
    return client


# --- what is kept -----------------------------------------------------------------------------


def test_view_gets_a_slug_of_its_name_and_a_number_when_that_is_taken() -> None:
    names = ("Small & cheap", "Small cheap", "small, cheap")
    assert [saved(name).slug for name in names] == [
        "small-cheap",
        "small-cheap-2",
        "small-cheap-3",
    ]
    assert saved("new").slug == "new-2"
    assert saved("价格").slug == "view"


def test_view_keeps_what_says_something_when_a_form_sends_all_its_fields() -> None:
    view = saved(params={"q": [" "], "provider": ["", " aws "], "currency": []})
    assert view.params == {"provider": ["aws"]}


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"name": " "}, "/name"),
        ({"name": "x" * 101}, "/name"),
        ({"name": "a\0b"}, "/name"),
        ({"slug": "-a"}, "/slug"),
        ({"slug": "new"}, "/slug"),
        ({"slug": "Ä"}, "/slug"),
        ({"visibility": "everyone"}, "/visibility"),
        ({"params": {"colour": ["red"]}}, "/params/colour"),
        ({"params": {"a/b~c": ["red"]}}, "/params/a~1b~0c"),
        ({"params": {"metric": ["speed"]}}, "/params/metric"),
        ({"params": {"vcpu__gte": ["many"]}}, "/params/vcpu__gte"),
        ({"params": {"currency": ["XXX"]}}, "/params/currency"),
        ({"params": {"page": ["2"]}}, "/params/page"),
        ({"params": {"view": ["other"]}}, "/params/view"),
        ({"params": {"dialect": ["excel"]}}, "/params/dialect"),
        ({"params": {"provider": ["a\0"]}}, "/params/provider"),
        ({"params": {"q": ["\ud800"]}}, "/params/q"),
        ({"params": {"q": ["x" * 2001]}}, "/params/q"),
        ({"params": {"provider": ["x" * 1999] * 9}}, "/params"),
    ],
)
def test_view_is_refused_by_field_when_it_means_nothing(
    change: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        saved(**{"name": "fine", **change})
    assert refused.value.field == pointer
    assert not SavedView.objects.exists()


def test_view_is_refused_when_its_slug_is_taken_and_the_first_stays() -> None:
    saved(slug="mine")
    with pytest.raises(InvalidValue, match="taken"):
        saved("Other", slug="mine")
    assert SavedView.objects.get().name == "Small AWS"


def test_view_change_is_audited_with_old_and_new_values() -> None:
    view = saved()
    view_update(view=view, name="Small AWS", params=PARAMS, actor="ada")
    assert not AuditEntry.objects.filter(action="view_update").exists()
    changed = view_update(view=view, params={"provider": ["ovh"]}, actor="bob")
    assert changed.params == {"provider": ["ovh"]}
    assert changed.updated_at > view.updated_at
    entry = AuditEntry.objects.get(action="view_update")
    assert (entry.actor, entry.detail) == (
        "bob",
        {"params": {"from": PARAMS, "to": {"provider": ["ovh"]}}},
    )


def test_private_view_is_not_in_the_audit_trail_of_others() -> None:
    secret = saved("Secret plan", visibility="private")
    key, _ = feed_key_create(view=secret, name="secret sheet", actor="ada")
    feed_key_revoke(key=key, actor="ada")
    view = view_update(view=secret, name="Open secret", visibility="shared", actor="ada")
    view = view_update(view=view, visibility="private", actor="ada")
    view_delete(view=view, actor="ada")
    entries = AuditEntry.objects.filter(actor="ada")
    assert entries.count() == 6
    assert "secret" not in repr(list(entries.values_list("detail", flat=True))).lower()


# --- opened by a URL --------------------------------------------------------------------------


def test_view_is_refused_to_others_when_the_view_is_private() -> None:
    saved(slug="mine", visibility="private")
    view = view_get("mine", workspace_slug="default", reader="ada")
    assert view_params(view) == PARAMS
    for reader, workspace in (("", "default"), ("bob", "default"), ("ada", "elsewhere")):
        with pytest.raises(InvalidParameters, match="there is no view 'mine'"):
            view_get("mine", workspace_slug=workspace, reader=reader)


@pytest.mark.parametrize("slug", ["nothing", "a\0b", "x" * 300, "../etc", "É"])
def test_view_is_an_error_of_its_parameter_when_there_is_none(slug: str) -> None:
    with pytest.raises(InvalidParameters) as refused:
        open_view({"view": [slug]}, workspace_slug="default", reader="ada")
    assert [field for field, _ in refused.value.errors] == ["view"]


def test_view_loses_to_the_url_and_to_an_empty_value_when_opened() -> None:
    view = saved()
    given = {"view": ["", "small-aws"], "sort": ["score"], "provider": [""], "q": ["x"]}
    found = open_view(given, workspace_slug="default", reader="")
    assert found.view == view
    assert found.kept == PARAMS
    assert found.params == {"vcpu__gte": ["4"], "sort": ["score"], "q": ["x"]}
    assert changes_from_view(found.params, found.kept) == ["provider", "q", "sort"]
    assert open_view({"view": [" "], "q": ["x"]}, workspace_slug="default", reader="").view is None


def test_view_is_unmodified_by_its_page_or_the_spelling_of_a_list() -> None:
    kept = {"provider": ["aws", "ovh"]}
    params = {"provider": ["aws,ovh"], "page": ["3"], "per_page": ["10"]}
    assert changes_from_view(params, kept) == []
    assert shorten_params(params, kept, "v") == {"view": ["v"], "page": ["3"], "per_page": ["10"]}


_texts = st.lists(st.sampled_from(["a", "b", "4"]), min_size=1, max_size=2)
_params = st.dictionaries(st.sampled_from(["provider", "q", "sort", "vcpu__gte"]), _texts)


@given(params=_params, kept=_params)
def test_view_and_the_shortened_url_ask_for_the_same_again(
    params: dict[str, list[str]], kept: dict[str, list[str]]
) -> None:
    url = shorten_params(params, kept, "v")
    again = merge_params({name: texts for name, texts in url.items() if name != "view"}, kept)
    assert changes_from_view(again, params) == []
    assert set(url) <= {"view", *params, *kept}


def test_ranking_of_a_view_equals_that_of_its_parameters_in_every_format(
    client: Client, demo: None
) -> None:
    saved(params={"provider": ["aws"], "sort": ["-price"], "cols": ["offer_id,price"]})
    long_url = "provider=aws&sort=-price&cols=offer_id,price"
    for kind in ("csv", "tsv"):
        short = client.get(f"{API}/rankings.{kind}?view=small-aws").content
        assert short == client.get(f"{API}/rankings.{kind}?{long_url}").content
        assert b"aws" in short
    short, long = (
        client.get(f"{API}/rankings?{query}").json() for query in ("view=small-aws", long_url)
    )
    assert short["results"] == long["results"]
    assert short["warnings"] == []
    assert short["count"] == long["count"] > 0
    won = rows(client.get(f"{API}/rankings.csv?view=small-aws&provider=&sort=price"))
    assert won == rows(client.get(f"{API}/rankings.csv?sort=price&cols=offer_id,price"))


def test_ranking_names_the_parameter_when_there_is_no_such_view(client: Client) -> None:
    for path in ("rankings", "offers", "rankings.xlsx"):
        answer = client.get(f"{API}/{path}?view=nothing")
        assert answer.status_code == 400
        assert fields(answer) == ["view"]


def test_etag_changes_when_the_view_does(client: Client, demo: None) -> None:
    view = saved()
    path = f"{API}/rankings.csv?view=small-aws"
    first = client.get(path)
    etag = first.headers["ETag"]
    assert client.get(path, headers={"if-none-match": etag}).status_code == 304
    view_update(view=view, params={"provider": ["ovh"]}, actor="ada")
    second = client.get(path, headers={"if-none-match": etag})
    assert second.status_code == 200
    assert second.content != first.content


# --- the API ----------------------------------------------------------------------------------


def test_views_are_made_read_changed_and_removed_by_their_owner(caller: Caller) -> None:
    client = caller("write")
    made = sent(client, "post", VIEWS, {"name": "Cheap", "params": PARAMS, "visibility": "private"})
    assert made.status_code == 201
    document = made.json()
    assert (document["slug"], document["owner"]) == ("cheap", "owner")
    assert document["query"] == "provider=aws&sort=price,-score&vcpu__gte=4"
    assert client.get(f"{VIEWS}/cheap").json() == document
    changed = sent(client, "patch", f"{VIEWS}/cheap", {"name": "Cheaper"}).json()
    assert (changed["slug"], changed["name"], changed["params"]) == ("cheap", "Cheaper", PARAMS)
    assert [row["slug"] for row in rows(client.get(f"{VIEWS}.csv"))] == ["cheap"]
    assert client.delete(f"{VIEWS}/cheap").status_code == 204
    assert client.get(f"{VIEWS}/cheap").status_code == 404
    written = AuditEntry.objects.filter(action__startswith="view_").order_by("id")
    assert list(written.values_list("action", flat=True)) == [
        "view_create",
        "view_update",
        "view_delete",
    ]


def test_private_view_is_nowhere_when_somebody_else_asks(
    settings: LazySettings, caller: Caller
) -> None:
    settings.PUBLIC_READ = True
    saved(slug="mine", visibility="private")
    for client in (Client(), caller("write"), caller("admin"), signed_in("bob")):
        assert client.get(f"{VIEWS}/mine").status_code == 404
        assert client.get(VIEWS).json()["count"] == 0
        assert client.get(f"{API}/rankings?view=mine").status_code == 400
    for client in (caller("admin", name="second"), signed_in("carl", "admin")):
        assert client.delete(f"{VIEWS}/mine").status_code == 404
    assert signed_in("ada").get(VIEWS).json()["count"] == 1


def test_shared_view_is_changed_only_by_its_owner_and_admins(caller: Caller) -> None:
    saved(slug="ours")
    reader, other, admin = caller("read"), caller("write"), caller("admin")
    assert reader.get(f"{VIEWS}/ours").status_code == 200
    for client in (reader, other):
        assert sent(client, "patch", f"{VIEWS}/ours", {"name": "x"}).status_code == 403
        assert client.delete(f"{VIEWS}/ours").status_code == 403
    assert sent(reader, "post", VIEWS, {"name": "x", "params": {}}).status_code == 403
    assert sent(admin, "patch", f"{VIEWS}/ours", {"name": "x"}).json()["name"] == "x"
    assert sent(Client(), "post", VIEWS, {"name": "x", "params": {}}).status_code == 401


def test_views_of_another_workspace_are_not_there(caller: Caller) -> None:
    elsewhere = Workspace.objects.create(slug="elsewhere", name="Elsewhere")
    saved(slug="theirs", workspace=elsewhere)
    assert caller("admin").get(f"{VIEWS}/theirs").status_code == 404
    inside = caller("read", workspace=elsewhere)
    assert inside.get(f"{VIEWS}/theirs").status_code == 200
    assert inside.get(f"{API}/rankings?view=theirs").status_code == 200


@pytest.mark.parametrize(
    ("document", "pointers"),
    [
        ({"name": "x"}, ["/params"]),
        ({"name": "x", "params": ["a"]}, ["/params"]),
        ({"name": "x", "params": {"q": "text"}}, ["/params/q"]),
        ({"name": "x", "params": {"q": [1]}}, ["/params/q/0"]),
        ({"name": 1, "params": {}}, ["/name"]),
        ({"name": "x", "params": {}, "owner": "ada"}, ["/owner"]),
        ({"name": "x", "params": {"metric": ["speed"]}}, ["/params/metric"]),
    ],
)
def test_view_document_is_refused_at_its_pointer(
    caller: Caller, document: dict[str, Any], pointers: list[str]
) -> None:
    answer = sent(caller("write"), "post", VIEWS, document)
    assert answer.status_code == 400
    assert fields(answer) == pointers
    assert not SavedView.objects.exists()


def test_scope_of_a_person_is_that_of_the_role(client: Client) -> None:
    assert Scope("write").includes(Scope.READ)
    viewer, analyst = signed_in("vera", "read"), signed_in("anna", "write")
    document = {"name": "x", "params": {}}
    assert sent(viewer, "post", VIEWS, document).status_code == 403
    assert sent(analyst, "post", VIEWS, document).json()["owner"] == "anna"
