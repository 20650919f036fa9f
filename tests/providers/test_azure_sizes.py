"""vCPUs and memory of Azure's sizes by their names."""

from decimal import Decimal

import pytest

from backend.foundation.units import BYTES_PER_GIB
from backend.providers.azure.sizes import size_figures


@pytest.mark.parametrize(
    ("name", "vcpus", "gib"),
    [
        ("D4s_v5", 4, 16),
        ("D96ads_v5", 96, 384),
        ("D4ls_v5", 4, 8),
        ("D64ps_v5", 64, 208),
        ("E20_v5", 20, 160),
        ("E8-4as_v5", 4, 64),
        ("E64s_v4", 64, 504),
        ("E104ids_v5", 104, 672),
        ("FX12mds", 12, 252),
        ("DC48ds_v3", 48, 384),
        ("HB120-64rs_v3", 64, 448),
        ("M8-2ms", 2, 218.75),
    ],
)
def test_azure_size_has_cpus_and_memory_by_name(name, vcpus, gib):
    assert size_figures(f"Standard_{name}") == {
        "vcpu_count": Decimal(vcpus),
        "memory_bytes": gib * BYTES_PER_GIB,
    }


@pytest.mark.parametrize(
    "name", ["Standard_D3_v2", "Standard_E96s_v9", "Standard_X1", "Standard_E128s_v6", "D4s_v5", ""]
)
def test_azure_size_that_no_rule_covers_is_left_open(name):
    assert size_figures(name) == {}
