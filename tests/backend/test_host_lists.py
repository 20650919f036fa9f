"""Many hosts at once: added from lists, approved by keys and fingerprints, or refused by line."""

import json
import re
from io import StringIO

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from backend.accounts.models import Workspace
from backend.benchmarks.models import Host, HostAuthority, HostState
from backend.benchmarks.selectors.hosts import fingerprint
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0oIyv5WqIVmhSJvqSMKvTGvIkWvZHmVzyS7nKlnJ0L"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHa8SyDSe2fOqhqcv0cLRyFqSFN8Vy1xMIBpQ9YYvO0s"


@pytest.fixture
def operator(caller):
    return caller("run")


def imported(client, list_format, text, **given):
    document = {"format": list_format, "text": text, **given}
    return client.post(f"{API}/hosts/import", json.dumps(document), content_type="application/json")


def test_list_adds_hosts_behind_their_bastion_and_a_second_time_nothing(operator, queued):
    text = (
        "address,name,username,tags,bastion,production\n"
        "rack-1.internal,rack 1,,db,gate,yes\n"
        "192.0.2.1,gate,ops,,,\n"
    )
    done = imported(operator, "csv", text, username="bench", kind="onprem").json()
    assert (len(done["added"]), done["approved"], done["unchanged"]) == (2, [], 0)
    rack, gate = Host.objects.get(name="rack 1"), Host.objects.get(name="gate")
    assert (rack.bastion, rack.username, gate.username) == (gate, "bench", "ops")
    assert (rack.tags, rack.is_in_production, rack.offer.kind) == (["db"], True, "onprem")
    assert all(host.scan_requested_at for host in (rack, gate))
    again = imported(operator, "csv", text, username="bench").json()
    assert (again["added"], again["unchanged"]) == ([], 2)


def test_wrong_line_is_named_and_nothing_is_added(operator):
    text = "a ansible_user=bench\nb ansible_user=-x\nc ansible_user=-y\n"
    answer = imported(operator, "ansible", text)
    assert (answer.status_code, fields(answer)) == (400, ["/text/2", "/text/3"])
    assert not Host.objects.exists()


def test_known_hosts_approves_that_key_and_refuses_another(operator):
    known = {
        name: factories.host(name=name, address=f"{name}.example", **given)
        for name, given in {
            "new": {"state": HostState.UNVERIFIED},
            "same": {"state": HostState.UNVERIFIED, "scanned_key": KEY},
            "trusted": {"host_key": KEY},
            "other": {"state": HostState.UNVERIFIED, "scanned_key": OTHER},
            "changed": {"host_key": OTHER},
        }.items()
    }
    lines = [f"{name}.example {KEY}\n" for name in ("new", "same", "trusted", "stranger")]
    answer = imported(operator, "known_hosts", "".join(lines) + f"other.example {KEY}\n")
    assert (answer.status_code, fields(answer)) == (400, ["/text/5"])
    assert f"other shows another key: {fingerprint(OTHER)}" in answer.content.decode()
    answer = imported(operator, "known_hosts", f"changed.example {KEY}\n")
    assert "changed is approved with another key" in answer.content.decode()

    done = imported(operator, "known_hosts", "".join(lines)).json()
    assert set(done["approved"]) == {str(known[name].pk) for name in ("new", "same")}
    assert (done["added"], done["unchanged"]) == ([], 1)
    assert {known["new"].host_key, known["same"].host_key} == {""}
    for name in ("new", "same"):
        known[name].refresh_from_db()
        assert (known[name].state, known[name].host_key) == (HostState.TRUSTED, KEY)
    # With a user, machines that are no hosts yet are added, and trusted at once.
    done = imported(operator, "known_hosts", "".join(lines), username="bench").json()
    assert done["added"] == done["approved"] == [str(Host.objects.get(name="stranger.example").pk)]


def test_known_hosts_trusts_and_revokes_authorities(operator, queued):
    factories.host(name="rack", address="rack.example.org", state=HostState.UNVERIFIED)
    text = f"@cert-authority *.example.org {KEY}\n@revoked * {OTHER}\n"
    assert imported(operator, "known_hosts", text).json()["authorities"] == 2
    known = {one.public_key: one for one in HostAuthority.objects.all()}
    assert (known[KEY].patterns, known[KEY].is_revoked) == ("*.example.org", False)
    assert known[OTHER].is_revoked
    # A host that waits for an approval is asked for its certificate.
    assert Host.objects.get().scan_requested_at is not None
    again = imported(operator, "known_hosts", text).json()
    assert (again["authorities"], again["unchanged"]) == (0, 2)
    for line in (f"@cert-authority * {OTHER}\n", f"rack.example.org {OTHER}\n"):
        answer = imported(operator, "known_hosts", line)
        assert (answer.status_code, fields(answer)) == (400, ["/text/1"])
        assert f"the key {fingerprint(OTHER)} is revoked" in answer.content.decode()


def test_authorities_are_a_list_of_the_api(operator, caller, client):
    text = f"@cert-authority *.example.org {KEY}\n@revoked * {OTHER}\n"
    imported(operator, "known_hosts", text)
    (trusted,) = HostAuthority.objects.filter(is_revoked=False)
    factories.host(authority=trusted)
    reader = caller("run", name="list")
    listed = reader.get(f"{API}/host-authorities").json()
    assert listed["count"] == 2
    assert [(row["patterns"], row["is_revoked"], row["host_count"]) for row in listed["results"]] == [
        ("*.example.org", False, 1), ("*", True, 0),
    ]  # fmt: skip
    assert listed["results"][0]["fingerprint_sha256"] == fingerprint(KEY)
    page = reader.get(f"{API}/host-authorities?per_page=1&is_revoked=TRUE").json()
    assert (page["count"], page["next"], len(page["results"])) == (1, None, 1)
    exported = rows(reader.get(f"{API}/host-authorities.csv"))
    assert [row["public_key"] for row in exported] == [KEY, OTHER]
    # names of machines are not for strangers, nor for who only reads
    assert client.get(f"{API}/host-authorities").status_code in {401, 403}
    assert caller("read", name="reads").get(f"{API}/host-authorities").status_code == 403
    other = Workspace.objects.create(slug="other", name="Other")
    assert caller("run", workspace=other).get(f"{API}/host-authorities").json()["count"] == 0


def test_page_trusts_an_authority_and_removes_it(client, queued):
    assert client.get("/hosts/authorities/").status_code in {302, 403}
    client.force_login(factories.user(role="run"))
    typed = {"patterns": "*.example.org", "public_key": f"{KEY} root@ca"}
    page = client.post("/hosts/authorities/", typed | {"public_key": "x"}).content.decode()
    assert "not a whole key" in page
    page = client.post("/hosts/authorities/", typed | {"patterns": "a b"}).content.decode()
    assert "without blanks" in page
    page = client.post("/hosts/authorities/", typed, follow=True).content.decode()
    assert "The authority is trusted." in page
    assert fingerprint(KEY) in page
    revoked = typed | {"public_key": OTHER, "is_revoked": "on"}
    assert (
        "The key is revoked."
        in client.post("/hosts/authorities/", revoked, follow=True).content.decode()
    )
    rack = factories.host(name="rack 1", authority=HostAuthority.objects.get(public_key=KEY))
    path = f"/hosts/authorities/{rack.authority_id}/remove/"
    assert "rack 1 waits for another approval" in client.get(path).content.decode()
    assert "The key is removed." in client.post(path, follow=True).content.decode()
    rack.refresh_from_db()
    assert (rack.state, rack.authority) == (HostState.UNVERIFIED, None)


def test_fingerprints_approve_the_hosts_that_show_them(operator):
    good = factories.host(state=HostState.UNVERIFIED, scanned_key=KEY)
    bad = factories.host(state=HostState.KEY_CHANGED, scanned_key=OTHER, host_key=KEY)
    text = f"256 {fingerprint(KEY)} root@rack (ED25519)\n"
    done = imported(operator, "fingerprints", text).json()
    assert (done["approved"], done["unchanged"]) == ([str(good.pk)], 0)
    bad.refresh_from_db()
    assert bad.state == HostState.KEY_CHANGED


def test_page_names_the_line_beside_the_text_and_keeps_it(client):
    client.force_login(factories.user(role="run"))
    typed = {"format": "csv", "text": "address\nhttp://x\n", "username": "bench", "kind": "vps"}
    page = client.post("/hosts/import/", typed).content.decode()
    assert "Line 2: address: &#x27;http://x&#x27; is not a host name" in page
    assert "http://x\n</textarea>" in page
    added = client.post("/hosts/import/", typed | {"text": "address\n192.0.2.9\n"}, follow=True)
    assert (
        "Hosts added: 1, keys approved: 0, authorities: 0, unchanged: 0." in added.content.decode()
    )
    assert Host.objects.get().offer.kind == "vps"


INVENTORY = "web:\n  hosts:\n    rack-[1:2].example.org: {ansible_user: bench}\n"


def commanded(*arguments):
    out, err = StringIO(), StringIO()
    call_command("import_hosts", *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue()


def test_command_says_what_a_dry_run_would_do_and_then_does_it(
    queued, tmp_path, django_capture_on_commit_callbacks
):
    path = tmp_path / "site.yaml"
    path.write_text(INVENTORY)
    with django_capture_on_commit_callbacks() as callbacks:
        said = commanded(path, "--dry-run")
    assert "would be added: rack-1.example.org, bench@rack-1.example.org:22 (web)\n" in said
    assert said.endswith("would be added: 2, would be approved: 0, authorities: 0, unchanged: 0\n")
    assert (Host.objects.count(), callbacks) == (0, [])
    with django_capture_on_commit_callbacks(execute=True):
        done = json.loads(commanded(path, "--json", "--kind", "onprem"))
    assert done["added"] == ["rack-1.example.org", "rack-2.example.org"]
    assert (done["is_dry"], Host.objects.filter(tags=["web"]).count()) == (False, 2)
    # Both are asked for their keys.
    assert len(queued) == 2


def test_command_names_wrong_lines_and_asks_for_a_format(capsys, tmp_path):
    path = tmp_path / "hosts"
    path.write_text("a ansible_user=b\nb ansible_port=x\n")
    err = StringIO()
    with pytest.raises(CommandError, match="1 lines are wrong; nothing was stored"):
        call_command("import_hosts", str(path), stderr=err)
    assert err.getvalue() == "line 2: port: 'x' is not a whole number from 1 to 65535\n"
    path = path.rename(tmp_path / "list.txt")
    with pytest.raises(CommandError, match="--format is needed: csv, ansible"):
        commanded(path)
    path.write_text(f"192.0.2.1 {KEY}\n" + "#" * 2_000_000)
    with pytest.raises(CommandError, match="wrong"):
        commanded(path, "--format", "known_hosts")


def test_page_checks_a_list_without_storing_it(client):
    client.force_login(factories.user(role="run"))
    typed = {"format": "ansible", "text": INVENTORY, "username": "", "kind": "vps", "check": "1"}
    page = client.post("/hosts/import/", typed).content.decode()
    assert "To be added: 2, approved: 0, authorities: 0, unchanged: 0." in page
    assert "rack-2.example.org" in page
    assert not Host.objects.exists()


def test_exported_workbook_comes_back_and_changes_what_differs(operator, client, tmp_path, queued):
    factories.host(name="gate", address="192.0.2.1", tags=["db"])
    factories.host(name="rack", address="192.0.2.2")
    exported = operator.get(f"{API}/hosts.xlsx").content
    path = tmp_path / "hosts.xlsx"
    path.write_bytes(exported)
    out = StringIO()
    call_command("import_hosts", str(path), stdout=out)
    assert "added: 0, approved: 0, authorities: 0, unchanged: 2" in out.getvalue()
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    columns = {cell.value: cell.column for cell in sheet[1]}
    row = next(row for row in (2, 3) if sheet.cell(row, columns["name"]).value == "rack")
    sheet.cell(row, columns["port"]).value = 2222
    book.save(path)
    with path.open("rb") as file:
        done = operator.post(f"{API}/hosts/import", {"format": "csv", "file": file})
    assert done.status_code == 200, done.content
    host = Host.objects.get(name="rack")
    assert (done.json()["changed"], host.port) == ([str(host.pk)], 2222)
    sheet.cell(row, columns["port"]).value = 70_000
    book.save(path)
    client.force_login(factories.user(role="run"))
    with path.open("rb") as file:
        page = client.post("/hosts/import/", {"format": "csv", "kind": "dedicated", "file": file})
    assert f"Line {row}: port" in page.content.decode()
    damaged = client.post(
        f"{API}/hosts/import", {"format": "csv", "file": SimpleUploadedFile("x", exported[:900])}
    )
    assert "cannot be read" in damaged.json()["errors"][0]["detail"]
    neither = imported(operator, "csv", None)
    assert neither.json()["errors"][0]["field"] == "/text"


def test_hosts_of_a_tag_are_listed_and_ticked_for_a_campaign(client, operator):
    web = factories.host(name="rack 1", tags=["web", "db"])
    other = factories.host(name="rack 2", tags=["mail"])
    client.force_login(factories.user(role="run"))
    page = client.get("/hosts/?tag=web").content.decode()
    assert "rack 1" in page
    assert "rack 2" not in page
    assert "/campaigns/new/?tag=web" in page
    assert "No host has the tag none." in client.get("/hosts/?tag=none").content.decode()
    assert [one["id"] for one in operator.get(f"{API}/hosts?tag=db").json()["results"]] == [
        str(web.pk)
    ]
    form = client.get("/campaigns/new/?tag=web").content.decode()
    assert [one for one in (web, other) if _ticked(form, one)] == [web]


def _ticked(form, host):
    return re.search(rf'<input[^>]*value="{host.pk}"[^>]* checked', form) is not None
