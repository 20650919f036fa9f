"""`manage.py demo load|remove`."""

import datetime as dt
import json
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from backend.benchmarks.models import Sample
from backend.benchmarks.services.demo import demo_load
from backend.catalog.models import Offer, PriceObservation, Provider
from backend.catalog.selectors.data_version import data_version
from backend.domain.errors import InvalidValue
from tests import factories

pytestmark = pytest.mark.django_db


def counts(action: str) -> dict[str, int]:
    out = StringIO()
    call_command("demo", action, "--json", stdout=out)
    found: dict[str, int] = json.loads(out.getvalue())
    return found


def test_load_fills_every_table_and_a_second_load_adds_nothing() -> None:
    first = counts("load")
    assert first["offers"] == 455 + 217 + 17 + 3
    assert first["prices"] == 1790 + 188 + 217 + 17 + 2 * 3
    assert first["samples"] == 455 + 17 + 3
    version = data_version()
    assert set(counts("load").values()) == {0}
    assert data_version() == version


def test_load_keeps_figures_with_their_source_and_day() -> None:
    counts("load")
    sample = Sample.objects.get(offer__slug="gcp-n2-standard-2-us-central1")
    assert sample.value == 34735.0
    assert sample.published_sd_ratio == pytest.approx(0.0053)
    assert sample.parameters == {"cpu_platform": "Ice Lake"}
    assert sample.measured_at == dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    offer = Offer.objects.get(slug="ovh-eg-24g-2013")
    assert (offer.memory_bytes, offer.vcpu_count) == (24 * 2**30, None)
    assert PriceObservation.objects.get(offer=offer).purchase_model == "monthly"


def test_load_leaves_a_changed_row_as_it_is() -> None:
    counts("load")
    Offer.objects.filter(slug="ovh-eg-24g-2013").update(note="checked by hand")
    counts("load")
    assert Offer.objects.get(slug="ovh-eg-24g-2013").note == "checked by hand"


def test_remove_takes_the_demo_and_leaves_what_was_measured() -> None:
    counts("load")
    own = factories.offer("own-rack", provider_slug="own")
    measured = Offer.objects.get(slug="aws-c6a-large-us-east-1")
    factories.sample(measured, 5.0)
    hosted = Offer.objects.get(slug="aws-c6a-xlarge-us-east-1")
    factories.host(hosted)
    gone = counts("remove")
    assert gone["offers"] == 692 - 2
    assert set(Offer.objects.all()) == {own, measured, hosted}
    assert measured.prices.count() == 1
    assert Provider.objects.filter(slug="gcp").exists()
    assert counts("load")["offers"] == 690


def test_a_missing_table_is_one_line_and_loads_nothing(
    tmp_path: Path, settings: LazySettings
) -> None:
    folder = tmp_path / "fixtures"
    shutil.copytree(settings.FIXTURE_DIR, folder)
    (folder / "published" / "cmips_2013.csv").unlink()
    settings.FIXTURE_DIR = folder
    with pytest.raises(CommandError, match=r"cmips_2013\.csv is missing"):
        call_command("demo", "load")
    assert not Provider.objects.exists()


def test_two_scores_of_one_machine_type_are_refused(tmp_path: Path, settings: LazySettings) -> None:
    folder = tmp_path / "fixtures"
    shutil.copytree(settings.FIXTURE_DIR, folder)
    table = folder / "published" / "coremark_gcp.csv"
    table.write_text(table.read_text() + table.read_text().splitlines()[1] + "\n")
    with pytest.raises(InvalidValue, match="n2-standard-2 has more than one"):
        demo_load(folder)
