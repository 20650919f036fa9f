"""Log lines as JSON: one object each, with the ids of what they are about, without secrets."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from backend.core.logs import JsonFormatter, MaskingFormatter, log_context


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


def _printed(write: Callable[[logging.Logger], None]) -> str:
    stream, logger = io.StringIO(), logging.getLogger("forged")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(MaskingFormatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
    write(logger)
    logger.removeHandler(handler)
    return stream.getvalue()


@pytest.mark.parametrize("mark", ["\n", "\r", "\x1b[2J", "\0", "\x9b31m", "\u2028", "\u202e"])
def test_message_is_one_line_when_a_host_says_control_characters(mark: str) -> None:
    said = f"refused:{mark}WARNING django.security.login admin signed in"
    text = _printed(lambda logger: logger.warning("run %s", said))
    assert text.count("\n") == 1
    assert text.startswith("WARNING run refused:\\")
    assert mark not in text.removesuffix("\n")


def test_traceback_is_indented_when_its_error_quotes_a_host() -> None:
    def write(logger: logging.Logger) -> None:
        try:
            raise ValueError("bad\nWARNING admin signed in\x1b[2J")
        except ValueError:
            logger.exception("step failed")

    first, *rest = _printed(write).splitlines()
    assert first == "ERROR step failed"
    assert all(line.startswith("  ") for line in rest)
    assert "\x1b" not in "".join(rest)


@pytest.mark.parametrize("given", ["", "short", "x" * 65, 'a"b{c}d e'])
def test_id_of_a_caller_is_replaced_when_it_is_none(client: Client, given: str) -> None:
    answer = client.get("/healthz", headers={"X-Request-ID": given})
    assert len(answer.headers["X-Request-ID"]) == 32


def test_exception_stays_in_the_line_and_keys_are_masked(lines: io.StringIO) -> None:
    log = logging.getLogger("django.request")
    with log_context(run_id="7"):
        try:
            raise ValueError("at /feeds/rf_0123456789abcdef0123/x.csv")
        except ValueError:
            log.exception("a fault\nof two lines")
    log.warning("later")
    first, second = _objects(lines)
    assert (first["run_id"], first["message"]) == ("7", "a fault\nof two lines")
    assert "ValueError: at /feeds/***/x.csv" in first["exception"]
    assert "run_id" not in second
