"""What strangers may have calculated ends in time, and leaves capacity for everybody else."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.cache import caches
from django.test import Client

from backend.core import work
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.selectors.scenarios import _stored_results, simulate_document
from backend.scenarios.services.scenarios import scenario_create
from tests import factories
from tests.backend.conftest import API, fields
from tests.pure.scenarios.documents import Document, all_of, price, startup

pytestmark = pytest.mark.django_db
SIMULATE = f"{API}/scenarios/simulate"
CONTENTION = {
    "schema": 1,
    "links": [{"name": "nas", "capacity_bytes_per_s": 1}],
    "flows": [{"name": "a", "path": ["nas"]}],
}
CALCULATIONS: dict[str, tuple[str, Any]] = {
    "simulate": (SIMULATE, startup(all_of("cloud", price("0.4")))),
    "contention": (f"{API}/contention", CONTENTION),
    "requirements": (f"{API}/requirements/solve", {"ram_gib": 64}),
}
PAGES = ("/scenarios/kept/", "/scenarios/kept/map/", "/requirements/?ram_gib=64")


@pytest.fixture(autouse=True)
def _public(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PUBLIC_READ = True
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    monkeypatch.setattr(work, "WAIT_S", 0)
    # What another test has calculated, or shown, takes no work.
    _stored_results._texts.clear()
    caches["fragments"].clear()


@pytest.fixture
def kept() -> None:
    document = startup(all_of("cloud", price("0.4"))) | {"name": "kept"}
    scenario_create(workspace=factories.workspace(), document=document, actor="test")
    _stored_results._texts.clear()
    factories.offer("box", memory_bytes=2**33)


def posted(client: Client, name: str) -> Any:
    address, document = CALCULATIONS[name]
    return client.post(address, document, content_type="application/json")


def wide(options: int) -> Document:
    """A year of minutes; 57 options are nearly 30 million steps."""
    horizon = {"start": "2026-01-01T00:00:00+00:00", "days": 365, "step_s": 60}
    return startup(*(all_of(f"{n}", price("0.4")) for n in range(options)), horizon=horizon)


def test_stranger_may_ask_for_less_in_a_request_than_a_known_caller(
    client: Client, caller: Callable[..., Client], settings: LazySettings
) -> None:
    settings.WORK_ANONYMOUS_STEPS = 2_000_000
    refused = client.post(SIMULATE, wide(4), content_type="application/json")
    assert refused.status_code == 400
    assert fields(refused) == ["/horizon/step_s"]
    assert "more than 2,000,000" in refused.json()["errors"][0]["detail"]
    known = caller("read").post(SIMULATE, wide(4), content_type="application/json")
    assert known.status_code == 200


@pytest.mark.parametrize("name", CALCULATIONS)
def test_calculation_ends_at_its_deadline(
    client: Client, caller: Callable[..., Client], kept: None, settings: LazySettings, name: str
) -> None:
    settings.WORK_ANONYMOUS_S = -1
    refused = posted(client, name)
    assert (refused.status_code, refused["Content-Type"]) == (422, "application/problem+json")
    assert "takes longer than -1 s: " in refused.json()["detail"]
    assert posted(caller("read"), name).status_code == 200


@pytest.mark.parametrize("name", CALCULATIONS)
def test_stranger_is_sent_away_when_others_calculate(
    client: Client, caller: Callable[..., Client], kept: None, name: str
) -> None:
    with work._capacities[False].seat():
        refused = posted(client, name)
        assert posted(caller("read"), name).status_code == 200
    assert (refused.status_code, refused["Retry-After"]) == (503, "5")
    assert refused["Content-Type"] == "application/problem+json"


def test_only_few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "WAIT_S", 60)
    capacity = work._Capacity(1, 1)
    with capacity.seat():
        assert capacity._door.acquire(blocking=False)  # one waits
        with pytest.raises(work.WorkRefused), capacity.seat():
            pass
        capacity._door.release()
    with capacity.seat():
        pass


def test_few_passwords_are_checked_at_once_and_others_are_served(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen who try to sign in kept known callers waiting for 1.7 s instead of 0.01 s."""
    known, taken = Client(), Entered()
    known.force_login(factories.user())
    tried = {"username": "ada", "password": "wrong"}
    with work._passwords.seat(), work._passwords.seat():
        monkeypatch.setattr(work, "_working", taken)
        refused = client.post("/accounts/login/", tried)
        # Who waits for a password has none of the threads that answer others.
        assert taken.taken == 0
        assert known.get("/metrics/").status_code == 200
        assert client.get("/accounts/login/").status_code == 200
    assert (refused.status_code, refused["Retry-After"]) == (429, "5")
    assert "others are signing in" in refused.content.decode()
    assert client.post("/accounts/login/", tried).status_code == 200


@pytest.mark.parametrize("address", ["/metrics/", f"{API}/rankings", f"{API}/rankings.csv"])
def test_strangers_who_ask_for_much_are_served_in_turn(
    client: Client, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    known = Client()
    known.force_login(factories.user())
    usage = work._Usage()
    monkeypatch.setattr(work, "_usage", usage)
    assert client.get(address).status_code == 200
    assert not usage.is_much("127.0.0.1", "/healthz")
    usage.add("127.0.0.1", 60)
    with work._in_turn.seat():
        refused = client.get(address)
        assert known.get(address).status_code == 200
        assert client.get(address, REMOTE_ADDR="192.0.2.7").status_code == 200
        assert client.get("/healthz").status_code == 200
    assert (refused.status_code, refused["Retry-After"]) == (429, "5")
    assert ("problem+json" in refused["Content-Type"]) == address.startswith(API)
    assert client.get(address).status_code == 200


@pytest.mark.parametrize("is_signed_in", [False, True])
def test_requests_of_strangers_leave_a_thread_to_others(
    client: Client, monkeypatch: pytest.MonkeyPatch, is_signed_in: bool
) -> None:
    if is_signed_in:
        client.force_login(factories.user())
    gates = {name: Entered() for name in ("_costly", "_working")}
    monkeypatch.setattr(work, "_usage", work._Usage())
    for name, gate in gates.items():
        monkeypatch.setattr(work, name, gate)
    for _ in range(3):
        assert client.get("/metrics/").status_code == 200
    # The second and third one are known to take little.
    assert gates["_costly"].taken == (not is_signed_in)
    assert gates["_working"].taken == 3
    assert client.get("/healthz").status_code == 200
    assert gates["_working"].taken == 3


class Entered(AbstractContextManager[None]):
    """Counts who comes in."""

    taken = 0

    def __enter__(self) -> None:
        self.taken += 1

    def __exit__(self, *_: object) -> None:
        pass


def test_what_a_stranger_asked_for_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(work.time, "monotonic", lambda: now)
    usage = work._Usage()
    usage.add("192.0.2.1", 0.4 * work.MUCH_S)
    assert not usage.is_much("192.0.2.1", "/")
    usage.add("192.0.2.1", 0.7 * work.MUCH_S)
    assert usage.is_much("192.0.2.1", "/")
    now += 2.5 * work.FORGOTTEN_S
    assert not usage.is_much("192.0.2.1", "/")
    usage.add("192.0.2.1", 2 * work.MUCH_S)
    monkeypatch.setattr(work, "MOST_KNOWN", 1)
    usage.add("192.0.2.2", 0.0)
    assert not usage.is_much("192.0.2.1", "/")


def test_request_that_takes_much_has_a_turn_from_the_first_one() -> None:
    usage = work._Usage()
    usage.learn("/all.csv", 2 * work.MUCH_S)
    assert usage.is_much("192.0.2.2", "/all.csv")
    assert not usage.is_much("192.0.2.2", "/")
    for _ in range(8):  # it has become cheap
        usage.learn("/all.csv", 0.0)
    assert not usage.is_much("192.0.2.2", "/all.csv")


def test_time_of_a_path_is_learned_from_answers_alone(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = work._Usage()
    monkeypatch.setattr(work, "_usage", usage)
    assert client.get("/there-is-none/").status_code == 404
    assert client.get(f"{API}/metrics", {"per_page": "many"}).status_code == 400
    assert not usage.is_known("/there-is-none/")
    assert not usage.is_known(f"{API}/metrics")
    assert client.get(f"{API}/metrics").status_code == 200
    assert usage.is_known(f"{API}/metrics")


@pytest.mark.parametrize("name", CALCULATIONS)
def test_minute_of_a_stranger_is_used_up(
    client: Client, caller: Callable[..., Client], kept: None, settings: LazySettings, name: str
) -> None:
    settings.WORK_RATE_ANONYMOUS = "0/min"
    refused = posted(client, name)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 60
    assert posted(caller("read"), name).status_code == 200


@pytest.mark.parametrize("address", PAGES)
def test_page_says_that_it_is_not_calculated(client: Client, kept: None, address: str) -> None:
    with work._capacities[False].seat():
        refused = client.get(address)
    assert (refused.status_code, refused["Retry-After"], refused["Refresh"]) == (503, "5", "5")
    assert b"others are calculating" in refused.content
    assert b"tries again automatically" in refused.content
    assert client.get(address).status_code == 200


def test_page_that_takes_too_long_is_not_tried_again(
    client: Client, kept: None, settings: LazySettings
) -> None:
    settings.WORK_ANONYMOUS_S = -1
    refused = client.get(PAGES[0])
    assert refused.status_code == 422
    assert "Refresh" not in refused
    assert b"tries again" not in refused.content


def test_preview_says_so_instead_of_a_result(client: Client) -> None:
    with work._capacities[False].seat():
        shown = client.get("/scenarios/new/")
        followed = client.post("/scenarios/preview/", {"template": "startup"})
    assert shown.status_code == followed.status_code == 200
    assert b"others are calculating" in shown.content
    assert b"load delay:5s" in shown.content
    assert b"others are calculating" in followed.content
    assert followed["Retry-After"] == "5"


def test_result_that_is_stored_takes_no_work(client: Client) -> None:
    assert posted(client, "simulate").status_code == 200
    with work._capacities[False].seat():
        assert posted(client, "simulate").status_code == 200


def test_commands_have_no_limits(settings: LazySettings) -> None:
    settings.WORK_ANONYMOUS_STEPS, settings.WORK_ANONYMOUS_S = 1, -1
    settings.WORK_RATE_ANONYMOUS = "0/min"
    assert simulate_document(startup(all_of("cloud", price("0.4")))).result["options"]


@pytest.mark.parametrize("key", TEMPLATES)
def test_editor_of_every_template_is_calculated_for_strangers(client: Client, key: str) -> None:
    shown = client.get(f"/scenarios/new/?template={key}")
    assert shown.status_code == 200
    assert b"Not calculated" not in shown.content
