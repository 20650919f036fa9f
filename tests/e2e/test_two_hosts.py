"""Two machines with a web process and workers each serve one installation, as one alone would.

They are network namespaces, and share nothing but a PostgreSQL and a broker: whatever only one of their
processes knew would show here.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password

from backend.accounts.models import ApiToken, User
from backend.accounts.services.tokens import token_create
from backend.benchmarks.models import Host
from tests import factories
from tests.e2e import work_notes
from tests.e2e.chaos_form import LEASE_S, NOTES, RESUME_SLACK_S
from tests.e2e.conftest import trusted_host
from tests.e2e.machines import RELAY, SITE, Machine
from tests.e2e.namespaces import Network, Refused, network
from tests.e2e.stack import Stack, eventually
from tests.e2e.truth import assert_clean, assert_whole, ended
from tests.fakes.sshd import FakeSshd
from tests.pure.scenarios.documents import all_of, price, startup

pytestmark = [pytest.mark.serial, pytest.mark.native]

API = "/api/v1"
LIST = f"{API}/rankings?metric=cmips_score&provider=aws&per_page=20"
OFFERS = 45
PASSWORD = "a sentence that nobody guesses"
YEAR = {"start": "2026-01-01T00:00:00+00:00", "days": 365, "step_s": 60}
# With draws, a year of minutes for six of them is a piece of the job.
OPTIONS = 30


@dataclass
class Site:
    """The installation: its machines, and two hosts that it measures."""

    first: Machine
    second: Machine
    hosts: list[Host]
    targets: list[Path]
    """Where those hosts have their files."""
    offers: list[str]
    """Slugs of those that the ranking lists."""
    headers: dict[str, str]
    """With a token that may do everything."""

    @property
    def machines(self) -> tuple[Machine, Machine]:
        return self.first, self.second


@pytest.fixture(scope="module")
def bridged() -> Iterator[Network]:
    with ExitStack() as undo:
        try:
            yield undo.enter_context(network())
        except Refused as refused:
            pytest.skip(f"no machines: {refused}")


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., Stack]) -> Stack:
    """What both machines share."""
    served = {
        "HTTPS_ONLY": "0",
        "PUBLIC_URL": f"http://{SITE}",
        "ALLOWED_HOSTS": SITE,
        "PAGES_BEHIND_S": "10",
    }
    return make_stack(LEASE_S, served, names=("broker",))


@pytest.fixture(scope="module")
def installed(
    bridged: Network, stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """One beat on the first machine; all else on both."""
    with ExitStack() as undo:
        sshds = [FakeSshd(tmp_path_factory.mktemp(name)) for name in ("a", "b")]
        for sshd in sshds:
            sshd.start()
            undo.callback(sshd.stop)
        ports = [urlsplit(url).port for url in (stack.database.url, stack.broker_url)]
        ports += [sshd.port for sshd in sshds]
        stack.start("relay", [*RELAY, bridged.address, *map(str, ports)], env=stack.environment)
        undo.enter_context(work_notes.noted())
        machines = []
        for name in ("first", "second"):
            directory = tmp_path_factory.mktemp(name)
            machines.append(Machine(name, directory, bridged, stack, has_beat=name == "first"))
            undo.callback(machines[-1].kill_all)
        _, token = token_create(
            workspace=factories.workspace(), owner=factories.owner(), name="test", scope="admin"
        )
        yield Site(
            *machines,
            hosts=[_host(sshd, f"host {n}", bridged.address) for n, sshd in enumerate(sshds)],
            targets=[sshd.temporary for sshd in sshds],
            offers=_offers(),
            headers={"Authorization": f"Bearer {token}"},
        )


@pytest.fixture
def site(installed: Site) -> Site:
    """With both machines at work, whatever the test before did to them."""
    for machine in installed.machines:
        machine.up()
    for machine in installed.machines:
        eventually(machine.is_ready, f"the machine {machine.name}")
    return installed


def _host(sshd: FakeSshd, name: str, address: str) -> Host:
    """The server on loopback, as both machines reach it."""
    made = trusted_host(sshd, name)
    made.address = address
    made.save(update_fields=["address"])
    return made


def _offers() -> list[str]:
    """Offers with a price and a score each; their slugs."""
    made = [factories.offer(f"box-{number:02}") for number in range(OFFERS)]
    for number, offer in enumerate(made):
        factories.price(offer, f"0.1{number:02}")
        factories.sample(offer, 10.0 + number % 7)
    return [offer.slug for offer in made]


# --- people -----------------------------------------------------------------------------------------


def person(name: str) -> User:
    """With a password as production stores it."""
    made = factories.user(username=name)
    made.password = make_password(PASSWORD, hasher="scrypt")
    made.save()
    return made


def sign_in(machine: Machine, name: str, password: str) -> httpx.Response:
    return machine.submit("/accounts/login/", {}, username=name, password=password)


def test_session_of_one_machine_counts_on_the_other_until_signed_out(site):
    person("ada")
    entered = sign_in(site.first, "ada", PASSWORD)
    assert entered.status_code == 302, entered.text
    session = {settings.SESSION_COOKIE_NAME: entered.cookies[settings.SESSION_COOKIE_NAME]}
    for machine in site.machines:
        page = machine.ask("GET", "/accounts/", cookies=session)
        assert (page.status_code, "ada" in page.text) == (200, True)
    assert site.second.submit("/accounts/logout/", session).status_code == 302
    for machine in site.machines:
        assert machine.ask("GET", "/accounts/", cookies=session).status_code == 302


def test_wrong_passwords_are_counted_over_both_machines(site):
    person("eve")
    tries = settings.AXES_FAILURE_LIMIT
    refused = [sign_in(site.machines[n % 2], "eve", "wrong").status_code for n in range(tries)]
    assert refused == [200] * (tries - 1) + [429]
    for machine in site.machines:
        assert sign_in(machine, "eve", PASSWORD).status_code == 429


# --- what is shown and done -------------------------------------------------------------------------


def answers(site: Site, path: str) -> list[tuple[str, bytes]]:
    """Tag and bytes that each machine answers."""
    given = [one.ask("GET", path, headers=site.headers) for one in site.machines]
    assert [one.status_code for one in given] == [200, 200], given
    return [(one.headers.get("ETag", ""), one.content) for one in given]


def test_ranking_is_one_on_both_machines_and_follows_a_price_at_once(site):
    before, same = answers(site, LIST)
    assert before == same
    of_one = {"offer": site.offers[0], "amount": "0.095", "currency": "USD", "unit": "hour"}
    given = {"headers": site.headers, "json": {**of_one, "reason": "a letter"}}
    entered = site.first.ask("POST", f"{API}/prices", **given)
    assert entered.status_code == 201, entered.text
    following = site.second.ask("GET", f"{LIST}&q={site.offers[0]}", headers=site.headers).json()
    assert [row["price"] for row in following["results"]] == ["0.095"]
    after, same = answers(site, LIST)
    assert after == same
    assert after[0] != before[0]


def test_list_that_one_machine_begins_is_followed_on_the_other(site):
    listed = []
    following, turn = f"{LIST}&cursor=*", [*site.machines]
    while following:
        page = turn[0].ask("GET", following, headers=site.headers)
        assert page.status_code == 200, page.text
        listed += [row["offer_id"] for row in page.json()["results"]]
        following = (page.json()["next"] or "").removeprefix(f"http://{SITE}")
        turn.reverse()
    assert len(listed) == len(set(listed)) == OFFERS


def test_request_with_its_key_is_done_once_whichever_machine_is_asked(site):
    headers = {**site.headers, "Idempotency-Key": str(uuid.uuid4())}
    asked = {"headers": headers, "json": {"name": "sheet", "scope": "read"}}
    made, again = (one.ask("POST", f"{API}/tokens", **asked) for one in site.machines)
    assert (made.status_code, again.status_code) == (201, 201)
    assert "Idempotency-Replayed" not in made.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.content == made.content
    assert ApiToken.objects.filter(name="sheet").count() == 1


def test_scenario_job_is_shared_by_workers_and_read_on_either_machine(site):
    document = startup(
        *(all_of(f"{n}", price(f"0.{n + 10}")) for n in range(OPTIONS)),
        horizon=YEAR,
        uncertainty={"draws": 200, "demand_growth_cv": "0.3"},
    )
    headers = {**site.headers, "Prefer": "respond-async"}
    asked = site.first.ask("POST", f"{API}/scenarios/simulate", headers=headers, json=document)
    assert asked.status_code == 202, asked.text
    address = asked.headers["Location"].removeprefix(f"http://{SITE}")
    shares = []

    def is_done() -> bool:
        job = site.second.ask("GET", address, headers=site.headers).json()
        shares.append(job["progress"])
        return bool(job["state"] == "done")

    eventually(is_done, "the job")
    assert shares == sorted(shares)
    assert shares[-1] == 1
    for path in (address, f"{address}/result"):
        one, other = answers(site, path)
        assert one == other
    assert work_notes.who_calculated(address.split("/")[-1]) == {"first", "second"}


# --- runs -------------------------------------------------------------------------------------------


def test_runs_are_done_once_by_workers_of_both_machines(site, begin):
    runs = [begin(host, repeats=1, seconds=0.3) for host in site.hosts for _ in range(4)]
    eventually(ended(*runs), "the end of the runs")
    for run in runs:
        assert_whole(run, repeats=1)
    assert work_notes.who_did(runs) == {"first", "second"}
    for target in site.targets:
        assert_clean(target)


def test_runs_and_pages_go_on_when_a_machine_is_gone(site, begin):
    runs = [begin(host, repeats=2, seconds=0.5) for host in site.hosts for _ in range(2)]
    is_over, statuses, met = Event(), Counter(), set()

    def read() -> None:
        while not is_over.wait(0.2):
            statuses[site.first.status_of("/")] += 1

    def is_caught() -> bool:
        """Whether it stands still in the middle of a step."""
        site.second.freeze()
        met.update(work_notes.runs_in_work("second"))
        if not met:
            site.second.thaw()
        return bool(met)

    with ThreadPoolExecutor(1) as reader:
        reading = reader.submit(read)
        try:
            eventually(is_caught, "a step there")
            site.second.lose_power()
            eventually(ended(*runs), "the end of the runs")
        finally:
            is_over.set()
        reading.result()
    for run in runs:
        assert_whole(run, repeats=2)
    slowest_s = max(work_notes.resumed_after_s(run, "second") for run in met)
    NOTES.append(f"a machine gone under {len(met)} runs: resumed after {slowest_s:.1f} s")
    assert slowest_s <= LEASE_S + RESUME_SLACK_S
    assert set(statuses) == {200}
    for target in site.targets:
        assert_clean(target)
