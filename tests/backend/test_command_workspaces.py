"""Commands act in the workspace that `--workspace` names, and see no other one's objects."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from backend.accounts.models import Workspace
from backend.benchmarks.models import Host, Run
from backend.bills.models import Bill
from backend.catalog.models import Offer
from tests import factories
from tests.backend import campaigns
from tests.backend.api_world import DD

pytestmark = pytest.mark.django_db
LAB = ("--workspace", "lab")
BILL = "type,hours,cost,month,currency\nm5.large,730,70,2026-10,USD\n"
OFFERS = (
    "provider,offer,kind,vcpu,ram_gib,amount,currency,unit\nHosty,H1,dedicated,4,16,30,EUR,month\n"
)


@pytest.fixture(autouse=True)
def lab(queued: list[object]) -> Workspace:
    factories.workspace()
    return Workspace.objects.create(slug="lab", name="Laboratory")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "given.csv"


def said(*words: object) -> str:
    out = io.StringIO()
    call_command(*map(str, words), stdout=out)
    return out.getvalue()


def test_hosts_are_imported_into_the_named_workspace(file: Path, lab: Workspace) -> None:
    file.write_text("address\n192.0.2.77\n")
    shown = said("import_hosts", file, "--user", "bench", *LAB)
    assert "added: 1" in shown
    assert Host.objects.get().workspace == lab


def test_bill_belongs_to_the_named_workspace(file: Path, lab: Workspace) -> None:
    file.write_text(BILL)
    said("import_bill", file, *LAB)
    assert Bill.objects.get().workspace == lab


def test_offers_of_a_table_belong_to_the_named_workspace(file: Path, lab: Workspace) -> None:
    file.write_text(OFFERS)
    said("import_offers", file, *LAB)
    assert Offer.objects.get().workspace == lab


def test_results_are_of_offers_that_the_workspace_sees(file: Path, lab: Workspace) -> None:
    file.write_text(DD)
    offer = factories.offer("ours", workspace=lab)
    words = ("import_results", file, "--tool", "dd", "--offer", "ours")
    with pytest.raises(CommandError, match="no offer is called 'ours'"):
        said(*words)
    said(*words, *LAB)
    assert offer.samples.exists()


def test_file_of_a_setup_is_of_the_named_workspace(file: Path, lab: Workspace) -> None:
    file.write_text("hosts:\n  - name: gate\n    address: 192.0.2.9\n    username: bench\n")
    said("apply", file, *LAB)
    assert Host.objects.get().workspace == lab
    assert "192.0.2.9" in said("export_config", *LAB)
    assert "192.0.2.9" not in said("export_config")


def test_runs_of_the_named_workspace_are_listed_and_ended(lab: Workspace) -> None:
    run = factories.run(factories.host(workspace=lab))
    assert json.loads(said("runs", "list", "--json")) == []
    assert str(run.pk) in said("runs", "list", *LAB)
    with pytest.raises(CommandError, match="no run has an identifier"):
        said("runs", "cancel", run.pk)
    said("runs", "cancel", run.pk, *LAB)
    ended = Run.objects.get()
    assert ended.is_cancel_requested or ended.is_finished


def test_campaign_of_another_workspace_is_not_found(lab: Workspace) -> None:
    made = campaigns.campaign(factories.host(workspace=lab))
    assert made.name in said("campaign", "status", made.name, *LAB)
    with pytest.raises(CommandError, match="no campaign"):
        said("campaign", "status", made.name)


def test_host_of_another_workspace_is_not_measured(lab: Workspace) -> None:
    factories.host(workspace=lab, name="box")
    with pytest.raises(CommandError, match="box"):
        said("benchmark", "box")
    assert not Run.objects.exists()


def test_workspace_that_is_not_there_is_said(file: Path) -> None:
    file.write_text("address\n192.0.2.77\n")
    with pytest.raises(CommandError, match="no workspace is called 'none'"):
        said("import_hosts", file, "--workspace", "none")
    assert not Host.objects.exists()
