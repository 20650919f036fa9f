"""The records of the providers: one folder each, and what the rest of the product asks of them."""

import importlib.util
import re
from pathlib import Path

import pytest

from backend import providers
from backend.catalog.models import OfferKind
from backend.foundation.errors import InvalidValue
from backend.providers import base
from backend.providers.price_feeds import HOUR_S
from backend.providers.registry import PROVIDERS, feed_kind, feed_kinds, module, provider

FOLDER = Path(providers.__path__[0])
SLUGS = sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))
TESTS_ONLY = {"fake"}


def test_registry_has_a_record_for_every_folder_when_listed():
    assert sorted(PROVIDERS.keys() - TESTS_ONLY) == SLUGS
    assert all(record.slug == slug for slug, record in PROVIDERS.items())


@pytest.mark.parametrize("slug", SLUGS)
def test_modules_of_a_provider_exist_when_its_record_needs_them(slug):
    record = provider(slug)
    assert (importlib.util.find_spec(module(slug, "driver")) is not None) == record.rents_machines
    assert (importlib.util.find_spec(module(slug, "fetch")) is not None) == bool(record.feeds)
    assert bool(record.auth_methods) == record.rents_machines


def test_every_provider_but_the_source_of_rates_sells_machines():
    assert [slug for slug, record in PROVIDERS.items() if not record.sells_machines] == ["ecb"]


@pytest.mark.parametrize("slug", SLUGS)
def test_record_is_sound_when_read(slug):
    record = provider(slug)
    assert re.fullmatch("[a-z][a-z0-9-]{0,49}", record.slug)
    assert record.kind in OfferKind.values
    for colour in filter(None, (record.colour, record.dark_colour)):
        assert re.fullmatch("#[0-9a-f]{6}", colour)
    assert len({feed.kind for feed in record.feeds}) == len(record.feeds)
    assert all(feed.documents or feed.are_rates for feed in record.feeds)
    assert not record.example_region or record.region.fullmatch(record.example_region)


def test_points_of_two_providers_differ_in_colour_shape_or_filling():
    styles = [
        (record.colour, record.shape, record.is_hollow)
        for record in PROVIDERS.values()
        if record.colour
    ]
    assert len(set(styles)) == len(styles)


def test_provider_without_a_folder_has_the_defaults_when_asked():
    record = provider("hosting-mueller")
    assert (record.name, record.kind) == ("Hosting mueller", base.MachineKind.VPS)
    assert record.family_of("m5.large") == "m5.large"
    with pytest.raises(KeyError):
        module("hosting-mueller", "fetch")


def test_feed_kinds_of_a_provider_are_listed_and_others_refused_by_name():
    assert {kind.kind for kind in feed_kinds("aws")} == {"on_demand", "savings", "products", "spot"}
    assert feed_kind("aws", "spot").every_s == HOUR_S
    with pytest.raises(InvalidValue, match=r"/provider: 'rackspace' is not one of aws, azure, di"):
        feed_kinds("rackspace")
    with pytest.raises(InvalidValue, match="/kind: 'fx' is not one of on_demand, products"):
        feed_kind("aws", "fx")


@pytest.mark.parametrize(
    ("slug", "name", "expected"),
    [
        ("aws", "m5.large", "m5"),
        ("azure", "Standard_D2s_v3", "Standard_D"),
        ("azure", "odd", "odd"),
        ("digitalocean", "s-1vcpu-1gb", "s"),
        ("digitalocean", "so1_5-2vcpu-16gb", "so1_5"),
        ("gcp", "n2-standard-4", "n2"),
        ("hetzner", "cpx21", "cpx"),
        ("linode", "g6-dedicated-2", "g6-dedicated"),
        ("other", "any", "any"),
    ],
)
def test_family_is_the_part_of_the_name_that_types_share(slug, name, expected):
    assert provider(slug).family_of(name) == expected


def test_whole_servers_have_longer_to_boot():
    aws, gcp, hetzner = (provider(slug) for slug in ("aws", "gcp", "hetzner"))
    limits = [
        (aws, "c7i.metal-24xl"), (aws, "c7i.large"), (gcp, "c3-standard-192-metal"),
        (gcp, "c3-standard-4"), (hetzner, "cx22"),
    ]  # fmt: skip
    assert [one.boot_limit_s(name, 900) for one, name in limits] == [2700, 900, 2700, 900, 900]
