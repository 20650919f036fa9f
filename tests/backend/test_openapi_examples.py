"""Examples of the description: each is what its operation takes, and each refusal names its codes."""

import json
from typing import Any

import jsonschema
import pytest
from drf_spectacular.generators import SchemaGenerator

from backend.api.examples import EXAMPLES, JSON
from backend.core.rest.problem import PROBLEM_CODES

pytestmark = pytest.mark.django_db
# Operations that take JSON and have no example, and why.
BY_NAME = {
    "cloud_accounts_create": "each provider has settings and secrets of its own",
    "cloud_accounts_secret_create": "likewise",
}


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(
        json.dumps(SchemaGenerator().get_schema(public=True), default=str)
    )
    return told


def operations(description: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for methods in description["paths"].values() for one in methods.values()]


def creating(description: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What POSTs take as JSON, by the name of the operation."""
    return {
        methods["post"]["operationId"]: methods["post"]["requestBody"]["content"][JSON]
        for methods in description["paths"].values()
        if JSON in methods.get("post", {}).get("requestBody", {}).get("content", {})
    }


def json_schema(schema: Any) -> Any:
    """A schema of OpenAPI 3.0 as JSON Schema, which has no word `nullable`."""
    if isinstance(schema, list):
        return [json_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    rest = {name: json_schema(one) for name, one in schema.items() if name != "nullable"}
    return {"anyOf": [{"type": "null"}, rest]} if schema.get("nullable") is True else rest


def test_every_post_with_a_json_body_has_an_example(description: dict[str, Any]) -> None:
    bodies = creating(description)
    assert {name for name, body in bodies.items() if "example" not in body} == {*BY_NAME}
    assert {*EXAMPLES} <= {*bodies}


def test_examples_are_what_the_description_says(
    description: dict[str, Any], subtests: pytest.Subtests
) -> None:
    parts = json_schema(description["components"])
    for name, body in creating(description).items():
        if "example" in body:
            with subtests.test(name):
                schema = {**body["schema"], "components": parts}
                faults = jsonschema.Draft4Validator(schema).iter_errors(body["example"])
                assert [fault.message for fault in faults] == []


def test_calculations_take_their_examples_as_they_are(
    description: dict[str, Any], caller: Any, demo: None
) -> None:
    reader = caller("read")
    for name in ("array_estimate", "contention_solve", "requirements_solve", "scenarios_simulate"):
        [path] = [
            path
            for path, methods in description["paths"].items()
            if methods.get("post", {}).get("operationId") == name
        ]
        answer = reader.post(path, json.dumps(EXAMPLES[name]), content_type=JSON)
        assert answer.status_code == 200, answer.content[:500]


def test_refusals_name_the_codes_of_their_problems(description: dict[str, Any]) -> None:
    listed = description["paths"]["/api/v1/runs"]["post"]["responses"]
    assert listed["400"]["description"] == "Bad Request (code: invalid, parse_error)"
    codes = {code for code, (status, _) in PROBLEM_CODES.items() if status in {400, 401, 404, 429}}
    told = " ".join(
        answer["description"]
        for operation in operations(description)
        for answer in operation["responses"].values()
    )
    assert {code for code in codes if code not in told} == set()
