"""The data page, saved views, feeds and tokens in the browser's pages."""

import ast
import re
import shlex
import subprocess
import sys
from html import unescape

import pytest

from backend.accounts.models import ApiToken, AuditEntry
from backend.accounts.selectors.tokens import token_in_force
from backend.core.rest.table import Column, ColumnType
from backend.rankings.models import FeedKey, SavedView
from backend.rankings.pages.data.formulas import (
    FormulaSource,
    curl,
    excel_text,
    formulas,
    m_text,
    py_text,
)
from backend.rankings.selectors.columns import COLUMNS
from backend.rankings.selectors.views import view_params
from backend.rankings.services.feeds import feed_key_create, feed_key_match
from backend.rankings.services.views import view_create
from tests import factories

pytestmark = pytest.mark.django_db
PARAMS = {"provider": ["aws"], "sort": ["price"]}
MOST_QUERIES = 12


@pytest.fixture
def ada(client):
    client.force_login(factories.user(username="ada", role="write"))
    return client


@pytest.fixture
def admin(client):
    client.force_login(factories.user(username="root", role="admin"))
    return client


def saved(name: str = "Ours", **given) -> SavedView:
    fields = {"workspace": factories.workspace(), "params": PARAMS, "actor": "ada", **given}
    return view_create(name=name, **fields)


def text_of(answer, status: int = 200) -> str:
    assert answer.status_code == status, answer.content.decode()[:500]
    return answer.content.decode()


def formula(page: str, key: str) -> str:
    found = re.search(rf'<code id="{key}">(.*?)</code>', page, re.DOTALL)
    assert found, f"no {key}"
    return unescape(found[1])


# --- formulas ---------------------------------------------------------------------------------


def test_data_page_prints_every_formula_for_the_requested_list(client, measured):
    query = "provider=aws&vcpu__gte=2&cols=offer_id,vcpu,pareto,measured_at,price_observed_on"
    page = text_of(client.get(f"/data/?{query}"))
    address = f"http://testserver/api/v1/rankings.csv?{query}"
    m = formula(page, "power-query")
    assert f'Web.Contents("{address}")' in m
    assert '"en-US"' in m
    for typed in (
        '{"offer_id", type text}',
        '{"vcpu", type number}',
        '{"pareto", type logical}',
        '{"measured_at", type datetimezone}',
        '{"price_observed_on", type date}',
    ):
        assert typed in m
    assert formula(page, "importdata") == f'=IMPORTDATA("{address}", ",", "en_US")'
    assert formula(page, "libreoffice") == address
    value = f"http://testserver/api/v1/value?{query}&column=value_per_cost&offer="
    assert formula(page, "webservice") == (
        f'=NUMBERVALUE(WEBSERVICE("{value}"&ENCODEURL(A2)), ".", ",")'
    )
    for kind in ("tsv", "xlsx", "json"):
        assert f"/api/v1/rankings.{kind}?provider=aws&amp;" in page


@pytest.mark.django_db(transaction=True)
def test_formulas_of_curl_and_python_read_the_rows_when_run(live_server, tmp_path, settings):
    settings.PUBLIC_READ = True
    offer = factories.offer("it-s-mine", provider_slug="aws", name='O\'Hara "x" $HOME `id`')
    factories.sample(offer, 10.0)
    query = "provider=aws&q=O%27Hara+%22x%22+%24HOME+%60id%60&cols=offer_id,offer"
    csv_url = f"{live_server.url}/api/v1/rankings.csv?{query}"
    source = FormulaSource(csv_url=csv_url, columns=[Column("offer_id", ColumnType.TEXT, "")])
    by_key = {one.key: one.text for one in formulas(source)}
    ran = subprocess.run(
        [sys.executable, "-c", by_key["python"]], capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("1 {'offer_id': 'it-s-mine'")
    subprocess.run(["/bin/sh", "-c", by_key["curl"]], cwd=tmp_path, check=True, timeout=60)
    lines = (tmp_path / "rankings.csv").read_text().splitlines()
    assert lines[1].startswith("it-s-mine,")


def test_texts_are_quoted_as_each_language_asks():
    assert m_text('a"b#(cr)') == '"a""b#(#)(cr)"'
    assert py_text('a"b\\') == '"a\\"b\\\\"'
    assert ast.literal_eval(py_text('a"b\\')) == 'a"b\\'
    assert excel_text('a"b') == '"a""b"'
    pieces = excel_text("x" * 600).split("&")
    assert [len(piece) - 2 for piece in pieces] == [255, 255, 90]
    source = FormulaSource(csv_url="http://a/b?c='d", columns=[])
    assert shlex.split(curl(source).text)[-1] == "http://a/b?c='d"


def test_data_page_names_a_token_and_leaves_out_what_cannot_send_one(ada, measured, settings):
    settings.PUBLIC_READ = False
    page = text_of(ada.get("/data/"))
    assert "needs an API token" in page
    assert "RACKRATE_TOKEN" in formula(page, "curl")
    assert 'os.environ["RACKRATE_TOKEN"]' in formula(page, "python")
    assert "any user name, an API token as the password" in page
    assert 'id="importdata"' not in page
    assert 'id="webservice"' not in page


def test_data_page_writes_a_shared_view_short_and_a_private_one_out(ada, measured):
    saved("Shared one")
    saved("Private one", visibility="private")
    shared = text_of(ada.get("/data/?view=shared-one&sort=-price"))
    assert formula(shared, "libreoffice").endswith("rankings.csv?view=shared-one&sort=-price")
    private = text_of(ada.get("/data/?view=private-one"))
    assert formula(private, "libreoffice").endswith("rankings.csv?provider=aws&sort=price")


def test_data_page_reports_what_it_leaves_out(client, measured):
    page = text_of(client.get("/data/?vcpu__gte=many&colour=red&view=nothing&provider=aws"))
    assert page.count('role="alert"') == 2
    assert "there is no view" in page
    assert "a ranking does not know it: colour" in page
    assert formula(page, "libreoffice").endswith("rankings.csv?provider=aws")


def test_data_page_warns_when_an_address_is_too_long_for_excel(client, measured):
    page = text_of(client.get("/data/?q=" + "x" * 2100))
    assert "Excel takes 2,048" in page
    assert "Excel takes 2,048" not in text_of(client.get("/data/"))


def test_data_page_lists_every_column_and_hides_private_views_of_others(client, measured):
    saved("Private one", visibility="private")
    page = text_of(client.get("/data/"))
    assert page.count('<th scope="row" class="nowrap"><code>') == len(COLUMNS)
    assert "Private one" not in page
    client.force_login(factories.user(username="ada", role="read"))
    assert "Private one" in text_of(client.get("/data/"))


# --- a try of an address ----------------------------------------------------------------------


def tried(client, address: str, path: str = "/data/") -> str:
    return text_of(client.post(path, {"address": address}))


def shown(page: str) -> dict[str, str]:
    return dict(re.findall(r"<dt>(Status|Rows|Bytes)</dt><dd>([^<]*)</dd>", page))


def test_trial_shows_status_rows_and_bytes_of_a_list(client, measured):
    expected = client.get("/api/v1/rankings.csv")
    page = tried(client, "http://testserver/api/v1/rankings.csv")
    assert shown(page) == {
        "Status": "200 OK",
        "Rows": expected.headers["X-Total-Count"],
        "Bytes": str(len(expected.content)),
    }


def test_trial_of_a_feed_is_without_the_session(ada, measured, settings):
    settings.PUBLIC_READ = False
    view = saved()
    key, text = feed_key_create(view=view, name="sheet", actor="ada")
    assert shown(tried(ada, f"/feeds/{text}/ours.xlsx"))["Status"] == "200 OK"
    refused = tried(ada, "/api/v1/rankings.csv")
    assert shown(refused)["Status"] == "401 Unauthorized"
    ended = tried(ada, f"/feeds/{text[:-1]}x/ours.csv")
    assert "unknown, expired or revoked" in ended
    key.refresh_from_db()
    assert key.last_used_at is not None


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/api/v1/rankings.csv",
        "ftp://testserver/api/v1/rankings.csv",
        "//example.org/feeds/x/y.csv",
        "/admin/",
        "/accounts/logout/",
        "/api/v1/docs/",
        "/api/v1/nothing",
        "/api/v1/runs/import",
        "/no/such/page",
        "http://[bad",
        "",
    ],
)
def test_trial_is_refused_beside_its_field_when_it_is_no_list_of_here(client, measured, address):
    page = tried(client, address)
    assert "Not tried:" in page
    assert 'aria-invalid="true"' in page
    assert not shown(page)


def test_trial_keeps_the_list_that_the_page_shows(client, measured):
    page = tried(client, "/api/v1/metrics.csv", "/data/?provider=aws")
    assert shown(page)["Status"] == "200 OK"
    assert 'action="/data/?provider=aws#trial"' in page


# --- saved views ------------------------------------------------------------------------------


def test_view_is_saved_from_the_address_and_opens_the_same_ranking(ada, measured):
    page = text_of(ada.get("/views/new/?provider=aws&sort=price&page=2&colour=red&vcpu__gte=x"))
    assert "does not know it: colour" in page
    assert "vcpu__gte" in page
    answer = ada.post(
        "/views/new/?provider=aws&sort=price&page=2", {"name": "Ours", "visibility": "private"}
    )
    assert answer.headers["Location"] == "/views/ours/"
    view = SavedView.objects.get()
    assert (view.owner, view.visibility, view.params) == ("ada", "private", PARAMS)
    assert "The view is saved." in text_of(ada.get("/views/ours/"))
    assert AuditEntry.objects.filter(action="view_create", actor="ada").exists()


def test_view_form_keeps_what_was_typed_when_it_is_refused(ada, measured):
    page = text_of(ada.post("/views/new/?provider=aws", {"name": "\x01", "visibility": "private"}))
    assert "field-error" in page
    assert '<option value="private" selected>' in page
    assert not SavedView.objects.exists()


def test_changes_of_an_opened_view_are_kept_in_it(ada, measured):
    saved()
    page = text_of(ada.get("/views/new/?view=ours&sort=-score&provider="))
    target = re.search(r'action="(/views/ours/params/[^"]*)"', page)
    assert target, page
    ada.post(unescape(target[1]))
    assert view_params(SavedView.objects.get(slug="ours")) == {"sort": ["-score"]}
    unchanged = text_of(ada.get("/views/new/?view=ours"))
    assert "/views/ours/params/" not in unchanged


def test_view_page_changes_name_and_readers_and_deletes(ada, measured):
    saved()
    ada.post("/views/ours/", {"name": "Mine", "visibility": "private"})
    view = SavedView.objects.get()
    assert (view.slug, view.name, view.visibility) == ("ours", "Mine", "private")
    assert "Mine" in text_of(ada.get("/views/"))
    ada.post("/views/ours/delete/")
    assert not SavedView.objects.exists()
    assert "No view is saved yet" in text_of(ada.get("/views/"))


def test_view_pages_refuse_who_may_not(client, measured):
    saved()
    saved("Hidden", visibility="private")
    writes = ("/views/ours/", "/views/ours/params/", "/views/ours/delete/", "/views/ours/keys/")
    for path in (*writes, "/views/new/"):
        assert client.post(path).status_code == 403
    client.force_login(factories.user(username="bob", role="write"))
    for path in writes[:-1]:
        assert client.post(path).status_code == 403
    page = text_of(client.get("/views/ours/"))
    assert "/views/ours/delete/" not in page
    assert "Hidden" not in text_of(client.get("/views/"))
    for path in ("/views/hidden/", "/views/nothing/"):
        assert client.get(path).status_code == 404
    assert client.post("/views/hidden/keys/", {"name": "x"}).status_code == 404
    assert SavedView.objects.count() == 2


# --- feeds ------------------------------------------------------------------------------------


def test_feed_is_made_shown_once_and_revoked(ada, measured):
    saved()
    answer = ada.post("/views/ours/keys/", {"name": "sheet", "expires_days": 30})
    page = text_of(answer)
    assert "no-store" in answer.headers["Cache-Control"]
    address = formula(page, "libreoffice")
    text = address.split("/feeds/")[1].split("/")[0]
    key = feed_key_match(text)
    assert key is not None
    assert key.name == "sheet"
    assert f'=IMPORTDATA("{address}"' in formula(page, "importdata")
    assert 'id="webservice"' not in page
    assert ada.get(address.removeprefix("http://testserver")).status_code == 200
    again = text_of(ada.get("/views/ours/"))
    assert text not in again
    assert ">active<" in again
    assert ada.get("/views/ours/keys/").headers["Location"] == "/views/ours/"
    ada.post(f"/views/ours/keys/{key.pk}/revoke/")
    assert feed_key_match(text) is None
    assert "revoked" in text_of(ada.get("/views/ours/"))


def test_feed_form_is_refused_beside_its_field(ada, measured):
    saved()
    for given in ({"name": "", "expires_days": 30}, {"name": "x", "expires_days": 0}):
        assert "field-error" in text_of(ada.post("/views/ours/keys/", given))
    ada.post("/views/ours/keys/", {"name": "x", "expires_days": 3})
    twice = text_of(ada.post("/views/ours/keys/", {"name": "x", "expires_days": 3}))
    assert "revoke it first" in twice
    assert FeedKey.objects.count() == 1


def test_feed_keys_of_others_are_not_listed_nor_revoked(ada, measured):
    key, _ = feed_key_create(view=saved(actor="carl"), name="theirs", actor="carl")
    assert "theirs" not in text_of(ada.get("/views/ours/"))
    assert ada.post(f"/views/ours/keys/{key.pk}/revoke/").status_code == 404


# --- tokens -----------------------------------------------------------------------------------


def test_token_is_made_shown_once_listed_and_revoked(admin):
    answer = admin.post("/accounts/tokens/", {"name": "sheet", "scope": "read", "expires_days": 7})
    page = text_of(answer)
    assert "no-store" in answer.headers["Cache-Control"]
    text = formula(page, "token-text")
    token = token_in_force(text)
    assert token is not None
    assert (token.name, token.scope) == ("sheet", "read")
    again = text_of(admin.get("/accounts/tokens/"))
    assert text not in again
    assert "sheet" in again
    admin.post(f"/accounts/tokens/{token.pk}/revoke/")
    assert token_in_force(text) is None
    entry = AuditEntry.objects.get(action="token_revoke")
    assert entry.actor == "root"


def test_token_form_is_refused_beside_its_field(admin):
    given = {"name": "sheet", "scope": "read", "expires_days": 7}
    admin.post("/accounts/tokens/", given)
    assert "revoke it first" in text_of(admin.post("/accounts/tokens/", given))
    assert "field-error" in text_of(admin.post("/accounts/tokens/", {**given, "scope": "root"}))
    assert ApiToken.objects.count() == 1


def test_tokens_are_for_admins_only(ada):
    assert ada.get("/accounts/tokens/").status_code == 403
    given = {"name": "x", "scope": "admin", "expires_days": 7}
    assert ada.post("/accounts/tokens/", given).status_code == 403
    assert not ApiToken.objects.exists()


# --- all of them ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/data/", "/data/?view=view-1", "/views/", "/views/view-1/"])
def test_pages_take_few_queries_however_many_views_there_are(
    admin, measured, path, django_assert_max_num_queries
):
    for n in range(8):
        view = saved(f"View {n}")
        for k in range(3):
            feed_key_create(view=view, name=f"key {k}", actor="ada")
    with django_assert_max_num_queries(MOST_QUERIES):
        page = text_of(admin.get(path))
    assert page.count("<h1>") == 1
    assert "View 1" in page
