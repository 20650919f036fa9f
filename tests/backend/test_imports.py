"""Results that somebody brings along: service, API, command, and what the ranking says of them."""

import gzip
import hashlib
import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.benchmarks.models import Evidence, Sample
from backend.benchmarks.services import imports
from backend.benchmarks.services.imports import AlreadyImported, result_import, sample_exclude
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import DataVersion, Offer
from backend.foundation.errors import InvalidValue
from backend.measure.metrics import METRICS
from backend.rankings.selectors.scores import scores
from tests import factories
from tests.backend.conftest import API, fields

pytestmark = pytest.mark.django_db

GIB = 1024**3
PROBES = Path(__file__).parents[2] / "fixtures" / "probes"
DD = "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s\n"
BONNIE = "ssd,44G,,,181336,30,106424,29,,,251624,26,6479.9,24,,,,,,,,,,,,,\n"


def recorded(name: str) -> str:
    return (PROBES / f"{name}.txt").read_text(encoding="utf-8")


@pytest.fixture
def offer(db: None) -> Offer:
    return factories.offer("aws-m5-large")


def imported(
    offer: Offer, text: str = DD, *, tool: str = "dd", **parameters: Any
) -> imports.Import:
    return result_import(
        workspace=factories.workspace(),
        offer=offer,
        tool=tool,
        text=text,
        parameters=parameters or None,
        actor="ann",
    )


def post(client: Client, **changes: Any) -> Any:
    document = {"offer": "aws-m5-large", "tool": "dd", "text": DD, **changes}
    return client.post(
        f"{API}/results/import", json.dumps(document), content_type="application/json"
    )


# --- service ----------------------------------------------------------------------------------


def test_import_keeps_the_text_and_its_samples(offer: Offer) -> None:
    made = imported(offer, direction="write", conditions="direct")
    evidence = Evidence.objects.get()
    assert (evidence.run, evidence.offer, evidence.probe, evidence.n) == (None, offer, "dd", 1)
    assert gzip.decompress(bytes(evidence.raw_gzip)) == DD.encode()
    assert evidence.sha256 == hashlib.sha256(DD.encode()).hexdigest()
    assert evidence.size_bytes == len(DD)
    assert evidence.conditions == {"direction": "write", "conditions": "direct"}
    sample = Sample.objects.get()
    assert [sample] == list(made.samples)
    assert (sample.source, sample.run, sample.host, sample.evidence) == (
        "imported",
        None,
        None,
        evidence,
    )
    assert (sample.metric, sample.variant, sample.value) == (
        "disk_write_bytes_per_s",
        "dd_direct",
        2 * GIB,
    )


def test_import_is_audited_and_counts_up_the_data_version(offer: Offer) -> None:
    before = DataVersion.objects.get_or_create(pk=1)[0].number
    made = imported(offer)
    assert DataVersion.objects.get().number == before + 1
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor) == ("result_import", "ann")
    assert (entry.object_type, entry.object_id) == ("evidence", str(made.evidence.pk))
    assert entry.detail["offer"] == "aws-m5-large"


def test_import_is_refused_when_the_offer_has_the_text(offer: Offer) -> None:
    first = imported(offer)
    with pytest.raises(AlreadyImported, match=rf"already imported .* evidence {first.evidence.pk}"):
        imported(offer, direction="write")
    assert Sample.objects.count() == 1
    imported(factories.offer("aws-m5-xlarge"))
    assert Evidence.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_import_of_one_text_twice_at_once_keeps_one() -> None:
    offer = factories.offer("aws-m5-large")

    def one(_: int) -> bool:
        try:
            imported(offer)
        except AlreadyImported:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(max_workers=4) as pool:
        assert sorted(pool.map(one, range(4))) == [False, False, False, True]
    assert (Evidence.objects.count(), Sample.objects.count()) == (1, 1)


def test_import_reads_a_text_anew_when_its_figures_were_left_out(offer: Offer) -> None:
    wrong = imported(offer, direction="write").samples[0]
    sample_exclude(workspace=factories.workspace(), sample=wrong, reason="it was read", actor="ann")
    made = imported(offer, direction="read")
    assert made.evidence.pk == wrong.evidence_id
    assert made.evidence.conditions["direction"] == "read"
    counting = Sample.objects.filter(excluded_reason="")
    assert [sample.metric for sample in counting] == ["disk_read_bytes_per_s"]
    assert Sample.objects.count() == 2


def test_import_stores_nothing_when_the_text_is_refused(offer: Offer) -> None:
    with pytest.raises(Exception, match="decimal comma"):
        imported(offer, DD.replace("0.5 s", "0,5 s"))
    assert not Evidence.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("text", ["x" * (imports.MAX_TEXT_BYTES + 1), "é" * (5 * 2**20), "\ud800"])
def test_import_is_refused_when_the_text_is_too_long_or_no_text(offer: Offer, text: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        imported(offer, text)
    assert refused.value.field == "/text"


def test_import_takes_the_memory_of_the_offer_when_none_is_given() -> None:
    big = factories.offer("rack", memory_bytes=72 * GIB)
    made = imported(big, BONNIE, tool="bonnie")
    assert {tuple(sample.flags) for sample in made.samples} == {("cached",)}
    assert made.evidence.conditions == {"ram_bytes": 72 * GIB}
    small = factories.offer("rack-small", memory_bytes=72 * GIB)
    told = imported(small, BONNIE, tool="bonnie", ram_bytes=22 * GIB)
    assert {tuple(sample.flags) for sample in told.samples} == {()}
    # A figure that the memory says nothing about is not bothered with it.
    assert imported(big, "9459", tool="passmark").warnings == ()


def test_lines_of_one_text_are_repeats(offer: Offer) -> None:
    made = imported(offer, BONNIE + BONNIE.replace("181336", "171336"), tool="bonnie")
    repeats = {(s.metric, s.repeat) for s in made.samples}
    assert len(repeats) == len(made.samples) == 6
    assert {repeat for _, repeat in repeats} == {0, 1}


# --- ranking ----------------------------------------------------------------------------------


def test_imported_bonnie_of_44_gb_on_72_gb_takes_no_rank(offer: Offer) -> None:
    imported(offer, BONNIE, tool="bonnie", ram_bytes=72 * GIB)
    score = dict(scores(METRICS["disk_seeks_per_s"]))[offer.pk]
    assert score.is_unfit
    assert set(score.flags) == {"cached", "imported"}


def test_score_of_an_imported_figure_leads_to_its_text(offer: Offer) -> None:
    made = imported(offer, "9459", tool="passmark")
    score = dict(scores(METRICS["passmark_score"]))[offer.pk]
    assert (score.source, score.is_unfit) == ("imported", False)
    assert (score.result_url or "").endswith(f"/evidence/{made.evidence.pk}/")


def test_dd_without_conditions_is_in_no_ranking(offer: Offer) -> None:
    imported(offer)
    for key in ("dd_bytes_per_s", "disk_write_bytes_per_s", "disk_read_bytes_per_s"):
        assert offer.pk not in dict(scores(METRICS[key]))


# --- API --------------------------------------------------------------------------------------


def test_api_import_answers_samples_and_warnings(
    caller: Callable[..., Client], offer: Offer
) -> None:
    response = post(caller("write"))
    assert response.status_code == 201, response.content
    answer = response.json()
    (sample,) = answer["samples"]
    assert (sample["metric"], sample["flags"]) == ("dd_bytes_per_s", ["conditions_unknown"])
    assert "no rank" in answer["warnings"][0]
    schema = caller("read").get(f"{API}/schemas/imported-result.json").json()
    jsonschema.validate(answer, schema)


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("fio", "fio-3.33-rand-read-qd1"),
        ("iperf3", "iperf3-3.12-tcp"),
        ("yabs", "yabs-synthetic"),
        ("sysbench", "sysbench-1.0.20-memory"),
        ("cmips", "cmips-program-1.0.4-synthetic"),
        ("coremark", "coremark-parallel-synthetic"),
    ],
)
def test_api_import_takes_every_tool(
    caller: Callable[..., Client], offer: Offer, tool: str, name: str
) -> None:
    parameters = {"loopback": True} if tool == "iperf3" else None
    response = post(caller("write"), tool=tool, text=recorded(name), parameters=parameters)
    assert response.status_code == 201, response.content
    assert response.json()["samples"]
    assert Sample.objects.filter(source="imported").count() == len(response.json()["samples"])


def test_api_gives_the_text_back_as_it_was(caller: Callable[..., Client], offer: Offer) -> None:
    answer = post(caller("write")).json()
    response = caller("read").get(f"{API}/results/{answer['evidence']}/text")
    assert response.content.decode() == DD
    assert response["Content-Type"].startswith("text/plain")
    assert (
        response["X-Content-SHA256"] == answer["sha256"] == hashlib.sha256(DD.encode()).hexdigest()
    )


def test_api_hides_the_text_of_a_run_and_of_other_workspaces(
    caller: Callable[..., Client], offer: Offer
) -> None:
    made = imported(offer)
    client = caller("read")
    Evidence.objects.filter(pk=made.evidence.pk).update(run=factories.run(), offer=None)
    assert client.get(f"{API}/results/{made.evidence.pk}/text").status_code == 404
    assert client.get(f"{API}/results/999999/text").status_code == 404


def test_api_says_so_when_a_stored_text_was_damaged(
    caller: Callable[..., Client], offer: Offer
) -> None:
    made = imported(offer)
    Evidence.objects.update(raw_gzip=gzip.compress(b"other"))
    assert caller("read").get(f"{API}/results/{made.evidence.pk}/text").status_code == 500


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"colour": "red"}, "/colour"),
        ({"offer": "none-such"}, "/offer"),
        ({"tool": "abacus"}, "/tool"),
        ({"text": ""}, "/text"),
        ({"text": 7}, "/text"),
        ({"text": "a\0b"}, "/text"),
        ({"text": "hello"}, "/text"),
        ({"parameters": {"colour": "red"}}, "/parameters/colour"),
        ({"parameters": {"ram_bytes": "64"}}, "/parameters/ram_bytes"),
        ({"parameters": [1]}, "/parameters"),
    ],
)
def test_api_import_is_refused_with_the_field(
    caller: Callable[..., Client], offer: Offer, changes: dict[str, Any], field: str
) -> None:
    response = post(caller("write"), **changes)
    assert (response.status_code, fields(response)) == (400, [field])
    assert not Evidence.objects.exists()


@pytest.mark.parametrize(
    ("tool", "name", "word"),
    [
        ("fio", "fio-3.33-terminated", "signal"),
        ("fio", "fio-3.33-ended-early", "runtime"),
        ("iperf3", "iperf3-3.12-refused", "refused"),
        ("dd", "dd-gnu-9.1-de_DE", "LC_ALL=C"),
        ("dd", "dd-gnu-9.1-no-space", "No space left"),
    ],
)
def test_api_import_is_refused_when_the_tool_failed(
    caller: Callable[..., Client], offer: Offer, tool: str, name: str, word: str
) -> None:
    response = post(caller("write"), tool=tool, text=recorded(name))
    assert response.status_code == 400
    assert word in response.json()["errors"][0]["detail"]


def test_api_import_twice_is_a_conflict(caller: Callable[..., Client], offer: Offer) -> None:
    client = caller("write")
    assert post(client).status_code == 201
    again = post(client)
    assert again.status_code == 409
    assert "already imported" in again.json()["detail"]


def test_api_import_needs_the_right_to_write(
    client: Client, caller: Callable[..., Client], offer: Offer
) -> None:
    assert post(client).status_code == 401
    assert post(caller("read")).status_code == 403


def test_api_import_is_refused_by_its_length_before_it_is_read(
    caller: Callable[..., Client], offer: Offer
) -> None:
    response = caller("write").post(
        f"{API}/results/import",
        b"{}",
        content_type="application/json",
        CONTENT_LENGTH=str(10**9),
    )
    assert response.status_code == 413


# --- command ----------------------------------------------------------------------------------


def run_command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("import_results", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_command_imports_a_file(offer: Offer, tmp_path: Path) -> None:
    file = tmp_path / "dd.txt"
    file.write_text(DD)
    said = run_command(
        *(str(file), "--tool", "dd", "--offer", "aws-m5-large"),
        *("--param", "direction=write", "--param", "conditions=fdatasync"),
        *("--param", f"ram_bytes={GIB}", "--param", "source=random"),
    )
    assert "disk_write_bytes_per_s dd_fdatasync: 2.15 GB/s (cached)" in said
    assert "warning: the file is smaller" in said
    assert Evidence.objects.get().conditions["ram_bytes"] == GIB


def test_command_keeps_the_prompt_line_and_a_test_of_one_machine(
    offer: Offer, tmp_path: Path
) -> None:
    """W4: refused as the offer's network; with loopback=true kept, flagged cached, unranked."""
    file = tmp_path / "iperf3.txt"
    file.write_text(f"ann@web:~$ iperf3 -c localhost -J\n{recorded('iperf3-3.12-tcp-4-streams')}")
    words = (str(file), "--tool", "iperf3", "--offer", "aws-m5-large")
    with pytest.raises(CommandError, match="both ends are one machine"):
        run_command(*words)
    assert "bit/s (cached)" in run_command(*words, "--param", "loopback=true")
    assert Evidence.objects.get().command == "iperf3 -c localhost -J"
    assert [score.is_unfit for score in dict(scores(METRICS["net_tcp_bits_per_s"])).values()] == [
        True
    ]


@pytest.mark.parametrize("mode", ["standard", "unlimited"])
def test_row_says_in_which_mode_of_credits_a_figure_was_made(client: Client, mode: str) -> None:
    """S8: a burst score beside a price that may not hold what the burst costs."""
    burst = factories.offer("aws-t3-large", vcpu_kind="burstable")
    result_import(
        workspace=factories.workspace(), offer=burst, tool="coremark",
        text=recorded("coremark-parallel-synthetic"), parameters={"credit_mode": mode}, actor="test",
    )  # fmt: skip
    (row,) = client.get("/api/v1/rankings?metric=coremark_score").json()["results"]
    assert row["flags"] == f"credit_{mode} imported burstable"


def test_import_refuses_credits_of_a_machine_that_has_none(offer: Offer) -> None:
    with pytest.raises(InvalidValue, match="not burstable") as caught:
        imported(offer, credit_mode="standard")
    assert caught.value.field == "/parameters/credit_mode"
    assert not Evidence.objects.exists()


def test_import_is_compared_with_the_memory_measured_on_the_offer(offer: Offer) -> None:
    """S16: the bound of a read called direct is this machine's own memory."""
    memory = {"metric": "memory_bandwidth_bytes_per_s", "unit": "bytes/s"}
    factories.sample(offer, 4e9, **memory)
    summaries_refresh()
    stated = {"direction": "read", "conditions": "direct", "source": "random"}
    (sample,) = imported(offer, **stated).samples
    assert sample.flags == ["cached"]
    assert Evidence.objects.get().conditions["memory_bytes_per_s"] == 4e9


def test_command_reads_standard_input_and_prints_json(
    offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"CPU Mark: 9459\n")))
    said = run_command("-", "--tool", "passmark", "--offer", "aws-m5-large", "--json")
    answer = json.loads(said)
    assert answer["samples"][0]["value"] == 9459
    assert answer["evidence"] == Evidence.objects.get().pk


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        (("{file}", "--offer", "none"), "no offer is called 'none'"),
        (("{file}.gone", "--offer", "aws-m5-large"), "No such file"),
        (("{binary}", "--offer", "aws-m5-large"), "not UTF-8: byte 1"),
        (("{file}", "--offer", "aws-m5-large", "--param", "x"), "NAME=VALUE"),
        (("{file}", "--offer", "aws-m5-large", "--param", "x=1"), "/parameters/x"),
        (("{file}", "--offer", "aws-m5-large"), "unexpected"),
    ],
)
def test_command_says_what_is_wrong(
    offer: Offer, tmp_path: Path, arguments: tuple[str, ...], detail: str
) -> None:
    file, binary = tmp_path / "a.txt", tmp_path / "b.txt"
    file.write_text("hello")
    binary.write_bytes(b"\xff\xfa")
    given = [argument.format(file=file, binary=binary) for argument in arguments]
    with pytest.raises(CommandError, match=detail):
        run_command(*given, "--tool", "dd")
    assert not Evidence.objects.exists()
