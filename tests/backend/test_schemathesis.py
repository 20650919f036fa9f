"""The API called by its own description: properly, and with all that may be thought up, by every
scope and by strangers. A call is undone before the next one."""

import logging
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.conf import LazySettings
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from backend.benchmarks.api import hosts
from backend.rentals.api import cloud_accounts
from tests.backend import api_world
from tests.backend.api_world import Call, World
from tests.conftest import IS_DEEP

# Marked by hand, for the examples are drawn within a test: hypothesis sees no property in it.
pytestmark = [pytest.mark.django_db, pytest.mark.hypothesis]
PREFIX = "/api/v1"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# Calls of each operation, and who beside an admin makes them: each run draws others.
EXAMPLES, OTHERS = (100, 2) if IS_DEEP else (2, 1)
# Scopes that most operations refuse; None are strangers.
LOWER: tuple[str | None, ...] = ("run", "write", "read", None)
CONFIG = {"generation": {"with-security-parameters": False}}


@cache
def described() -> Any:
    """The API by its description."""
    told = SchemaGenerator().get_schema(public=True)
    config = schemathesis.Config.from_dict(CONFIG)
    schema = schemathesis.openapi.from_dict(told, config=config)
    schema.app = get_wsgi_application()
    return schema


@cache
def operations() -> dict[str, Any]:
    """Every operation by its method and path."""
    found = (each.ok() for each in described().get_all_operations())
    return {f"{one.method.upper()} {one.path.removeprefix(PREFIX)}": one for one in found}


@pytest.fixture
def world(
    settings: LazySettings,
    queued: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[World]:
    """Everything, one connection that stays open, and workers that answer at once."""
    settings.PUBLIC_READ = True
    monkeypatch.setattr(hosts, "host_scan", api_world.scanned_at_once)
    monkeypatch.setattr(cloud_accounts, "account_check", api_world.checked_at_once)
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield api_world.build()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def answered(case: Any, headers: dict[str, str], checks: list[Any]) -> Any:
    """The answer, held against the description; what the call changed is undone."""
    with transaction.atomic():
        # Called within the process, nothing would unpack a compressed answer.
        response = case.call(headers={**headers, "Accept-Encoding": "identity"})
        transaction.set_rollback(True)
    case.validate_response(response, checks=checks, headers=headers)
    return response


def path_parameters_of(path: str) -> list[tuple[str, str]]:
    """The parameters of a path, each with the word before it."""
    return re.findall(r"/([a-z-]+)/\{(\w+)\}", path)


# --- properly -------------------------------------------------------------------------------------


def test_every_operation_succeeds_as_described_when_it_is_called_properly(
    world: World, token: Callable[..., str], subtests: pytest.Subtests
) -> None:
    headers = {"Authorization": f"Bearer {token('admin')}"}
    for name, operation in operations().items():
        with subtests.test(name):
            response = answered(proper(operation, world, name), headers, CHECKS)
            assert 200 <= response.status_code < 300, response.content[:500]


def proper(operation: Any, world: World, name: str) -> Any:
    call = world.calls.get(name, Call())
    path = {key: world.ids[word][0] for word, key in path_parameters_of(operation.path)}
    given = {} if call.body is None else {"body": call.body, "media_type": media(operation)}
    return operation.Case(path_parameters={**path, **call.ids}, query=dict(call.query), **given)


def media(operation: Any) -> str:
    return str(next(iter(operation.body)).media_type)


# --- in every way ---------------------------------------------------------------------------------


@cache
def described_calls(name: str) -> st.SearchStrategy[Any]:
    """Calls of an operation by its description, proper or wrong; costly to make."""
    operation = operations()[name]
    return st.one_of(
        operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode
    )


def calls(operation_name: str, operation: Any, world: World) -> st.SearchStrategy[Any]:
    """A call as described, or one that is wrong in some way; often of things that exist."""

    @st.composite
    def called(draw: st.DrawFn) -> Any:
        case = draw(described_calls(operation_name))
        if draw(st.booleans()):
            for word, name in path_parameters_of(operation.path):
                case.path_parameters[name] = draw(st.sampled_from(world.ids[word]))
        case.headers["Accept"] = draw(st.sampled_from(formats(operation)))
        if isinstance(case.body, dict):
            for name in sorted(set(case.body) & set(world.words)):
                if draw(st.booleans()):
                    case.body[name] = draw(st.sampled_from(world.words[name]))
        return case

    return called()


def formats(operation: Any) -> list[str]:
    """What its success may come as."""
    answers = operation.definition.raw["responses"].items()
    return [kind for code, one in answers if code < "300" for kind in one.get("content", ())] or [
        "*/*"
    ]


def checks_of(case: Any) -> list[Any]:
    """Unknown parameters are allowed, what is wrong with a path may have been put right, and in a
    form everything is a text: no value is of a wrong type."""
    wrong = {place for place, part in case.meta.components.items() if part.mode.is_negative}
    is_of_type = any("type" in one.keywords for one in case.meta.phase.data.mutations)
    is_form = case.media_type == "multipart/form-data"
    is_refused = wrong == {ParameterLocation.BODY} and not (is_form and is_of_type)
    return [*CHECKS, negative_data_rejection] if is_refused else CHECKS


def test_api_keeps_to_its_description_whatever_is_asked(
    world: World,
    token: Callable[..., str],
    caplog: pytest.LogCaptureFixture,
    subtests: pytest.Subtests,
) -> None:
    """Each call is made by who may do everything, and by others."""
    caplog.set_level(logging.ERROR, "django.request")
    headers = {
        scope: {"Authorization": f"Bearer {token(scope)}"} if scope else {}
        for scope in ("admin", *LOWER)
    }
    bounded = hypothesis.settings(
        max_examples=EXAMPLES,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        database=None,
    )
    others = st.sampled_from([*combinations(LOWER, OTHERS)])
    for name, operation in operations().items():

        @bounded
        @hypothesis.given(calls(name, operation, world), others)
        def kept(case: Any, lower: tuple[str | None, ...]) -> None:
            for scope in ("admin", *lower):
                answered(case, headers[scope], checks_of(case))

        with subtests.test(name):
            kept()
