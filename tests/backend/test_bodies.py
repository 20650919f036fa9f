"""Bodies that are too long or too deep: refused as what the caller can read, and not read before."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import get_resolver, reverse
from django.urls.resolvers import RoutePattern

from backend.accounts.models import Scope
from backend.core.bodies import FORM_BYTES
from tests import factories
from tests.backend.conftest import API
from tests.pure.scenarios.documents import all_of, price, startup

pytestmark = pytest.mark.django_db
JSON = "application/json"
PROBLEM = "application/problem+json"
DEEP = "[" * 200_000
WALKED_DEEP = '{"name":' + "[" * 800 + "]" * 800 + "}"
METHODS = ("post", "put", "patch")


@pytest.fixture(autouse=True)
def _plain_pages(settings: LazySettings) -> None:
    settings.PUBLIC_READ = True
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@pytest.fixture
def admin(caller: Callable[..., Client]) -> Client:
    client = caller("admin")
    client.raise_request_exception = False
    return client


def unsafe_operations() -> Iterator[tuple[str, str]]:
    """(method, address) of everything in the API that takes a body; of objects that are none."""
    stands = {"UUIDConverter": UUID(int=1), "IntConverter": 1, "SlugConverter": "x"}
    [api] = [one for one in get_resolver().url_patterns if str(one.pattern) == "api/v1/"]
    for one in api.url_patterns:
        if not isinstance(one.pattern, RoutePattern) or not one.name:
            continue
        kinds = {name: type(kind).__name__ for name, kind in one.pattern.converters.items()}
        given = {name: stands[kind] for name, kind in kinds.items()}
        for method in METHODS:
            if hasattr(getattr(one.callback, "cls", None), method):
                yield method, reverse(f"api:{one.name}", kwargs=given)


OPERATIONS = sorted(set(unsafe_operations()))


def answers(client: Client, body: object, **given: Any) -> dict[str, tuple[int, str]]:
    """Status and content type of every operation when it is sent the body."""
    found = {}
    for method, address in OPERATIONS:
        response = getattr(client, method)(address, body, JSON, **given)
        found[f"{method} {address}"] = (response.status_code, response["Content-Type"])
    return found


def test_long_body_of_the_api_is_a_problem_413(admin: Client) -> None:
    told = answers(admin, b"{}", CONTENT_LENGTH=str(10**10))
    assert len(told) > 30
    assert set(told.values()) == {(413, PROBLEM)}, told


@pytest.mark.parametrize("body", [DEEP, WALKED_DEEP], ids=["parsed", "walked"])
def test_deep_body_of_the_api_is_a_fault_of_the_caller(admin: Client, body: str) -> None:
    told = answers(admin, body)
    # A file, whatever it calls itself: what is wrong with it is on the job that a worker does.
    assert told.pop(f"post {API}/bills") == (202, JSON)
    assert {kind for _, kind in told.values()} == {PROBLEM}, told
    assert all(400 <= status < 500 for status, _ in told.values()), told


def test_body_that_is_too_deep_is_a_problem_400(admin: Client) -> None:
    response = admin.post(f"{API}/runs", DEEP, JSON)
    assert response.status_code == 400
    assert "too deeply" in response.json()["detail"]


def test_body_between_the_limits_of_django_and_ours_is_read(admin: Client) -> None:
    response = admin.post(f"{API}/runs", {"profile": "x" * 4_000_000}, JSON)
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"


def test_scenario_of_nearly_eight_megabytes_is_kept_and_calculated(admin: Client) -> None:
    lines = "".join(f"{1767225600 + 2 * n},{n % 7 + 0.25}\n" for n in range(430_000))
    demand = {"kind": "trace", "csv": f"time,value\n{lines}"}
    document = startup(all_of("cloud", price("0.4")), demand=demand)
    for address in (f"{API}/scenarios/simulate", f"{API}/scenarios"):
        response = admin.post(address, document, JSON)
        assert response.status_code in {200, 201}, response.content[:500]
    response = admin.post(f"{API}/scenarios", document | {"name": "x" * 1_000_000}, JSON)
    assert response.status_code == 413


def test_body_without_a_length_is_refused(admin: Client) -> None:
    given: dict[str, Any] = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
    response = admin.post(f"{API}/scenarios/simulate", b"{}", JSON, **given)
    assert (response.status_code, response["Content-Type"]) == (411, "application/problem+json")


# --- pages ----------------------------------------------------------------------------------------


@pytest.fixture
def analyst(client: Client) -> Client:
    client.force_login(factories.user(role=Scope.WRITE))
    return client


@pytest.mark.parametrize("address", ["/accounts/login/", "/admin/login/", "/scenarios/preview/"])
def test_long_form_of_a_stranger_is_refused_before_it_is_read(
    client: Client, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.http.HttpRequest._load_post_and_files", read_nothing)
    file = SimpleUploadedFile("x", b"x" * (FORM_BYTES + 1))
    response = client.post(address, {"file": file})
    assert response.status_code == 413
    assert b"Nothing was stored" in response.content


def read_nothing(_request: Any) -> None:
    raise AssertionError("the body was read")


@pytest.mark.parametrize(
    "address", ["/import/", "/import/run/", "/prices/tables/", "/scenarios/trace/"]
)
def test_page_takes_files_only_of_people_who_have_signed_in(address: str, analyst: Client) -> None:
    def post(client: Client) -> int:
        file = SimpleUploadedFile("x", b"x" * (FORM_BYTES + 1))
        return int(client.post(address, {"file": file}).status_code)

    assert post(Client()) == 413
    assert post(analyst) == 200


def test_page_for_files_has_a_limit_too(analyst: Client) -> None:
    response = analyst.post("/import/", b"x", "text/plain", CONTENT_LENGTH=str(10**9))
    assert response.status_code == 413
