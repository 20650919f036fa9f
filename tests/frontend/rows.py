"""Rows that every page can show: a measured offer with its run and evidence, published offers."""

import gzip
import hashlib
from dataclasses import dataclass
from typing import Any

from backend.benchmarks.models import Evidence, Run, RunState, Step
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import Offer
from backend.catalog.services.current_prices import prices_refresh
from backend.catalog.services.data_version import data_version_bump
from tests import factories

TEXT = '{"schema":1,"probe":"cmips","iterations":1024000000}\nsecond line <b>\n'


@dataclass(frozen=True)
class Measured:
    """An offer with one finished run of three repeats."""

    offer: Offer
    run: Run
    evidence: Evidence


def evidence(run: Run, n: int, text: str = TEXT) -> Evidence:
    content = text.encode()
    return Evidence.objects.create(
        run=run,
        n=n,
        probe="cmips",
        variant="all",
        repeat=n,
        command="bin/cmips --threads all",
        tool_version="1",
        conditions={"steal_ratio": 0.012, "is_quiet": True, "wall_s": 5.0},
        exit_code=0,
        raw_gzip=gzip.compress(content),
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def measured_offer() -> Measured:
    """The offer `own-rack` at 73 USD a month: 990, 1000 and 1010 CMIPS."""
    offer = factories.offer("own-rack", provider_slug="own", kind="dedicated", name="rack")
    factories.price(offer, "73", unit="month", purchase_model="monthly", currency="USD")
    host = factories.host(offer, name="rack", facts={"cpu_model": "Test CPU", "vcpu_count": 4})
    at = factories.AT
    run = factories.run(
        host, state=RunState.DONE, started_at=at, finished_at=at, progress_ratio=1.0
    )
    Step.objects.create(run=run, state=RunState.RUNNING, finished_at=at)
    pieces = [evidence(run, n) for n in range(3)]
    for n, value in enumerate((990.0, 1000.0, 1010.0)):
        factories.sample(offer, value, host=host, run=run, evidence=pieces[n], repeat=n)
    data_version_bump()
    prices_refresh()
    summaries_refresh()
    return Measured(offer, run, pieces[0])


def published(slug: str, score: float, price: str | None, **given: Any) -> Offer:
    """An offer with a published CPU score and perhaps an hourly price."""
    offer = factories.offer(slug, **given)
    factories.sample(offer, score, source="published", source_note=slug, measured_at=factories.AT)
    if price is not None:
        factories.price(offer, price)
    return offer
