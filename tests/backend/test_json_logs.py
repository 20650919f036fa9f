"""Log lines as JSON: one object each, with the ids of what they are about, without secrets."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from backend.common.logs import JsonFormatter, logged_with


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("django.request")
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)


def _objects(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_line_carries_the_id_that_the_answer_has(client: Client, lines: io.StringIO) -> None:
    answer = client.get("/healthz/nothing", headers={"X-Request-ID": "proxy-1234"})
    (line,) = _objects(lines)
    assert answer.headers["X-Request-ID"] == line["request_id"] == "proxy-1234"
    assert (line["level"], line["logger"]) == ("WARNING", "django.request")


@pytest.mark.parametrize("given", ["", "short", "x" * 65, 'a"b{c}d e'])
def test_id_of_a_caller_is_replaced_when_it_is_none(client: Client, given: str) -> None:
    answer = client.get("/healthz", headers={"X-Request-ID": given})
    assert len(answer.headers["X-Request-ID"]) == 32


def test_exception_stays_in_the_line_and_keys_are_masked(lines: io.StringIO) -> None:
    log = logging.getLogger("django.request")
    with logged_with(run_id="7"):
        try:
            raise ValueError("at /feeds/rf_0123456789abcdef0123/x.csv")
        except ValueError:
            log.exception("a fault\nof two lines")
    log.warning("later")
    first, second = _objects(lines)
    assert (first["run_id"], first["message"]) == ("7", "a fault\nof two lines")
    assert "ValueError: at /feeds/***/x.csv" in first["exception"]
    assert "run_id" not in second
