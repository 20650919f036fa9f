"""Types whose CPUs are burstable by the provider's own naming."""

from decimal import Decimal

import pytest

from backend.money.money import Money
from backend.providers.aws import credit_surcharge
from backend.providers.registry import provider


@pytest.mark.parametrize(
    ("slug", "name", "kind"),
    [
        ("azure", "Standard_B1s", "burstable"),
        ("azure", "Standard_B2ms", "burstable"),
        ("azure", "Standard_B4as_v2", "burstable"),
        ("azure", "Standard_B2pls_v2", "burstable"),
        ("azure", "Basic_A1", "dedicated"),
        ("azure", "Standard_A0", "shared"),
        ("azure", "Basic_A0", "shared"),
        ("azure", "Standard_A10", "dedicated"),
        ("scaleway", "STARDUST1-S", "shared"),
        ("scaleway", "PRO2-XXS", "shared"),
        ("scaleway", "POP2-2C-8G", ""),
        ("azure", "Standard_D2s_v3", "dedicated"),
        ("alicloud", "ecs.t6-c1m2.large", "burstable"),
        ("alicloud", "ecs.g7.large", ""),
        ("nobody-knows", "B1s", ""),
    ],
)
def test_burstable_types_are_known_by_their_names(slug, name, kind):
    """W18: Azure's price list tells no kind, so the B series had the spread of dedicated CPUs."""
    assert provider(slug).vcpu_kind_of(name) == kind


@pytest.mark.parametrize(
    ("name", "amount"), [("t3.micro", "0.05"), ("t2.large", "0.05"), ("t4g.small", "0.04")]
)
def test_surcharge_of_ec2_is_a_price_for_each_vcpu_and_hour(name, amount):
    assert credit_surcharge(name) == Money(Decimal(amount), "USD")
