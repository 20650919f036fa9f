"""People who browse while hosts are measured: `./rackrate bench load`. Prints one JSON document.

200 people look at pages for two minutes, each with a connection of their own and the time to think
that a person takes, half of them signed in, in the catalog of _ranking_data.py. Meanwhile the
stack's own worker runs a campaign on 50 SSH hosts (_farm.py), each of which has a result every
five seconds.

- `pages`: of each kind of page, how often it was there and how soon, in ms;
- `errors`: whatever was no 200, with its count;
- `processor_s`: what each program took meanwhile; `bench` are the people and the hosts themselves,
  who share the processors with what they measure;
- `late_s`: how much later than a period after the one before a reading of a run came, as its host saw it;
- `steps`: what the hosts measured, and what of it is `lost`: no evidence and no sample of it;
- `runs`: how they ended; `load`: the machine's load averages at the end.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import asyncio
import json
import os
import random
import ssl
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import quantiles
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

import httpx
from django.conf import settings
from django.test import Client

from backend.benchmarks.calc.campaign_document import CampaignPlan
from backend.benchmarks.models import Campaign, Evidence, Run, RunState, Sample
from backend.benchmarks.services.campaigns import campaign_create, campaign_start
from backend.benchmarks.services.demo import demo_remove
from backend.catalog.models import Offer
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.services.scenarios import scenario_create
from tests import factories
from tests.bench import _ranking_data
from tests.bench._farm import Farm
from tests.bench._processor_time import processor_s
from tests.bench.engine import farm_hosts
from workers.engine.followed_run import PERIOD_S

PEOPLE = 200
BROWSED_S = 120
THINKING_S = (5, 15)
PATIENCE_S = 30
HOSTS = 50
STEP_S = 5.0
STEPS = 45
# The runs are under way, and over, within so many seconds of their time.
WITHIN_S = 300
TEMPLATE = "startup"
Pages = Mapping[str, Callable[[random.Random], str]]


def pages_of(campaign: Campaign) -> Pages:
    """What people look at: kind of page → an address of it."""
    slugs = list(Offer.objects.order_by("pk").values_list("slug", flat=True))
    runs = list(campaign.runs.values_list("pk", flat=True))
    template = TEMPLATES[TEMPLATE]
    scenario = scenario_create(
        workspace=campaign.workspace,
        document=template.document,
        actor="bench",
        template=template.key,
    )
    return {
        "answer": lambda chance: (
            f"/?vcpu={chance.choice((2, 4, 8, 16))}&ram={chance.choice((8, 16))}"
        ),
        "offers": lambda chance: (
            f"/offers/?provider=maker-{chance.randrange(_ranking_data.PROVIDERS)}"
            f"&vcpu__gte={chance.choice((2, 4, 8))}"
        ),
        "compare": lambda chance: f"/compare/?o={','.join(chance.sample(slugs, 4))}",
        "offer": lambda chance: f"/offers/{chance.choice(slugs)}/",
        "frontier": lambda _: "/frontier/",
        "scenario": lambda _: f"/scenarios/{scenario.slug}/",
        "runs": lambda _: "/runs/",
        "run": lambda chance: f"/runs/{chance.choice(runs)}/",
    }


# --- the campaign -----------------------------------------------------------------------------


def begun(farm: Farm) -> Campaign:
    """A campaign whose runs are all under way."""
    hosts = farm_hosts(farm.shown)
    plan = CampaignPlan(
        hosts=[host.pk for host in hosts],
        profile="quick",
        probes=["cmips"],
        parameters={"seconds": STEP_S - 1, "repeats": STEPS, "quiet_budget_s": 0},
        concurrency=HOSTS,
    )
    campaign = campaign_create(
        workspace=factories.workspace(), name="Load", plan=plan, actor="bench"
    )
    campaign_start(campaign=campaign, actor="bench")
    _wait(lambda: _states(campaign) == {RunState.RUNNING: HOSTS}, campaign)
    return campaign


def ended(campaign: Campaign, farm: Farm) -> dict[str, Any]:
    """What became of the campaign once it is over."""
    _wait(lambda: not campaign.runs.filter(finished_at=None).exists(), campaign, STEP_S * STEPS)
    seen = farm.end()
    kept = (
        Evidence.objects.filter(run__campaign=campaign, probe="cmips").count(),
        Sample.objects.filter(run__campaign=campaign).count(),
    )
    late_s = [max(0.0, gap_s - PERIOD_S) for gap_s in seen["gaps_s"]]
    cuts = quantiles(late_s, n=20)
    return {
        "late_s": {
            "p50": round(cuts[9], 2),
            "p95": round(cuts[18], 2),
            "max": round(max(late_s), 2),
            "count": len(late_s),
        },
        "steps": {"measured": seen["steps"], "lost": seen["steps"] - min(kept)},
        "runs": _states(campaign),
    }


def _states(campaign: Campaign) -> dict[str, int]:
    return dict(Counter(Run.objects.filter(campaign=campaign).values_list("state", flat=True)))


def _wait(is_so: Callable[[], bool], campaign: Campaign, more_s: float = 0) -> None:
    until = time.monotonic() + WITHIN_S + more_s
    while not is_so():
        if time.monotonic() > until:
            raise SystemExit(f"the runs are {_states(campaign)}")
        time.sleep(0.5)


# --- the people -------------------------------------------------------------------------------


class Crowd:
    """Everybody who browses, and what they saw."""

    def __init__(self, url: str, pages: Pages, cookies: Sequence[str]) -> None:
        self._url, self._pages, self._cookies = url, pages, cookies
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: Counter[str] = Counter()

    async def browse(self, people: int, seconds: float, thinking_s: tuple[float, float]) -> None:
        # One for all: each takes tenths of a second to make, and nothing is encrypted here.
        context = ssl.create_default_context()
        await asyncio.gather(
            *(
                self._person(n, time.monotonic() + seconds, thinking_s, context)
                for n in range(people)
            )
        )

    async def _person(
        self, number: int, until: float, thinking_s: tuple[float, float], context: ssl.SSLContext
    ) -> None:
        chance = random.Random(number)
        # Every other one is signed in.
        cookies = {settings.SESSION_COOKIE_NAME: self._cookies[number // 2]} if number % 2 else None
        headers = {"Accept-Language": chance.choice(("en", "de", "es"))}
        async with httpx.AsyncClient(
            base_url=self._url,
            cookies=cookies,
            headers=headers,
            timeout=PATIENCE_S,
            # Everybody comes from an address of their own, as strangers do.
            transport=httpx.AsyncHTTPTransport(
                verify=context, local_address=f"127.0.1.{number + 1}"
            ),
        ) as client:
            await asyncio.sleep(chance.uniform(0, thinking_s[1]))
            while time.monotonic() < until:
                await self._look(client, chance)
                await asyncio.sleep(chance.uniform(*thinking_s))

    async def _look(self, client: httpx.AsyncClient, chance: random.Random) -> None:
        name = chance.choice(list(self._pages))
        address = self._pages[name](chance)
        began = time.perf_counter()
        try:
            status = (await client.get(address)).status_code
        except httpx.HTTPError as error:
            self.errors[f"{name}: {type(error).__name__}"] += 1
            return
        self.seconds[name].append(time.perf_counter() - began)
        if status != httpx.codes.OK:
            self.errors[f"{name}: {status}"] += 1


def spread_ms(seconds: Sequence[float]) -> dict[str, float]:
    """Middle, nearly worst and worst of some times."""
    cuts = quantiles(seconds, n=20) if len(seconds) > 1 else [*seconds] * 19
    figures = {"p50": cuts[9], "p95": cuts[18], "max": max(seconds)}
    return {name: round(value * 1e3) for name, value in figures.items()} | {"count": len(seconds)}


def signed_in() -> str:
    """The session of a new member."""
    client = Client()
    client.force_login(factories.user())
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def browsed(url: str, campaign: Campaign) -> dict[str, Any]:
    """What the people saw, once every page has been there."""
    pages, cookies = pages_of(campaign), [signed_in() for _ in range(PEOPLE // 2)]
    asyncio.run(Crowd(url, pages, cookies).browse(8, 15, (0, 0.2)))
    crowd, before = Crowd(url, pages, cookies), processor_s()
    asyncio.run(crowd.browse(PEOPLE, BROWSED_S, THINKING_S))
    taken = processor_s() - before
    everything = [one for seconds in crowd.seconds.values() for one in seconds]
    return {
        "pages": {name: spread_ms(seconds) for name, seconds in sorted(crowd.seconds.items())}
        | {"all": spread_ms(everything)},
        "errors": dict(crowd.errors),
        "processor_s": {program: round(seconds) for program, seconds in taken.most_common()},
    }


def main() -> int:
    url = os.environ.get("RACKRATE_URL")
    if not url:
        raise SystemExit("RACKRATE_URL names no web server; ./rackrate bench load starts one")
    demo_remove()
    rows = _ranking_data.load()
    farm = Farm(HOSTS, STEP_S, STEPS)
    campaign = begun(farm)
    seen = browsed(url, campaign)
    print(json.dumps({**rows, **seen, **ended(campaign, farm), "load": os.getloadavg()}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
