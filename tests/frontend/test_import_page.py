"""Results brought along: read first, stored then, and found again as evidence."""

import hashlib
import re
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from backend.benchmarks.models import Evidence, Run, Sample, Source
from backend.benchmarks.pages.imports.examples import EXAMPLES
from backend.benchmarks.selectors.archive import run_archive
from backend.catalog.models import Offer
from backend.measure.readers.importing import TOOLS, read_text
from tests import factories
from tests.backend.test_archive import finished_run, gone
from tests.frontend.rows import measured_offer

pytestmark = pytest.mark.django_db

PROBES = Path(__file__).parents[2] / "fixtures" / "probes"


@pytest.fixture
def analyst(client):
    """A client signed in as an analyst."""
    client.force_login(factories.user(role="write", username="ada"))
    return client


@pytest.fixture
def offer() -> Offer:
    return factories.offer("own-rack", provider_slug="own", kind="dedicated", name="rack")


def fixture(name: str) -> str:
    return (PROBES / name).read_text()


def fields(**given) -> dict[str, object]:
    return {
        "tool": "sysbench",
        "offer": "own-rack",
        "text": fixture("sysbench-1.0.20-cpu.txt"),
        "direction": "",
        "conditions": "",
        "file_mib": "",
        "ram_gib": "",
        **given,
    }


def text_of(answer, status=200) -> str:
    assert answer.status_code == status
    return answer.content.decode()


def test_import_page_shows_what_it_read_and_stores_nothing(analyst, offer):
    text = text_of(analyst.post("/import/", fields(preview="1")))
    assert "Read: 1 figure for rack, sysbench 1.0.20" in text
    assert "sysbench CPU" in text
    assert '<button form="import-form" name="store" value="1">' in text
    assert not Sample.objects.exists()
    assert "sysbench 1.0.20 (using system LuaJIT" in text  # the text stays in the form


def test_import_page_stores_and_leads_to_the_evidence(analyst, offer):
    answer = analyst.post("/import/", fields(store="1"))
    evidence = Evidence.objects.get()
    assert answer.headers["Location"] == f"/evidence/{evidence.pk}/"
    sample = Sample.objects.get()
    assert (sample.offer, sample.source, sample.evidence) == (offer, Source.IMPORTED, evidence)
    page = text_of(analyst.get(f"/evidence/{evidence.pk}/"))
    assert "by ada" in page
    assert evidence.sha256 in page
    assert "Prime numbers limit" in page
    assert f'href="/evidence/{evidence.pk}/">imported text</a>' in text_of(
        analyst.get("/offers/own-rack/")
    )


def test_pasted_lines_are_stored_as_the_file_has_them(analyst, offer):
    content = fixture("sysbench-1.0.20-cpu.txt")
    analyst.post("/import/", fields(text=content.replace("\n", "\r\n"), store="1"))
    assert Evidence.objects.get().sha256 == hashlib.sha256(content.encode()).hexdigest()


def test_uploaded_file_is_read_and_comes_back_in_the_form(analyst, offer):
    upload = SimpleUploadedFile("cpu.txt", fixture("sysbench-1.0.20-cpu.txt").encode())
    text = text_of(analyst.post("/import/", fields(text="", file=upload, preview="1")))
    assert "Read: 1 figure" in text
    area = re.search(r'<textarea name="text"[^>]*>(.*?)</textarea>', text, re.DOTALL)
    assert area is not None
    assert "Prime numbers limit" in area[1]


def test_dd_with_its_conditions_is_read_as_disk_speed(analyst, offer):
    given = fields(
        tool="dd",
        text=fixture("dd-gnu-9.1-progress.txt"),
        direction="write",
        conditions="direct",
        source="random",
        ram_gib="8",
        preview="1",
    )
    text = text_of(analyst.post("/import/", given))
    assert "Disk, sequential write" in text
    assert "not ranked" not in text


def test_dd_without_conditions_warns_that_it_takes_no_rank(analyst, offer):
    text = text_of(
        analyst.post("/import/", fields(tool="dd", text=fixture("dd-gnu-9.1-progress.txt")))
    )
    assert "takes no rank" in text
    assert "conditions unknown" in text
    assert "not ranked" in text


def test_memory_of_the_offer_counts_where_none_is_stated(analyst, offer):
    Offer.objects.filter(pk=offer.pk).update(memory_bytes=2**40)
    given = fields(tool="bonnie", text=fixture("bonnie-2.00a.txt"), preview="1")
    assert "the file is smaller than twice the memory" in text_of(
        analyst.post("/import/", given)
    ).replace("The file", "the file")


@pytest.mark.parametrize(
    ("given", "field", "told"),
    [
        ({"text": ""}, "text", "Paste the output"),
        ({"text": "nonsense"}, "text", "line 1"),
        ({"tool": "iperf3", "text": "{"}, "text", "iperf3"),
        ({"tool": "elsewhere"}, "tool", "valid choice"),
        ({"offer": "nobody"}, "offer", "No offer is called"),
        ({"offer": ""}, "offer", "required"),
        ({"ram_gib": "much"}, "ram_gib", "number"),
        ({"tool": "dd", "conditions": "direct"}, "direction", "write or read"),
    ],
)
def test_import_page_says_what_is_wrong_beside_the_field(analyst, offer, given, field, told):
    text = text_of(analyst.post("/import/", fields(**given, store="1")))
    shown = re.search(rf'id="{field}_error">([^<]*)<', text)
    assert shown is not None
    assert told in shown[1]
    assert not Evidence.objects.exists()


def test_binary_file_is_refused_with_the_byte(analyst, offer):
    upload = SimpleUploadedFile("cpu.bin", b"abc\xff\xfe")
    text = text_of(analyst.post("/import/", fields(text="", file=upload, store="1")))
    assert "byte 4 cannot be read" in text


def test_text_that_is_stored_already_is_an_error(analyst, offer):
    analyst.post("/import/", fields(store="1"))
    text = text_of(analyst.post("/import/", fields(store="1")))
    assert "already imported for own-rack" in text
    assert Evidence.objects.count() == 1


@pytest.mark.parametrize("role", [None, "read"])
def test_only_analysts_import_and_leave_out(client, offer, role):
    if role:
        client.force_login(factories.user(role=role))
    assert client.post("/import/", fields(store="1")).status_code == 403
    assert client.post("/import/run/", {}).status_code == 403
    sample = factories.sample(offer, 1.0)
    assert client.post(f"/samples/{sample.pk}/exclude/", {"reason": "x"}).status_code == 403
    assert 'id="import-form"' not in text_of(client.get("/import/"))


def test_name_that_one_offer_has_is_enough(analyst, offer):
    assert "Read: 1 figure for rack" in text_of(analyst.post("/import/", fields(offer="Rack")))
    factories.offer("own-rack-2", provider_slug="own", kind="dedicated", name="rack")
    assert "No offer is called" in text_of(analyst.post("/import/", fields(offer="rack")))


def test_every_tool_has_an_example_and_what_is_shown_can_be_imported():
    assert tuple(EXAMPLES) == TOOLS
    outputs = {tool: one.output for tool, one in EXAMPLES.items() if one.output}
    assert len(outputs) == 7
    assert all(read_text(tool, text, None).samples for tool, text in outputs.items())


def test_offers_are_completed_from_what_is_typed(analyst, offer):
    factories.offer("aws-m5-large", name="m5.large")
    assert 'value="aws-m5-large"' in text_of(analyst.get("/import/offers/?offer=large+m5"))
    assert 'value="aws-m5-large"' in text_of(analyst.get("/import/offers/?run_offer=m5"))
    assert 'value="own-rack"' in text_of(analyst.get("/import/offers/"))
    assert 'value="own-rack"' in text_of(analyst.get("/import/?offer=own-rack"))


# --- a figure left out ----------------------------------------------------------------------------


def test_figure_is_left_out_with_a_reason_and_counted_again(analyst, offer):
    analyst.post("/import/", fields(store="1"))
    sample = Sample.objects.get()
    page = f"/evidence/{sample.evidence_id}/"
    assert f'id="reason-{sample.pk}"' in text_of(analyst.get(page))
    path = f"/samples/{sample.pk}/exclude/"
    answer = analyst.post(path, {"reason": "the wrong machine"})
    assert answer.headers["Location"] == f"{page}#samples"
    sample.refresh_from_db()
    assert sample.excluded_reason == "the wrong machine"
    text = text_of(analyst.get(page))
    assert "the wrong machine" in text
    analyst.post(path, {"include": "1"})
    sample.refresh_from_db()
    assert sample.excluded_reason == ""


def test_figure_is_not_left_out_without_a_reason(analyst, offer):
    sample = factories.sample(offer, 1.0)
    text = text_of(analyst.post(f"/samples/{sample.pk}/exclude/", {"reason": " "}, follow=True))
    assert "Not done:" in text
    sample.refresh_from_db()
    assert sample.excluded_reason == ""


# --- evidence by its number -----------------------------------------------------------------------


def test_evidence_of_a_run_leads_to_its_page(client):
    rows = measured_offer()
    answer = client.get(f"/evidence/{rows.evidence.pk}/")
    assert answer.headers["Location"] == f"/runs/{rows.run.pk}/evidence/0/"
    assert client.get("/evidence/999999/").status_code == 404


# --- a whole run ----------------------------------------------------------------------------------


def test_damaged_archive_is_refused_beside_its_field(analyst, offer):
    upload = SimpleUploadedFile("run.json.gz", b"\x1f\x8b no archive")
    text = text_of(analyst.post("/import/run/", {"run_offer": "own-rack", "archive": upload}))
    assert re.search(r'id="archive_error">[^<]+<', text)
    assert not Run.objects.exists()


def test_archive_of_a_run_is_taken_in_once(analyst, offer):
    run = finished_run()
    content = run_archive(run)
    gone(run)

    def sent(slug: str):
        upload = SimpleUploadedFile("run.json", content)
        return analyst.post("/import/run/", {"run_offer": slug, "archive": upload})

    assert "No offer is called" in text_of(sent("nobody"))
    assert sent("own-rack").headers["Location"] == f"/runs/{run.pk}/"
    assert "Figures" in text_of(analyst.get(f"/runs/{run.pk}/"))
    assert "is already here" in text_of(sent("own-rack"))
