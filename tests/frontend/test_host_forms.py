"""Hosts: adding one, its key, starting a run on it; and the list of runs."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backend.benchmarks.models import Host, HostState, Run, RunState
from backend.benchmarks.selectors.hosts import fingerprint
from backend.measure.profiles import PARAMETERS
from tests import factories
from tests.backend import campaigns
from tests.frontend import engine_rows

pytestmark = pytest.mark.django_db

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0oIyv5WqIVmhSJvqSMKvTGvIkWvZHmVzyS7nKlnJ0L"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHa8SyDSe2fOqhqcv0cLRyFqSFN8Vy1xMIBpQ9YYvO0s"


@pytest.fixture
def operator(client):
    """A client signed in as an operator."""
    client.force_login(factories.user(role="run"))
    return client


def private_key() -> str:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    return (
        ed25519.Ed25519PrivateKey.generate()
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
        .decode()
    )


def host_fields(**given) -> dict[str, str]:
    return {
        "name": "rack 7",
        "address": "192.0.2.10",
        "port": "22",
        "username": "bench",
        "kind": "dedicated",
        "private_key": private_key(),
        "price_amount": "",
        "price_currency": "USD",
        "price_unit": "month",
        **given,
    }


def text_of(answer, status=200) -> str:
    assert answer.status_code == status
    return answer.content.decode()


def test_host_form_adds_a_host_and_asks_for_its_key(operator, queued):
    answer = operator.post("/hosts/new/", host_fields(price_amount="49", price_currency="eur"))
    host = Host.objects.get()
    assert answer.headers["Location"] == f"/hosts/{host.pk}/"
    assert (host.name, host.address, host.port, host.username) == (
        "rack 7",
        "192.0.2.10",
        22,
        "bench",
    )
    assert host.state == HostState.UNVERIFIED
    assert host.scan_requested_at is not None
    price = host.offer.prices.get()
    assert (price.amount, price.currency, price.unit) == (49, "EUR", "month")
    assert "asking the host…" in text_of(operator.get(f"/hosts/{host.pk}/"))


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("name", "", "This field is required."),
        ("address", "http://x", "address"),
        ("port", "70000", "65535"),
        ("username", "-oProxy", "letters, digits"),
        ("private_key", "secret words", "not an unencrypted private key"),
        ("price_amount", "-1", "greater than or equal to 0"),
        ("price_currency", "DOLLAR", "valid value"),
    ],
)
def test_host_form_says_what_is_wrong_beside_the_field_and_keeps_the_rest(
    operator, queued, field, value, told
):
    text = text_of(operator.post("/hosts/new/", host_fields(**{"price_amount": "5", field: value})))
    shown = re.search(rf'id="{field}_error">([^<]*)<', text)
    assert shown is not None
    assert told in shown[1]
    assert not Host.objects.exists()
    if field != "name":
        assert 'value="rack 7"' in text


def test_host_form_never_repeats_an_unreadable_key_in_its_error(operator):
    text = text_of(operator.post("/hosts/new/", host_fields(private_key="secret words")))
    error = re.search(r'id="private_key_error">([^<]*)<', text)
    assert error is not None
    assert "secret" not in error[1]


def test_key_is_polled_during_a_scan_and_then_shown(client, queued):
    host = factories.host(state=HostState.UNVERIFIED, scan_requested_at=factories.AT)
    part = text_of(client.get(f"/hosts/{host.pk}/key/"))
    assert f'hx-get="/hosts/{host.pk}/key/" hx-trigger="every 2s"' in part
    page = text_of(client.get(f"/hosts/{host.pk}/"))
    assert '<noscript><meta http-equiv="refresh"' in page
    Host.objects.filter(pk=host.pk).update(
        scan_requested_at=None, scanned_key=KEY, scanned_at=factories.AT
    )
    part = text_of(client.get(f"/hosts/{host.pk}/key/"))
    assert "hx-trigger" not in part
    assert fingerprint(KEY) in part
    assert "<form" not in part  # nobody has signed in


def test_key_is_approved_by_its_fingerprint(operator, queued):
    host = factories.host(state=HostState.UNVERIFIED, scanned_key=KEY, scanned_at=factories.AT)
    page = text_of(operator.get(f"/hosts/{host.pk}/"))
    assert f'name="fingerprint_sha256" value="{fingerprint(KEY)}"' in page
    assert "You can start runs once the key is approved." in page
    path = f"/hosts/{host.pk}/approve/"
    wrong = operator.post(path, {"fingerprint_sha256": fingerprint(OTHER)}, follow=True)
    assert "Not approved:" in text_of(wrong)
    host.refresh_from_db()
    assert host.state == HostState.UNVERIFIED
    operator.post(path, {"fingerprint_sha256": fingerprint(KEY)})
    host.refresh_from_db()
    assert (host.state, host.host_key) == (HostState.TRUSTED, KEY)


@pytest.mark.parametrize(
    ("key_type", "name"),
    [("ssh-ed25519", "ed25519"), ("ecdsa-sha2-nistp384", "ecdsa"), ("ssh-rsa", "rsa")],
)
def test_key_is_compared_with_the_file_of_its_type(client, key_type, name):
    host = factories.host(state=HostState.UNVERIFIED, scanned_key=f"{key_type} AAAA")
    part = text_of(client.get(f"/hosts/{host.pk}/key/"))
    assert f"ssh-keygen -lf /etc/ssh/ssh_host_{name}_key.pub" in part


def test_changed_key_is_shown_beside_the_approved_one(client):
    host = factories.host(state=HostState.KEY_CHANGED, host_key=KEY, scanned_key=OTHER)
    part = text_of(client.get(f"/hosts/{host.pk}/key/"))
    assert "shows another key than the one approved" in part
    assert fingerprint(KEY) in part
    assert fingerprint(OTHER) in part


def test_failed_scan_gives_the_reason(client):
    host = factories.host(state=HostState.UNVERIFIED, scan_error="connection refused")
    assert "connection refused" in text_of(client.get(f"/hosts/{host.pk}/key/"))


# --- starting a run -------------------------------------------------------------------------------


def test_run_form_starts_a_run_with_what_was_typed(operator, queued):
    host = factories.host()
    peer = factories.host(name="other end")
    answer = operator.post(
        f"/hosts/{host.pk}/run/",
        {
            "profile": "standard",
            "probes": ["cmips", "network"],
            "peer": str(peer.pk),
            "install_tools": "on",
            "directory": "/mnt/tank",
            "directories": "/mnt/a\n/mnt/b\n",
            "matrix_depths": "1, 8 32",
            "parameter_seconds": "2.5",
            "parameter_file_bytes": "512",
            "parameter_udp_bits_per_s": "50",
        },
    )
    run = Run.objects.get()
    assert answer.headers["Location"] == f"/runs/{run.pk}/"
    assert (run.profile, run.probes, run.peer) == ("standard", ["cmips", "network"], peer)
    assert run.parameters == {
        "peer": str(peer.pk),
        "install_tools": True,
        "directory": "/mnt/tank",
        "directories": ["/mnt/a", "/mnt/b"],
        "matrix_depths": [1, 8, 32],
        "seconds": 2.5,
        "file_bytes": 512 * 2**20,
        "udp_bits_per_s": 50_000_000,
    }


def test_run_form_left_empty_takes_the_profile(operator, queued):
    host = factories.host()
    operator.post(f"/hosts/{host.pk}/run/", {"profile": "quick"})
    run = Run.objects.get()
    assert (run.probes, run.parameters) == (None, {})


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("profile", "slow", "Select a valid choice"),
        ("parameter_seconds", "0.01", "greater than or equal to 0.2"),
        ("parameter_seconds", "x", "is not a number"),
        ("parameter_repeats", "2.5", "whole number"),
        ("parameter_fio_file_bytes", "1", "greater than or equal to 16"),
        ("directory", "tmp", "absolute path"),
        ("directories", "/mnt/a", "2 to 16 directories"),
        ("device", "/etc/passwd", "/dev/sdb"),
        ("matrix_depths", "1, two", "whole numbers"),
        ("matrix_jobs", "0", "not within"),
        ("peer_address", "a b", "address"),
    ],
)
def test_run_form_says_what_is_wrong_beside_the_field(operator, queued, field, value, told):
    host = factories.host()
    given = {"profile": "quick", "probes": ["dd"], field: value}
    text = text_of(operator.post(f"/hosts/{host.pk}/run/", given))
    shown = re.search(rf'id="{field}_error">([^<]*)<', text)
    assert shown is not None, text
    assert told in shown[1]
    assert re.search(r'value="dd"[^>]* checked', text)
    if field != "profile":
        assert '<details class="wide" id="advanced" open>' in text or field == "peer_address"
    assert not Run.objects.exists()


def test_run_form_offers_every_parameter_with_range_and_defaults(operator):
    host = factories.host()
    text = text_of(operator.get(f"/hosts/{host.pk}/"))
    for name in PARAMETERS:
        field = re.search(rf'<input type="text" name="parameter_{name}"[^>]*>', text)
        assert field is not None
        assert 'data-quick="' in field[0]
    seconds = re.search(r'<input type="text" name="parameter_seconds"[^>]*>', text)
    assert seconds is not None
    assert 'placeholder="1.5"' in seconds[0]
    assert 'data-full="15"' in seconds[0]
    assert "One CPU repeat, s" in text
    assert "File of dd, MiB" in text
    assert "0.2 to 120" in text


def test_run_form_refuses_a_host_that_lost_its_trust_meanwhile(operator, queued):
    host = factories.host(state=HostState.KEY_CHANGED, host_key=KEY, scanned_key=OTHER)
    text = text_of(operator.post(f"/hosts/{host.pk}/run/", {"profile": "quick"}))
    assert not Run.objects.exists()
    assert "You can start runs once the key is approved." in text


@pytest.mark.parametrize("role", [None, "read", "write"])
def test_only_operators_add_hosts_and_start_runs(client, queued, role):
    host = factories.host(state=HostState.UNVERIFIED, scanned_key=KEY)
    if role:
        client.force_login(factories.user(role=role))
    assert client.get("/hosts/new/").status_code == 403
    for action in ("scan", "approve", "run"):
        assert client.post(f"/hosts/{host.pk}/{action}/", {"profile": "quick"}).status_code == 403
    page = text_of(client.get(f"/hosts/{host.pk}/"))
    assert 'id="run-form"' not in page
    assert not queued


def test_forms_need_their_token(operator):
    from django.test import Client

    host = factories.host()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(factories.user(role="admin"))
    assert strict.post(f"/hosts/{host.pk}/run/", {"profile": "quick"}).status_code == 403
    assert not Run.objects.exists()


def test_where_to_log_in_is_not_shown_to_everybody(client):
    host = factories.host(name="rack", address="192.0.2.77")
    assert "192.0.2.77" not in text_of(client.get("/hosts/"))
    assert "192.0.2.77" not in text_of(client.get(f"/hosts/{host.pk}/"))
    client.force_login(factories.user())
    assert "bench@192.0.2.77:22" in text_of(client.get("/hosts/"))


def test_host_of_an_archive_offers_no_run_and_no_scan(operator, queued):
    host = factories.host(driver="archive", state=HostState.UNVERIFIED)
    page = text_of(operator.get(f"/hosts/{host.pk}/"))
    assert "came with the archive of a run" in page
    assert "run-form" not in page
    answer = operator.post(f"/hosts/{host.pk}/scan/", follow=True)
    assert "it has no key" in text_of(answer)
    assert not queued


# --- the list of runs -----------------------------------------------------------------------------


def test_runs_are_filtered_by_host_state_profile_and_offer(client, django_assert_max_num_queries):
    rows = engine_rows.engine()
    with django_assert_max_num_queries(8):
        text = text_of(client.get("/runs/"))
    assert f"{Run.objects.count()} runs" in text

    def run_ids(query: str) -> set[str]:
        page = text_of(client.get(f"/runs/?{query}"))
        return set(re.findall(r'<th scope="row" class="nowrap"><a href="/runs/([^/]+)/', page))

    assert run_ids("state=failed") == {str(rows.failed.pk)}
    assert str(rows.going.pk) in run_ids("state=active")
    assert run_ids(f"host={rows.failed.host_id}") == {str(rows.failed.pk)}
    assert run_ids("profile=full&offer=own-nas") == set()
    assert run_ids("offer=own-nas-cork") == {str(rows.failed.pk)}
    assert "No run matches" in text_of(client.get("/runs/?state=lost"))


def test_runs_page_has_the_filters_of_the_api(client):
    host = factories.host()
    nightly = campaigns.campaign(host)
    wanted = factories.run(host, campaign=nightly, round=2, state=RunState.DONE)
    factories.run(host, campaign=nightly, round=1, state=RunState.DONE)
    Run.objects.exclude(pk=wanted.pk).update(created_at=factories.AT)
    for query in (f"campaign={nightly.pk}&round=2", "since=2026-11-02"):
        listed = client.get(f"/api/v1/runs?{query}").json()["results"]
        assert [run["id"] for run in listed] == [str(wanted.pk)]
        page = text_of(client.get(f"/runs/?{query}"))
        assert re.findall(r'<th scope="row" class="nowrap"><a href="/runs/([^/]+)/', page) == [
            str(wanted.pk)
        ]
    page = text_of(client.get("/runs/?round=x&since=yesterday"))
    assert 'id="round_error">Ignored:' in page
    assert 'id="since_error">Ignored:' in page
    assert "2 runs<" in page


def test_run_lists_read_all_their_lines_at_once(client):
    host = factories.host()
    campaign = campaigns.campaign(host)

    def queries(address: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(address)
        return len(asked)

    addresses = ("/runs/", "/hosts/", f"/hosts/{host.pk}/")
    factories.run(host, campaign=campaign, state=RunState.DONE)
    before = [queries(address) for address in addresses]
    for _ in range(3):
        factories.run(host, campaign=campaign, state=RunState.DONE)
    assert [queries(address) for address in addresses] == before


def test_runs_list_ignores_a_bad_filter_and_says_so(client):
    factories.run(state=RunState.DONE)
    text = text_of(client.get("/runs/?state=sleeping&page=99"))
    assert 'id="state_error">Ignored:' in text
    assert "1 run<" in text


def test_runs_list_pages_by_fifty(client):
    host = factories.host()
    for _ in range(51):
        factories.run(host, state=RunState.DONE)
    text = text_of(client.get("/runs/?profile=quick"))
    assert 'href="?profile=quick&amp;page=2"' in text
    assert "page 2 of 2" in text_of(client.get("/runs/?profile=quick&page=2"))


def test_host_in_production_says_so_and_offers_no_tools_to_install(operator):
    host = factories.host(is_in_production=True)
    text = text_of(operator.get(f"/hosts/{host.pk}/"))
    assert "measures only while it is idle" in text
    assert 'id="install_tools"' not in text
    answer = operator.post(f"/hosts/{host.pk}/run/", {"profile": "quick"})
    assert answer.status_code == 302
    assert Run.objects.get().parameters == {"careful": True}
