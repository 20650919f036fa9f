"""Scripts of other sites: only of those that CORS_ORIGINS names, only the API, and without cookies."""

import pytest
from django.test import Client

from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
SITE = "https://sheets.example"
OTHER = "https://other.example"
ALLOWED = "Access-Control-Allow-Origin"


@pytest.fixture
def named(settings):
    settings.PUBLIC_READ = True
    settings.CORS_ALLOWED_ORIGINS = [SITE]


def asked(path, origin=SITE, **headers):
    return Client().get(path, headers={"origin": origin, **headers})


def test_no_other_site_may_read_unless_it_is_named(settings):
    assert settings.CORS_ALLOWED_ORIGINS == []
    assert settings.CORS_ALLOW_ALL_ORIGINS is False
    assert ALLOWED not in asked(f"{API}/problems").headers


def test_named_site_may_read_answers_refusals_and_their_headers(named):
    for path, status in ((f"{API}/problems", 200), (f"{API}/offers/nosuch", 404)):
        answer = asked(path)
        assert (answer.status_code, answer[ALLOWED]) == (status, SITE)
        assert {"X-Data-Version", "Location", "Retry-After"} <= {
            *answer["Access-Control-Expose-Headers"].split(", ")
        }
        assert "Access-Control-Allow-Credentials" not in answer.headers
        assert "origin" in answer["Vary"].lower()
    refused = asked(f"{API}/tokens", authorization="Bearer wrong")
    assert (refused.status_code, refused[ALLOWED]) == (401, SITE)
    assert ALLOWED not in asked(f"{API}/problems", OTHER).headers


def test_named_site_is_answered_before_it_sends_a_token(named):
    asking = {
        "origin": SITE,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type, idempotency-key",
    }
    answer = Client().options(f"{API}/runs", headers=asking)
    assert (answer.status_code, answer[ALLOWED]) == (200, SITE)
    assert "POST" in answer["Access-Control-Allow-Methods"]
    assert {"authorization", "idempotency-key"} <= {
        *answer["Access-Control-Allow-Headers"].split(", ")
    }
    other = Client().options(f"{API}/runs", headers={**asking, "origin": OTHER})
    assert ALLOWED not in other.headers


def test_pages_are_for_no_other_site(named):
    for path in ("/", "/admin/login/", "/healthz"):
        assert ALLOWED not in asked(path).headers


def test_any_site_may_read_where_the_setting_says_so(named, settings):
    settings.CORS_ALLOWED_ORIGINS, settings.CORS_ALLOW_ALL_ORIGINS = [], True
    assert asked(f"{API}/problems", OTHER)[ALLOWED] == "*"
