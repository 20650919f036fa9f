"""Reads price lists when they are due: asked of the provider, kept as they came, recorded.

Nothing is ever fetched for a page view. A list that cannot be read leaves the last good prices in
force and says why on its feed.
"""

import logging
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from django.conf import settings

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.services.twins import twins_refresh
from backend.catalog.models import PriceFeed
from backend.catalog.selectors.feeds import price_account
from backend.catalog.selectors.price_refresh import is_refreshing, is_resting, refresh_progress
from backend.catalog.selectors.published_prices import on_demand_prices
from backend.catalog.services.feeds import (
    ClaimLost,
    FeedClaim,
    feed_claim,
    feed_claim_now,
    feed_failed,
    feed_fenced,
    feed_given_back,
    feed_of,
    feed_read,
    feed_unchanged,
    payload_keep,
    payloads_tidy,
)
from backend.catalog.services.price_import import ImportReport, prices_record
from backend.catalog.services.price_refresh import RefreshBusy, price_refresh, price_refresh_due
from backend.catalog.services.rates import RatesReport, rates_noted, rates_record
from backend.core import clock
from backend.core.alone import alone
from backend.foundation.errors import DomainError, DriverError, InvalidValue
from backend.foundation.redaction import redact
from backend.money.price_lists.collected import Collected
from backend.notifications.models import NoticeKind
from backend.notifications.services.notices import notice_queue
from backend.providers.fetcher import FetchRequest
from backend.providers.http import Cancelled, FetchError, NotModified, Patience, Validators
from backend.providers.machines import Access
from backend.providers.price_feeds import FeedKind
from backend.providers.price_refresh import RefreshProgress, Trouble
from backend.providers.registry import feed_kind, feed_kinds
from backend.providers.spool import Spool
from workers.remote.registry import fetcher, rates_fetcher
from workers.rentals.account_access import access_of

log = logging.getLogger(__name__)

# Between two looks at lists that others read.
PAUSE_S = 1.0
# After this no further list is begun.
BUDGET_S = 45.0
# The most that asking for one list may take. With the time to record it, less than the lease.
FETCH_S = 600.0
TASK_S = 1_500
# Of PostgreSQL, for this database: one process reads lists, however many workers there are, so that reading
# never displaces work on runs.
LOCK = 0x52_52_50_52
FX_PROVIDER = "ecb"

Report = ImportReport | RatesReport


def fetch_due(*, is_needed: Callable[[], bool] = lambda: True) -> int:
    """Read every list that is due, one after the other; returns how many were tried."""
    tried, was_refreshing = 0, False
    pause = Patience(BUDGET_S, is_needed)
    with alone(LOCK) as is_alone:
        if is_alone:
            price_refresh_due()
            was_refreshing = is_refreshing()
        while is_alone and pause.is_left and (claim := feed_claim()) is not None:
            tried += 1
            try:
                _read(claim, Patience(FETCH_S, is_needed), is_conditional=True)
            except FetchError:
                pass  # on the feed, and logged
            except (Cancelled, ClaimLost) as why:
                log.info("%s: %s", _list_name(claim.feed), type(why).__name__)
    if was_refreshing and is_resting():
        log.warning("no provider answered: prices are refreshed again when somebody asks for it")
    return tried


def fetch_now(*, provider: str, region: str = "", kind: str = "") -> dict[str, ImportReport]:
    """Read the lists of a provider, due or not; reports by kind.

    Without `kind` all that can be read with the accounts there are. Raises FetchError, and
    InvalidValue for an unknown provider, kind or region.
    """
    kinds = (feed_kind(provider, kind),) if kind else _readable(provider)
    claims = [(kind, feed_of(provider, kind, region)) for kind in kinds]
    reports: dict[str, ImportReport] = {}
    for read_kind, feed in claims:
        report = _read(feed_claim_now(feed=feed), Patience(FETCH_S), is_conditional=False)
        if isinstance(report, ImportReport):
            reports[read_kind.kind] = report
    return reports


def refresh_now(*, actor: str) -> Iterator[RefreshProgress]:
    """Read every list that can be read, together with any workers; the progress after each pass.

    A refresh that is under way is followed. Raises NotOwned.
    """
    with suppress(RefreshBusy):
        price_refresh(workspace=default_workspace(), actor=actor)
    while (progress := refresh_progress()).is_running:
        yield progress
        if not fetch_due():
            time.sleep(PAUSE_S)
    yield progress


def rates_now(*, is_history: bool = False) -> RatesReport:
    """Record the rates of the last ninety days, or of all since 1999. Raises FetchError."""
    request = FetchRequest(Patience(FETCH_S), endpoint=_endpoint(FX_PROVIDER, None))
    rates = rates_fetcher(FX_PROVIDER, "fx_history" if is_history else "fx")
    with Spool() as spool:
        rates.fetch(request, spool)
        return rates_record(rates=rates.read(request, spool))


def _readable(provider: str) -> tuple[FeedKind, ...]:
    kinds = [kind for kind in feed_kinds(provider) if not kind.is_alternative]
    if all(kind.are_rates for kind in kinds):
        raise InvalidValue("/provider", f"{provider} publishes no prices")
    # All that can be read, so that one command fills a fresh database without an account.
    has_account = price_account(provider) is not None
    readable = tuple(kind for kind in kinds if has_account or not kind.needs_account)
    if not readable:
        raise FetchError(f"there is no enabled account at {provider}")
    return readable


# --- one list -----------------------------------------------------------------------------------------


def _read(claim: FeedClaim, patience: Patience, *, is_conditional: bool) -> Report | None:
    """Read the list; None where it is as before. Raises FetchError once that is on the feed."""
    feed, secret = claim.feed, dict[str, str]()
    after_s, trouble = 0.0, Trouble.UNREADABLE
    try:
        request = _request(feed, patience, is_conditional)
        secret = dict(request.access.secret) if request.access else {}
        report = _record(claim, request)
    except NotModified:
        with feed_fenced(claim) as locked:
            feed_unchanged(feed=locked)
        log.info("%s: not modified", _list_name(feed))
        return None
    except Cancelled:
        # Due again at once, and no failure: the process was asked to end.
        feed_given_back(claim=claim)
        raise
    except ClaimLost:
        # Another worker has the feed: not even the failure is ours to write down.
        raise
    except (FetchError, DriverError, DomainError) as error:
        # Providers quote requests in their refusals, and errors stand on a page.
        detail = redact(str(error), secret)
        if isinstance(error, FetchError):
            after_s, trouble = error.after_s, error.trouble
    except Exception as error:  # noqa: BLE001  (the outermost: stated on the feed and in the log)
        log.error("%s: %s", _list_name(feed), redact(traceback.format_exc(), secret))
        detail = f"a defect of ours: {type(error).__name__}"
    else:
        log.info("%s: %s", _list_name(feed), _counts(report))
        return report
    feed_failed(claim=claim, error=detail, trouble=trouble, after_s=after_s)
    log.warning("%s: %s", _list_name(feed), detail)
    raise FetchError(detail, trouble=trouble)


def _request(feed: PriceFeed, patience: Patience, is_conditional: bool) -> FetchRequest:
    provider = feed.provider.slug
    kind = feed_kind(provider, feed.kind)
    access = _access(provider) if kind.needs_account else None
    # A person who asks for the list now wants to see it read, not that it is as before.
    known = Validators(feed.etag, feed.last_modified) if is_conditional else Validators()
    is_joined = kind.needs_on_demand
    return FetchRequest(
        patience=patience,
        region=feed.region,
        access=access,
        endpoint=_endpoint(provider, access),
        validators=known,
        on_demand=on_demand_prices(provider=provider, region=feed.region) if is_joined else (),
    )


def _record(claim: FeedClaim, request: FetchRequest) -> Report:
    """Fetch, store and record; all of it or nothing."""
    provider, kind = claim.feed.provider.slug, claim.feed.kind
    known = feed_kind(provider, kind)
    are_rates = known.are_rates
    source = (rates_fetcher if are_rates else fetcher)(provider, kind)
    with Spool() as spool:
        validators = source.fetch(request, spool)
        # When the answer was there: prices that are recorded a minute later were seen now.
        observed_at = clock.now()
        payload = spool.payload()
        # Read to the end before anything is locked: that may take a minute.
        results: Any = source.read(request, spool)
        if not are_rates:
            results = Collected.of(results, observed_at.date())
    with feed_fenced(claim) as feed:
        report: Report
        if are_rates:
            report = rates_record(rates=results)
            payload_keep(feed=feed, payload=payload, fetched_at=observed_at)
            rates_noted(feed=feed, report=report)
        else:
            report = prices_record(
                provider=feed.provider.slug,
                feed_kind=feed.kind,
                region=feed.region,
                results=results,
                observed_at=observed_at,
                payload=payload,
                is_shrinking_ok=known.is_market,
            )
            if report.new_types:
                twins_refresh()
            if report.quarantined:
                _notify(feed, report, payload.sha256)
        payloads_tidy(feed=feed, sha256=payload.sha256)
        feed_read(feed=feed, etag=validators.etag, last_modified=validators.last_modified)
    return report


def _notify(feed: PriceFeed, report: ImportReport, sha256: str) -> None:
    """A message for each answer with prices that wait, however many they are."""
    name = _list_name(feed).removeprefix("prices ")
    notice_queue(
        workspace=default_workspace(),
        kind=NoticeKind.PRICES,
        key=f"prices:{feed.pk}:{sha256}",
        document={
            "title": f"{report.quarantined} prices of {name} wait in quarantine",
            "detail": " ".join(
                [*report.movements, "The last good prices stay in force until you decide."]
            ),
            "url": f"{settings.PUBLIC_URL.rstrip('/')}/prices/",
        },
    )


# --- with whose rights, and where -----------------------------------------------------------------------


def _access(provider: str) -> Access:
    """Access of an account at the provider, for lists that are sent to nobody else."""
    account = price_account(provider)
    if account is None:
        detail = f"there is no enabled account at {provider}"
        raise FetchError(detail, trouble=Trouble.NO_ACCOUNT)
    return access_of(account)


def _endpoint(provider: str, access: Access | None) -> str:
    """Another address than the provider's own; "" for that."""
    own: Mapping[str, str] = settings.PRICE_ENDPOINTS
    named = access.settings.get("endpoint_url", "") if access and settings.CLOUD_ENDPOINTS else ""
    # The operator's own address counts more than that of an account, which its editor may change.
    return own.get(provider, "") or str(named or "")


# --- what is logged -------------------------------------------------------------------------------------


def _list_name(feed: PriceFeed) -> str:
    return f"prices {feed.provider.slug} {feed.kind} {feed.region}".strip()


def _counts(report: Report) -> str:
    counts = {name: value for name, value in asdict(report).items() if type(value) is int}
    return ", ".join(f"{value} {name}" for name, value in counts.items() if value) or "nothing"
