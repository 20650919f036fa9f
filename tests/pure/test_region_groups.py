"""Groups of regions by country."""

from importlib.resources import files

import pytest

from backend.rankings.calc.region_groups import REGION_GROUPS, region_group


@pytest.mark.parametrize(
    ("country", "group"),
    [
        ("DE", "europe"),
        ("gb", "europe"),
        ("US", "north-america"),
        ("MX", "north-america"),
        ("BR", "south-america"),
        ("IN", "asia"),
        ("AE", "asia"),
        ("AU", "oceania"),
        ("ZA", "africa"),
        ("", None),
        ("ZZ", None),
    ],
)
def test_region_group_is_that_of_the_country(country, group):
    assert region_group(country) == group


def test_every_country_of_the_iso_list_has_a_group():
    table = files("tzdata").joinpath("zoneinfo/iso3166.tab").read_text()
    codes = [line.split("\t")[0] for line in table.splitlines() if not line.startswith("#")]
    assert len(codes) > 240
    assert {region_group(code) for code in codes} == set(REGION_GROUPS)
