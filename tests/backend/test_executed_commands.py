"""Every command of the README and the documents is executed: here, or by what ELSEWHERE names for it."""

import io
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import openpyxl
import pytest
from django.core.management import call_command
from django.test import Client

from backend.benchmarks.models import Campaign, Sample
from backend.bills.models import Bill
from launcher.paths import ROOT
from tests import factories
from tests.backend.campaigns import campaign, ended, measured
from tests.backend.conftest import API
from tests.backend.test_bill_import import focus, line
from tests.backend.test_documented_commands import EXAMPLES, _words, documented
from tests.backend.test_imports import recorded
from tests.backend.test_table_mappings import FIRST
from tests.pure.parsing.test_quotes import GOOD, table
from workers import scenario_jobs

pytestmark = pytest.mark.django_db

STACK = "tests/launcher/test_stack.py"
LINES = "tests/launcher/test_command_line.py"
CONTAINERS = "it needs an engine of containers; tests/e2e/test_containers.py where there is one"
ITSELF = "it runs checks or tests, as what you read now"
TOOL = "a tool that ./rackrate check runs in its form that changes nothing: launcher/checks.py"
# Pattern of the command: who executes it, or why nobody does here.
ELSEWHERE = {
    r"(\./rackrate )?(up|demo|stop)\b.*": STACK,
    r"\./rackrate": "a word in a sentence",
    r"check": ITSELF,
    r"test\b.*": ITSELF,
    r"chaos": "an hour of failures; its short form is tests/e2e/test_chaos_services.py",
    r"bench\b.*": "minutes of load, whose figures the documents state: tests/bench/growth.py",
    r"audit-dependencies": "tests/launcher/test_inventory.py",
    r"images.*": "tests/launcher/test_images.py",
    r"sbom": "tests/launcher/test_inventory.py",
    r"client\b.*": "tests/backend/test_client_command.py",
    r"(backup|restore)\b.*": "tests/e2e/test_backups.py",
    r"benchmark\b.*": "tests/workers/test_commands.py",
    r"campaign run .*": "tests/workers/test_campaign_command.py",
    r"cloud bill .*": "tests/workers/test_cloud_bill.py",
    r"cloud check": "tests/workers/test_cloud_command.py",
    r"import_fx": "another site is asked; tests/workers/test_import_fx.py",
    r"import_prices --live": "other sites are asked; tests/workers/test_price_refresh.py",
    r"import_prices azure --live .*": "another site is asked; tests/workers/test_fetch_feeds.py",
    r"import_sparecores .*": "tests/backend/test_sparecores.py",
    r"pump": "it goes on until it is ended; tests/e2e/test_chaos_services.py",
    r"reap --every .*": "it goes on until it is ended; tests/workers/test_reap_service.py",
    r"runserver .*": "Django's own, and it goes on until it is ended",
    r"shell": "Django's own, and it asks for input",
    r"python -m backend\.config\.web_keys .*": "tests/backend/test_crypto.py",
    r"grant_role .*": "tests/e2e/test_backups.py",
    r"celery .*": "tests/e2e/stack.py starts it for every test of chaos",
    r"docker.*": CONTAINERS,
    r"kubectl .*": "it needs a cluster; tests/architecture/test_manifests.py reads what it applies",
    r"\.venv/bin/(clang-format|ruff|shfmt|pre-commit) .*": TOOL,
    r"\.venv/bin/python -m pytest .*": ITSELF,
    r"\.venv/bin/python frontend/translations\.py": "tests/frontend/test_languages.py",
    r"node --test .*": ITSELF,
    r"node frontend/build\.mjs --watch": "it goes on until it is ended; launcher/node.py builds once",
}
# In an order in which each finds what it needs.
LOCAL = [
    "manage check", "user create ada --role analyst", "user link ada", "user enable ada",
    "user link admin", "user list",
    "user create NAME", "workspace create lab --name Laboratory --admin ada",
    "workspace invite lab --role operator", "workspace list", "token create laptop --scope read",
    "cloud adopt", "reap", "reap --dry-run", "pump --once", "rotate_keys", "axes_reset",
    "credential_public_key", "retention --dry-run", "retention", "drain",
    "drain --end", "runs list --host NAME --state done",
    "runs compare 01234567 89abcdef --fail-on-regression 5%", "campaign status ID",
    "samples exclude 17 18 --reason 'a fan had failed'", "delete offer own-typo --dry-run",
    "delete offer own-typo", "retire own-rack-7 --on 2026-12-31", "simulate FILE", "simulate FILE.json",
    "import_hosts FILE --dry-run", "import_quotes FILE.csv --dry-run", "import_quotes quotes.xlsx --dry-run",
    "import_quotes quotes.csv --json",
    "import_quotes quotes.csv --locale de --currency EUR --map Preis=monthly_net --map Rabatt=-",
    "import_results FILE --tool fio --offer SLUG", "import_bill FILE",
    "import_bill september.csv.gz --name September --json", "compare_bill SLUG --json",
    "apply rackrate.yaml --dry-run", "apply rackrate.yaml", "export_config", "apply rackrate.yaml --prune",
    "demo remove",
]  # fmt: skip
# Nobody is there to answer.
UNASKED = {"delete offer own-typo": "--yes", "apply rackrate.yaml --prune": "--yes"}


def plain(command: str) -> str:
    """The command without `./rackrate manage` or `manage.py` before it."""
    words = _words(command)
    if words[:1] in (["./rackrate"], ["manage.py"]) and len(words) > 1:
        words = words[1:]
        if words[0] == "manage":
            words = ["manage", "check"] if words[1:] == ["check"] else words[1:]
    return shlex.join(words).replace("'…'", "…")


COMMANDS = sorted({plain(command) for _, command in documented()})


def test_every_documented_command_is_executed_or_says_why_not() -> None:
    def is_known(command: str) -> bool:
        is_elsewhere = any(re.fullmatch(pattern, command) for pattern in ELSEWHERE)
        return command in LOCAL or command.startswith("curl ") or is_elsewhere

    assert [command for command in COMMANDS if not is_known(command)] == []
    assert set(LOCAL) <= set(COMMANDS)
    for pattern, why in ELSEWHERE.items():
        assert any(re.fullmatch(pattern, command) for command in COMMANDS), pattern
        for path in re.findall(r"\S+\.py\b", why):
            assert (ROOT / path).exists(), path


def _tables(command: str) -> bytes:
    if "Preis" in command:
        return FIRST.encode()
    if "xlsx" in command:
        book, stored = openpyxl.Workbook(), io.BytesIO()
        for row in (list(GOOD), list(GOOD.values())):
            book.active.append(row)
        book.save(stored)
        return stored.getvalue()
    return table(GOOD).encode()


# What lies in the file that a command reads, by its first word.
FILES: dict[str, Callable[[str], bytes]] = {
    "simulate": lambda _: (ROOT / "fixtures/scenarios/startup.json").read_bytes(),
    "import_hosts": lambda _: b"name,address\nrack-1,rack-1.example.org\n",
    "import_quotes": _tables,
    "import_results": lambda _: recorded("fio-3.33-rand-read-qd1").encode(),
    # Two commands must not import the same bill.
    "import_bill": lambda command: focus(line(hour=len(command) % 10)),
    "apply": lambda _: (ROOT / "docs/examples/rackrate.yaml").read_bytes(),
}


@pytest.fixture
def names(settings: Any) -> dict[str, str]:
    """What the documents leave open, with what there is."""
    settings.EMAIL_HOST = "127.0.0.1"
    factories.user(username="admin", role="admin", is_superuser=True)
    workspace = factories.workspace()
    host = factories.host(name="NAME")
    runs = []
    for _ in range(2):
        run = factories.run(host)
        measured(run, 1000.0, 1005.0, 995.0, 1002.0, 998.0)
        runs.append(ended(run))
    for slug in ("own-typo", "own-rack-7"):
        factories.offer(slug, provider_slug="own", name=slug, workspace=workspace)
    first, second = runs[0].samples.order_by("pk").values_list("pk", flat=True)[:2]
    made = campaign(host, name="Nightly")
    return {
        EXAMPLES["BEFORE"]: str(runs[0].pk),
        EXAMPLES["AFTER"]: str(runs[1].pk),
        "17": str(first),
        "18": str(second),
        "ID": str(made.pk),
    }


def _executed(command: str, names: dict[str, str]) -> None:
    words = [names.get(word, word) for word in shlex.split(command)]
    words += [UNASKED[command]] if command in UNASKED else []
    words = words[1:] if words[0] == "manage" else words
    if words[0] == "import_hosts":  # the kind of the list is known by the name
        words[1] += ".csv"
    for word in words:
        if re.fullmatch(r"FILE.*|\w+\.(csv|csv\.gz|xlsx|yaml)", word):
            Path(word).write_bytes(FILES[words[0]](command))
    slug = {"compare_bill": "september", "import_results": "own-rack-7"}.get(words[0], "")
    out = io.StringIO()
    call_command(*(slug if word == "SLUG" else word for word in words), stdout=out, stderr=out)


@pytest.mark.usefixtures("queued", "demo")
def test_local_commands_run(
    names: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOOK_SECRET", "a secret of the receiver, long enough")
    for command in LOCAL:
        with subtests.test(command):
            _executed(command, names)  # each raises where its status would not be 0
    assert Bill.objects.filter(slug="september").exists()
    assert Campaign.objects.filter(name="nightly").exists()
    assert set(Sample.objects.exclude(excluded_reason="").values_list("pk", flat=True)) == {
        int(names["17"]),
        int(names["18"]),
    }


SCENARIO = (ROOT / "fixtures/scenarios/startup.json").read_bytes()


def _answer(client: Client, command: str) -> Any:
    words = shlex.split(command.partition(" | ")[0])
    url = urlsplit(next(word for word in words if word.startswith("http")))
    of = {option: words[at + 1] for at, option in enumerate(words) if option.startswith("-")}
    headers = dict(
        words[at + 1].split(": ", 1)
        for at, word in enumerate(words)
        if word == "-H" and not words[at + 1].startswith("Authorization")
    )
    body = of.get("-d") or of.get("--data")
    path = url.path.replace("$ID", _job(client, is_done=url.path.endswith("/result")))
    return client.generic(
        of.get("-X", "POST" if body else "GET"),
        f"{path}?{url.query}",
        SCENARIO if body == "@scenario.json" else body or "",
        headers.pop("Content-Type", "application/json"),
        headers=headers,
    )


def _job(client: Client, *, is_done: bool) -> str:
    """A scenario that workers calculate, or have calculated."""
    kind, prefer = "application/json", {"Prefer": "respond-async"}
    asked = client.post(f"{API}/scenarios/simulate", SCENARIO, content_type=kind, headers=prefer)
    job_id = asked["Location"].rsplit("/", 1)[1]
    while is_done and scenario_jobs.work(UUID(job_id)):
        pass
    return job_id


@pytest.mark.usefixtures("queued", "demo")
def test_addresses_that_are_fetched_answer(caller: Callable[..., Client]) -> None:
    """The host is that of an example: what is asked is this server's."""
    client = caller("admin")
    commands = [command for command in COMMANDS if command.startswith("curl ")]
    assert len(commands) >= 7
    for command in commands:
        answer = _answer(client, command)
        expected = (
            {202} if "respond-async" in command else {204} if "DELETE" in command else {200, 201}
        )
        assert answer.status_code in expected, (command, answer.content)
