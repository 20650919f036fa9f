"""Answers while the database or the broker is away."""

import socket

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client
from kombu.exceptions import OperationalError as NotSent
from redis.exceptions import ConnectionError as BrokerAway

from backend.config.celery import app
from backend.config.messages import BROKER_S
from backend.core.queue import Task
from backend.core.redis_cache import RedisCache
from backend.core.rest import throttles


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


@pytest.fixture(params=[OperationalError("could not connect"), BrokerAway("refused")])
def away(request, monkeypatch):
    def fail(*_args: object, **_given: object) -> None:
        raise request.param

    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", fail)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/offers/", "/runs/", "/scenarios/"])
def test_page_says_503_when_what_it_needs_is_away(client, away, path):
    answer = client.get(path)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "try again in a few seconds" in answer.content.decode()


@pytest.mark.django_db
def test_api_says_503_as_a_problem_document(client, away):
    answer = client.get("/api/v1/runs")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.json()["detail"] == "the database or the broker is away"
    assert "connect" not in answer.content.decode()


@pytest.mark.django_db
def test_other_failures_stay_500(client, monkeypatch):
    def fail(*_args: object, **_given: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", fail)
    answer = client.get("/api/v1/runs")
    assert answer.status_code == 500
    assert "a fault of ours" not in answer.content.decode()


def test_message_for_a_broker_that_is_silent_is_soon_refused(monkeypatch):
    options = app.conf.broker_transport_options
    for name in ("socket_connect_timeout", "socket_timeout"):
        assert options[name] == BROKER_S
        monkeypatch.setitem(options, name, 0.1)
    # It takes connections and never answers, like a machine that has lost power.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        with app.connection_for_write(url) as connection, pytest.raises(NotSent, match="Timeout"):
            app.send_task(Task.TICK, connection=connection)


def test_counter_that_is_silent_is_asked_once_in_a_while(monkeypatch):
    options = settings.CACHES["default"]["OPTIONS"]
    assert options.keys() == {"socket_connect_timeout", "socket_timeout"}
    monkeypatch.setattr(throttles, "_silence", throttles._Silence())
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        counters = RedisCache(url, {"OPTIONS": dict.fromkeys(options, 0.1)})

        def incr(*given):
            asked.append(given)
            return counters.incr(*given)

        monkeypatch.setattr(throttles.cache, "incr", incr)
        assert [throttles.spend("pages", "1/min", "somebody") for _ in range(3)] == [None] * 3
        assert len(asked) == 1
        monkeypatch.setattr(throttles, "SILENT_S", 0)
        throttles._silence.begin()
        assert throttles.spend("pages", "1/min", "somebody") is None
    assert len(asked) == 2
