"""Thousands of wrong bodies and addresses: none is our error, large, or slow.

What is mutated is proper: the bodies by which every operation succeeds, and the addresses of pages
with the parameters that they read. The random choices are those of a fixed seed.
"""

import copy
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.conf import LazySettings
from django.db import transaction
from django.test import Client

from tests import factories
from tests.backend import api_world
from tests.backend.api_world import World
from tests.backend.conftest import API
from tests.backend.test_schemathesis import path_parameters_of
from tests.conftest import IS_DEEP
from tests.frontend.test_hostile_parameters import READ

pytestmark = pytest.mark.django_db
BODIES, ADDRESSES = (20_000, 3_000) if IS_DEEP else (600, 200)
MOST_BYTES, MOST_S = 3_000_000, 2.0
# Of the process alone where other tests run beside this one.
clock_s = time.monotonic if IS_DEEP else time.process_time
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 1e308, "", " ", "\0", "\ud800", "\u202e1", "=1+1", "<script>", "x" * 5_000,
    "9999-12-31", "0001-01-01", "٤", "1e999999999", "NaN", [], {}, [[]], {"": None}, [0] * 3_000,
    "../../etc/passwd", "' OR 1=1 --", "SHA256:", "-oProxyCommand=x", "1.249", {"a": {"b": [1] * 99}},
)  # fmt: skip
RAW = (
    b"",
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b"[" * 50_000,
    b'{"a":NaN}',
    b"\xff\xfe{\x00",
    b"\x1f\x8b\x08",
)
WORDS = (
    "\0", "9999-12-31", "0001-01-01", "9" * 400, "-1", "1e999999", "a\0b", "x" * 3_000, "%", "\u202e",
    "<script>", "' OR 1=1", "null", "price," * 300, "true", "٤", "2026-02-30", "2026-11-01T10:00", "..",
)  # fmt: skip


def mutated(body: Any, chance: random.Random) -> Any:
    """A copy that is wrong in one to three places."""
    changed = copy.deepcopy(body)
    for _ in range(chance.randint(1, 3)):
        changed = _mutated_once(changed, chance)
    return changed


def _mutated_once(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict) and value:
        name = chance.choice(sorted(value))
        deed = chance.random()
        if deed < 0.15:
            del value[name]
        elif deed < 0.3:
            value[chance.choice(("x", "__proto__", "", name * 50))] = value[name]
        else:
            value[name] = _mutated_once(value[name], chance)
        return value
    if isinstance(value, list) and value and chance.random() < 0.7:
        index = chance.randrange(len(value))
        value[index] = _mutated_once(value[index], chance)
        return value * chance.choice((1, 1, 1, 50))
    if isinstance(value, str) and value and chance.random() < 0.4:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice(("\0", "é", '"', "\n", "-", "9" * 30)) + value[at + 1 :]
    return copy.deepcopy(chance.choice(VALUES))


def _timed(call: Callable[[], Any]) -> tuple[Any, int, float]:
    """The answer, its size and how long it took; what it changed is undone."""
    began = clock_s()
    with transaction.atomic():
        response = call()
        size = len(b"".join(response)) if response.streaming else len(response.content)
        transaction.set_rollback(True)
    return response, size, clock_s() - began


@pytest.fixture
def world(settings: LazySettings, queued: list[Any]) -> World:
    settings.PUBLIC_READ = True
    return api_world.build()


def writing(world: World) -> list[tuple[str, str, Any]]:
    """Method, path and a proper body of each operation that takes one; none waits for a worker."""
    found = []
    for name, call in sorted(world.calls.items()):
        method, path = name.split()
        if not isinstance(call.body, dict):
            continue
        query = f"?{urlencode(call.query)}" if call.query else ""
        for word, key in path_parameters_of(path):
            path = path.replace(f"{{{key}}}", str(call.ids.get(key) or world.ids[word][0]))
        found.append((method, f"{API}{path}{query}", call.body))
    return found


class Judge:
    """What is wrong with answers, and which of them was the largest and which the slowest."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.statuses: Counter[int] = Counter()
        self.largest = self.slowest = (0.0, "")

    def look(self, call: Callable[[], Any], what: str) -> None:
        response, size, took_s = _timed(call)
        if took_s > MOST_S:
            # On a machine that others use: what is slow is slow again.
            took_s = min(took_s, _timed(call)[2])
        said = f"{response.status_code} {size} bytes {took_s:.2f} s: {what[:300]}"
        if response.status_code >= 500 or size > MOST_BYTES or took_s > MOST_S:
            self.wrong.append(said)
        self.statuses[response.status_code] += 1
        self.largest = max(self.largest, (size, said))
        self.slowest = max(self.slowest, (took_s, said))

    def assert_nothing_wrong(self) -> None:
        figures = f"{dict(self.statuses)}\nlargest: {self.largest[1]}\nslowest: {self.slowest[1]}\n"
        sys.stdout.write(figures)
        assert self.wrong == []


def test_no_mutated_body_is_our_error_or_large_or_slow(
    world: World, caller: Callable[..., Client]
) -> None:
    client = caller("admin")
    client.raise_request_exception = False
    chance = random.Random(17)
    calls = writing(world)
    assert len(calls) > 25
    judge = Judge()
    for _ in range(BODIES):
        method, path, body = chance.choice(calls)
        raw = (
            chance.choice(RAW)
            if chance.random() < 0.03
            else json.dumps(mutated(body, chance)).encode()
        )
        judge.look(
            lambda m=method, p=path, r=raw: client.generic(m, p, r, "application/json"),
            f"{method} {path} {raw!r}",
        )
    judge.assert_nothing_wrong()


def test_no_page_address_is_our_error_or_large_or_slow(world: World) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(factories.user(role="admin"))
    chance = random.Random(18)
    judge = Judge()
    for _ in range(ADDRESSES):
        path = chance.choice(sorted(READ))
        names = [
            *READ[path],
            "sort",
            "page",
            "q",
            "provider",
            "as_of",
            "metric",
            "currency",
            "cols",
        ]
        query = [
            (chance.choice(names), chance.choice(WORDS)) for _ in range(chance.randint(1, 6))
        ] * chance.choice((1, 1, 1, 40))
        if chance.random() < 0.1:
            path += quote(chance.choice(WORDS)[:300])
        address = f"{path}?{urlencode(query)}"
        judge.look(lambda a=address: client.get(a), address)
    judge.assert_nothing_wrong()
