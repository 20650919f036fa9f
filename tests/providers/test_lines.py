"""Every line that the shipped tables list has a name for people."""

import csv
import gzip
from pathlib import Path

import pytest

from backend.providers.registry import PROVIDERS, provider

CATALOG = Path(__file__).parents[2] / "fixtures" / "catalog"


def shipped():
    for path in [*CATALOG.glob("offers_*.csv"), *CATALOG.glob("*/offers.csv.gz")]:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                yield row["provider"], row.get("name") or row["offer"], row["vcpu_kind"]


def test_every_shipped_offer_belongs_to_a_line():
    nameless = {(slug, name) for slug, name, _ in shipped() if not provider(slug).line_of(name)}
    assert nameless == set()


def test_line_that_names_a_kind_of_vcpus_has_no_offer_of_another():
    kinds = {(slug, provider(slug).line_of(name), kind) for slug, name, kind in shipped()}
    assert not any("shared vCPUs" in line and kind == "dedicated" for _, line, kind in kinds)
    assert not any("edicated" in line and kind == "shared" for _, line, kind in kinds)


@pytest.mark.parametrize(
    ("slug", "name", "line"),
    [
        ("aws", "m5.large", "general purpose"),
        ("aws", "mac1.metal", ""),
        ("azure", "Standard_DC4s_v3", "general purpose, confidential"),
        ("azure", "Standard_DS3_v2", "general purpose"),
        ("azure", "Standard_E4as_v5", "memory optimized"),
        ("gcp", "c4a-standard-4", "general purpose, fast"),
        ("hetzner", "ccx23", "cloud, dedicated vCPUs"),
        ("hetzner", "cx23", "cloud, shared vCPUs"),
        ("ovh", "24rise01", "Rise server"),
        ("ovh", "b3-8", "Public Cloud, general purpose"),
        ("scaleway", "EM-A116X-SSD", "Elastic Metal Aluminium"),
        ("digitalocean", "so1_5-2vcpu-16gb", "Storage-Optimized Droplet"),
        ("digitalocean", "s-1vcpu-1gb", "Basic Droplet, shared vCPUs"),
        ("netcup", "vps-1000-arm-g11", "VPS on Arm, shared vCPUs"),
    ],
)
def test_line_of_an_offer_is_the_first_whose_pattern_matches(slug, name, line):
    assert PROVIDERS[slug].line_of(name) == line


def test_pattern_of_a_line_is_reached_by_its_own_offers():
    names = {}
    for slug, name, _ in shipped():
        names.setdefault(slug, set()).add(provider(slug).line_of(name))
    # A line that never matches would be hidden by one before it.
    hidden = {slug: set(PROVIDERS[slug].lines.values()) - names[slug] for slug in names}
    allowed = {
        "Bare Metal",
        "Developer plan",
        "High CPU plan",
        "High Memory plan",
        "General Purpose plan",
        "with accelerator",
    }
    assert set().union(*hidden.values()) <= allowed
