"""Pages of prices after a contract: for who may write prices, whatever else the address asks for."""

from decimal import Decimal

import pytest

from backend.accounts.services.workspaces import default_workspace
from backend.catalog.services.discounts import discount_create
from tests import factories
from tests.frontend.rows import published

pytestmark = pytest.mark.django_db
PATHS = (
    "/?basis=contract&period=hour", "/offers/?basis=contract&period=hour",
    "/offers/?basis=contract&period=hour&provider=aws", "/offers/?basis=contract&term=spot",
    "/offers/?basis=contract,disk&provider=nobody", "/offers/?basis=contract&vcpu__gte=999",
    "/offers/cheap/?basis=contract&period=hour", "/compare/?o=cheap,dear&basis=contract",
    "/frontier/?basis=contract", "/requirements/?vcpu=1&basis=contract", "/data/?basis=contract",
)  # fmt: skip
SHOWN = PATHS[:3]


@pytest.fixture(autouse=True)
def contract():
    published("cheap", 100.0, "0.1", vcpu_count=2)
    published("dear", 100.0, "0.2", vcpu_count=2)
    discount_create(
        workspace=default_workspace(),
        provider="aws",
        service="compute",
        percent=Decimal(12),
        actor="tester",
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("role", ["write", "read"])
def test_page_answers_and_shows_a_contract_to_those_who_may_see_it(client, path, role):
    client.force_login(factories.user(role=role))
    page = client.get(path, follow=True)
    assert page.status_code == 200
    shown = "0.088" in page.content.decode()
    assert shown == (role == "write") if path in SHOWN else not (shown and role == "read")


def test_report_freezes_no_prices_of_a_contract(client):
    client.force_login(factories.user(role="write"))
    path = "/reports/new/?basis=contract"
    page = client.post(path, {"title": "Ours", "note": "", "top": "10"})
    assert "prices of a contract are not frozen" in page.content.decode()
