"""Everything that answers over HTTP, each with an object, for the table of permissions."""

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator

from backend.accounts.models import Membership, User, Workspace
from backend.accounts.services.members import invitation_create
from backend.accounts.services.people import sign_in_link_create
from backend.accounts.services.sessions import browser_sessions
from backend.benchmarks.models import HostAuthority, Tick
from backend.benchmarks.services.imports import result_import
from backend.benchmarks.services.summaries import summaries_refresh
from backend.bills.models import BillUpload, UploadState
from backend.catalog.models import PricePayload
from backend.core import clock
from backend.rankings.models import SavedView
from backend.rankings.services.feeds import feed_key_create
from backend.rankings.services.views import view_create
from tests import factories
from tests.backend import api_world
from tests.backend.api_world import Call
from tests.e2e.every_page import HARDWARE

API = "/api/v1"
PRIVATE = "private-offer"
METHODS = ("GET", "POST")
ROLES = ("viewer", "analyst", "operator", "admin", "superuser")
SCOPES = {"viewer": "read", "analyst": "write", "operator": "run", "admin": "admin"}
OWN, FOREIGN, OURS, SHARED, NO_OBJECT = "own", "foreign", "shared by us", "shared", "–"
# Who knows the secret in the address may follow it.
SECRETS = {"link", "invitation", "feeds"}
# Words of the program, which belong to nobody.
VOCABULARY = {"metrics", "scores", "schemas", "new", "table-templates"}
# There is one of each for all workspaces.
OF_ALL = {"price-feeds", "lists", "payloads"}


@dataclass(frozen=True)
class Operation:
    """One row: what is called, and the word for the kind of its object ("" without one)."""

    method: str
    path: str
    """With parameters in braces."""
    words: tuple[tuple[str, str], ...]
    """(kind of object, parameter) in the order of the path."""

    media: str = ""
    """Of the body that the API takes."""

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    def situations(self, shared: set[str]) -> list[str]:
        """Whose the object may be."""
        word = self.words[0][0] if self.words else ""
        if word == "sessions":
            return [FOREIGN]
        if not word or word in SECRETS | VOCABULARY:
            return [NO_OBJECT]
        if word in OF_ALL:
            return [OURS, SHARED]
        return [OWN, FOREIGN, *([OURS, SHARED] if word in shared else [])]


@dataclass
class World:
    """Workspace `default` has everything, `other` nothing; `shared` has what all see."""

    own: dict[str, list[str]]
    shared: dict[str, list[str]]
    made: dict[str, list[str]]
    calls: dict[str, Call]
    callers: dict[tuple[str, str], Client] = field(default_factory=dict)


def build() -> World:
    """One object of each kind in the default workspace, and the people of both workspaces."""
    made = api_world.build()
    # Ready for as long as the test takes.
    Tick.objects.create(at=clock.now() + dt.timedelta(hours=1))
    other = Workspace.objects.create(slug="other", name="Other")
    own, shared = {**made.ids}, {}
    private = factories.offer(PRIVATE, workspace=factories.workspace())
    prices = [
        factories.price(private, "0.5"),
        factories.price(private, "7", zone="a", is_published=False, anomaly="far"),
        factories.price(private, "0.7", zone="b", source="entered by somebody"),
    ]
    factories.sample(private, 12.5, source="imported")
    summaries_refresh()
    text = api_world.DD.replace("8.2", "8.7")
    result = result_import(
        workspace=factories.workspace(),
        offer=private,
        tool="dd",
        text=text,
        parameters=None,
        actor="test",
    )
    for word in ("offers", "prices", "results", "price-feeds"):
        shared[word] = made.ids[word]
    public = factories.sample(factories.offer("measured-by-us"), 5.0)
    shared["samples"] = [str(public.pk)]
    own |= {
        "offers": [PRIVATE],
        "prices": [str(price.pk) for price in prices],
        "results": [str(result.evidence.pk)],
        **_of_pages(made.ids),
        **_of_people(),
    }
    shared |= {"lists": shared["price-feeds"], "payloads": own["payloads"]}
    shared["evidence"] = shared["results"]
    world = World(own, shared, made.ids, made.calls)
    _admit(world, factories.workspace(), "own")
    _admit(world, other, "foreign")
    return world


def _of_pages(ids: dict[str, list[str]]) -> dict[str, list[str]]:
    """What only pages tell of."""
    boss = Client()
    boss.force_login(factories.user(role="admin", username="boss"))
    boss.post("/reports/new/", {"title": "Web 2027", "note": "We take it."})
    boss.post("/hardware/new/", HARDWARE)
    view = SavedView.objects.get(slug=ids["views"][0])
    _, key = feed_key_create(view=view, name="program", actor="boss")
    authority = HostAuthority.objects.create(
        workspace=factories.workspace(), patterns="*.example.org", public_key=api_world.KEY
    )
    now = clock.now()
    payload = PricePayload.objects.create(
        feed_id=ids["price-feeds"][0], fetched_at=now, raw_gzip=b"", sha256="ab" * 32, size_bytes=0
    )
    upload = BillUpload.objects.create(
        workspace=factories.workspace(),
        name="November",
        file_name="november.csv",
        size_bytes=1,
        state=UploadState.ASKS,
    )
    return {
        "reports": ["web-2027"],
        "uploads": [str(upload.pk)],
        "authorities": [str(authority.pk)],
        "payloads": [str(payload.pk)],
        "lists": ids["price-feeds"],
        "feeds": [key],
        "scenario": ids["scenarios"],
        "mappings": ids["table-mappings"],
        "bill": ids["bills"],
        "clouds": ids["cloud-accounts"],
        "keys": ids["feed-keys"],
        "new": ["hetzner"],
        "metrics": ["cmips_score"],
        "scores": ["cmips_score"],
    }


def _of_people() -> dict[str, list[str]]:
    member = Membership.objects.get(user=factories.user(username="colleague"))
    invitation, secret = invitation_create(
        workspace=factories.workspace(), scope="read", actor="boss"
    )
    return {
        "people": [str(member.pk)],
        "invitations": [str(invitation.pk)],
        "invitation": [secret],
        "link": [sign_in_link_create(user=member.user)[1]],
        "workspaces": ["default"],
        "sessions": [next(browser_sessions(User.objects.get(username="boss"), None)).name],
    }


def _admit(world: World, workspace: Workspace, side: str) -> None:
    for role in ROLES:
        if role == "superuser":
            person: User = factories.user(
                workspace=workspace, username=f"{side}-{role}", is_superuser=True, is_staff=True
            )
        else:
            person = factories.user(
                workspace=workspace, username=f"{side}-{role}", role=SCOPES[role]
            )
        client = Client()
        client.force_login(person)
        world.callers[role, side] = client


def nested_keys(world: World) -> str:
    """The address of a foreign key below a view of the other workspace's own."""
    view = view_create(
        workspace=Workspace.objects.get(slug="other"),
        name="Mine",
        params={},
        visibility="shared",
        actor="foreign-admin",
    )
    feed_key_create(view=view, name="mine", actor="foreign-admin")
    return f"/views/{view.slug}/keys/{world.own['keys'][0]}/revoke/"


# --- what there is --------------------------------------------------------------------------------


def operations() -> list[Operation]:
    """Those of the API by its description, and the pages by the resolver."""
    found = [
        Operation(method.upper(), path, _words(path), _media(told))
        for path, methods in SchemaGenerator().get_schema(public=True)["paths"].items()
        for method, told in methods.items()
        if path.startswith(API)
    ]
    pages = [
        Operation(method, path, _words(path))
        for path in addresses(get_resolver().url_patterns)
        for method in METHODS
    ]
    return sorted([*found, *pages], key=lambda one: (one.path, one.method))


def addresses(patterns: list[Any], prefix: str = "/") -> Iterator[str]:
    """Every address but the API's and Django's own pages, parameters in braces."""
    for one in patterns:
        if isinstance(one, URLResolver):
            # Namespaces are Django's own pages and the API.
            if not one.namespace:
                yield from addresses(one.url_patterns, prefix + str(one.pattern))
        elif isinstance(one, URLPattern):
            yield prefix + _braced(str(one.pattern))


def _braced(pattern: str) -> str:
    named = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", pattern)
    return (
        re.sub(r"<\w+:(\w+)>", r"{\1}", named).replace("^", "").replace("$", "").replace("\\", "")
    )


def _media(told: dict[str, Any]) -> str:
    return next(iter(told.get("requestBody", {}).get("content", {})), "")


def _words(path: str) -> tuple[tuple[str, str], ...]:
    return tuple(re.findall(r"([a-z-]+)/\{(\w+)\}", path))
