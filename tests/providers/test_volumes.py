"""The disks that are rented with machines, as their figures name them."""

import pytest

from backend.providers import azure
from backend.providers.base import Volume
from backend.providers.gcp import volume


@pytest.mark.parametrize(
    ("rented", "text"),
    [
        (Volume("gp3", 20), "gp3 20 GiB"),
        (Volume("gp3", 20, iops=3000, mib_per_s=125), "gp3 20 GiB 3000 IOPS 125 MiB/s"),
        (Volume("gp3", 20, mib_per_s=125), "gp3 20 GiB 125 MiB/s"),
    ],
)
def test_volume_is_named_with_its_limits(rented, text):
    assert str(rented) == text


@pytest.mark.parametrize(
    ("machine_type", "kind"),
    [
        ("c4-standard-8", "hyperdisk-balanced"),
        ("c3-standard-8", "pd-balanced"),
        ("c3-standard-192-metal", "hyperdisk-balanced"),
        ("a3-ultragpu-8g", "hyperdisk-balanced"),
        ("a3-highgpu-8g", "pd-balanced"),
        ("n2-standard-4", "pd-balanced"),
        ("f1-micro", "pd-balanced"),
        ("m3-ultramem-32", "pd-balanced"),
        ("z3-highmem-8-highlssd", "pd-balanced"),
        # Fourth generation and newer (Z4D and Z4M since 2026): nobody has to list them here.
        ("z4d-highmem-8-standardlssd", "hyperdisk-balanced"),
        ("z4m-highmem-192", "hyperdisk-balanced"),
        ("u4s-standard-4", "hyperdisk-balanced"),
        ("n5-standard-2", "hyperdisk-balanced"),
        ("a4x-maxgpu-4g-metal", "hyperdisk-balanced"),
        ("e12-small", "hyperdisk-balanced"),
    ],
)
def test_boot_disk_of_google_is_one_that_the_family_takes(machine_type, kind):
    assert volume(machine_type).type == kind


def test_every_size_of_azure_has_the_disk_that_any_takes():
    assert str(azure.volume("Standard_D2s_v5")) == "StandardSSD_LRS 32 GiB"


@pytest.mark.parametrize(
    ("rented", "is_small"),
    [
        (Volume("pd-balanced", 99), True),
        (Volume("pd-balanced", 100), False),
        (Volume("gp3", 20, iops=3000), False),
    ],
)
def test_volume_is_small_where_its_size_holds_it_back(rented, is_small):
    assert rented.is_small is is_small
