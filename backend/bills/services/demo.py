"""The demo's bill: the public sample under fixtures/bills, kept like any other bill."""

import hashlib
from pathlib import Path

from django.db import transaction

from backend.accounts.services.workspaces import default_workspace
from backend.bills.models import EXAMPLE_ACTOR, Bill
from backend.bills.services.bills import bill_delete
from backend.bills.services.importing import BillFile, bill_import

NAME = "Example: FOCUS sample"
SAMPLE = "bills/focus/focus_1_0_sample.csv"


@transaction.atomic
def demo_bill_load(folder: Path) -> int:
    """Import it unless it is there already, whoever did; how many are new."""
    path = folder / SAMPLE
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    workspace = default_workspace()
    if Bill.objects.filter(workspace=workspace, sha256=sha256).exists():
        return 0
    file = BillFile(path.name, lambda: path.open("rb"))
    bill_import(workspace=workspace, name=NAME, files=[file], actor=EXAMPLE_ACTOR)
    return 1


@transaction.atomic
def demo_bill_remove() -> int:
    """Delete it again; how many are gone."""
    own = Bill.objects.filter(workspace=default_workspace(), created_by=EXAMPLE_ACTOR)
    for bill in (gone := list(own)):
        bill_delete(bill=bill, actor=EXAMPLE_ACTOR)
    return len(gone)
