"""Regions of providers are in the part of the world that their names say."""

import pytest

from backend.bills.calc.region_names import group_by_name

# Regions as AWS, Azure and Google name them.
REGIONS = {
    "oceania": "ap-southeast-2 ap-southeast-4 ap-southeast-6 australiaeast newzealandnorth "
    "australia-southeast1",
    "south-america": "sa-east-1 brazilsouth chilecentral southamerica-east1",
    "africa": "af-south-1 southafricanorth africa-south1",
    "asia": "cn-north-1 chinaeast taiwannorth malaysiawest indonesiacentral "
    "ap-southeast-1 ap-southeast-3 ap-northeast-1 me-central-1 il-central-1 eastasia "
    "southeastasia japaneast koreacentral centralindia uaenorth qatarcentral asia-east1 me-west1",
    "europe": "eu-central-1 westeurope uksouth francecentral germanywestcentral norwayeast "
    "swedencentral switzerlandnorth polandcentral italynorth spaincentral austriaeast EU "
    "europe-west3",
    "north-america": "mx-central-1 us-east-1 ca-central-1 eastus2 westus centralus canadacentral mexicocentral "
    "us-central1 northamerica-northeast1",
}


@pytest.mark.parametrize(
    ("region", "group"),
    [(region, group) for group, regions in REGIONS.items() for region in regions.split()],
)
def test_region_is_in_the_part_of_the_world_of_its_name(region, group):
    assert group_by_name(region) == group


@pytest.mark.parametrize("region", ["", "global", "fsn1", "prometheus-2x"])
def test_region_whose_name_says_nothing_is_nowhere(region):
    assert group_by_name(region) is None
