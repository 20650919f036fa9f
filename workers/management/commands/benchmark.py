"""Benchmark a machine and show what it is worth."""

import json
import logging
import threading
import time
from argparse import ArgumentTypeError
from decimal import Decimal, InvalidOperation
from pathlib import Path
from statistics import median
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.models import Q

from backend.accounts.selectors import default_workspace
from backend.benchmarks.models import Host, HostState, Run, RunState, Tick
from backend.benchmarks.selectors import RunView, fingerprint, hosts_visible, run_view
from backend.benchmarks.services import (
    host_approve,
    host_create,
    host_local,
    host_private_key_replace,
    run_cancel,
    run_create,
)
from backend.catalog.models import Kind
from backend.catalog.services import PriceInput, price_observation_create
from backend.common import clock
from backend.domain.errors import DomainError
from backend.domain.profiles import PROBE_SERIES, PROFILES
from backend.domain.stats import kept_repeats
from workers.pump import Pump
from workers.scan import scan_host

ACTOR = "command"
PRICE_SOURCE = "stated by its owner"
LOOK_S = 1.0
"""Looking more often would be foreign work beside what is measured on this very machine."""
BAR_CHARS = 30
TICKS_OF_SILENCE = 3
"""A worker that missed this many ticks is not there; the command then works by itself."""


class Command(BaseCommand):
    help = (
        "Benchmark this machine (local), a host by its name, or another machine over SSH "
        "(user@address[:port] --identity FILE), and show its score, price and place."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("host", help="local, the name of a host, or user@address[:port]")
        parser.add_argument("--profile", choices=list(PROFILES), default="quick")
        parser.add_argument(
            "--probe",
            action="append",
            choices=["inventory", *PROBE_SERIES],
            help="measure only this (may be given several times)",
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            type=_assignment,
            metavar="NAME=VALUE",
            help="a parameter of the run: seconds, repeats, file_bytes, directory",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        ssh = parser.add_argument_group("a machine that is not known yet")
        ssh.add_argument("--identity", type=Path, metavar="FILE", help="private key to log in with")
        ssh.add_argument(
            "--fingerprint", metavar="SHA256:…", help="the host key that you expect it to have"
        )
        ssh.add_argument("--name", help="name of the host (default: its address)")
        ssh.add_argument("--kind", choices=Kind.values, default=Kind.DEDICATED)
        parser.add_argument(
            "--price",
            nargs=3,
            metavar=("AMOUNT", "CURRENCY", "UNIT"),
            help="what a machine of your own costs, such as 49 EUR month",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        price = _price(options["price"])
        if self._is_terminal():  # the bar says what the engine's log would
            logging.getLogger("workers").setLevel(logging.WARNING)
        try:
            host = self._host(options)
            if price is not None:
                price_observation_create(offer=host.offer, price=price, source=PRICE_SOURCE)
            host = self._trusted(host, options["fingerprint"])
            run = run_create(
                host=host,
                profile=options["profile"],
                probes=options["probe"],
                parameters=dict(options["set"]),
                actor=ACTOR,
            )
        except DomainError as error:
            raise CommandError(str(error)) from error
        view = self._follow(run)
        document = _document(view)
        if options["json"]:
            self.stdout.write(json.dumps(document, default=str))
        else:
            self.stdout.write("\n".join(_lines(document)))
        if view.run.state != RunState.DONE:
            reason, detail = view.failure or (view.run.state, "asked for")
            raise CommandError(f"the run {view.run.state}: {reason}: {detail}")

    # --- the host ---------------------------------------------------------------------------

    def _host(self, options: dict[str, Any]) -> Host:
        wanted, workspace = options["host"], default_workspace()
        if wanted == "local":
            return host_local(workspace=workspace)
        if "@" in wanted:
            return self._ssh_host(wanted, options)
        try:
            host = hosts_visible(workspace).filter(Q(name=wanted)).first()
            host = host or hosts_visible(workspace).filter(pk=wanted).first()
        except ValidationError:
            host = None
        if host is None:
            raise CommandError(
                f"no host is named {wanted!r}; use local, or user@address[:port] --identity FILE"
            )
        return host

    def _ssh_host(self, wanted: str, options: dict[str, Any]) -> Host:
        username, address, port = _login(wanted)
        workspace = default_workspace()
        key = _file_text(options["identity"]) if options["identity"] else None
        host = (
            hosts_visible(workspace).filter(address=address, port=port, username=username).first()
        )
        if host is not None:
            if key is not None:
                host_private_key_replace(host=host, private_key=key, actor=ACTOR)
            return host
        if key is None:
            raise CommandError(f"{wanted} is not known yet: give its private key with --identity")
        return host_create(
            workspace=workspace,
            name=options["name"] or address.replace(".", "-").replace(":", "-"),
            address=address,
            port=port,
            username=username,
            private_key=key,
            offer=None,
            kind=options["kind"],
            price=None,
            actor=ACTOR,
        )

    def _trusted(self, host: Host, expected: str | None) -> Host:
        """The host with a key that somebody approved; nothing runs on it before that."""
        if host.state == HostState.TRUSTED:
            return host
        scan_host(str(host.pk))
        host.refresh_from_db()
        if host.scan_error:
            raise CommandError(host.scan_error)
        shown = fingerprint(host.scanned_key)
        if expected is None:
            expected = shown if self._is_approved(host, shown) else ""
        if expected != shown:
            raise CommandError(
                f"{host.name} presents the host key {shown}, which is not approved; nothing was "
                f"run. If it is the right one, add --fingerprint {shown}"
            )
        return host_approve(host=host, fingerprint_sha256=shown, actor=ACTOR)

    def _is_approved(self, host: Host, shown: str) -> bool:
        if not self._is_terminal():
            return False
        changed = " (CHANGED since it was approved)" if host.host_key else ""
        answer = input(f"{host.name} presents the host key {shown}{changed}. Trust it? [y/N] ")
        return answer.strip().lower() in {"y", "yes"}

    # --- the run ----------------------------------------------------------------------------

    def _is_terminal(self) -> bool:
        return bool(self.stderr.isatty())

    def _follow(self, run: Run) -> RunView:
        """Show the run until it ends; without a live worker its steps are done here."""
        pump, shown = Pump(), ""
        thread = threading.Thread(target=_pumped, args=(pump,), name="pump")
        try:
            while True:
                try:
                    run.refresh_from_db()
                    if not run.is_finished and not thread.ident and not _is_worker_alive():
                        thread.start()
                    shown = self._show(run_view(run), shown)
                    if run.is_finished:
                        return run_view(run)
                    time.sleep(LOOK_S)
                except KeyboardInterrupt:
                    if run.is_cancel_requested:
                        raise
                    run_cancel(run=run, actor=ACTOR)
        finally:
            pump.stop()
            if thread.ident:
                thread.join()

    def _show(self, view: RunView, shown: str) -> str:
        """Draw the bar on a terminal, else a line for every new stage; returns what is shown."""
        text = f"{view.stage}: {view.probe} {view.variant}" if view.probe else view.stage
        if view.run.is_finished:
            text = view.stage
        if self._is_terminal():
            filled = round(view.progress_ratio * BAR_CHARS)
            left = "" if view.remaining_s is None else f"about {view.remaining_s:.0f} s left"
            bar = "#" * filled + "." * (BAR_CHARS - filled)
            line = f"\r[{bar}] {view.progress_ratio:4.0%}  {text:40.40} {left:20.20}"
            self.stderr.write(line, style_func=str, ending="\n" if view.run.is_finished else "")
            self.stderr.flush()
        elif text != shown:
            self.stderr.write(f"{view.progress_ratio:4.0%}  {text}", style_func=str)
        return text


def _pumped(pump: Pump) -> None:
    try:
        pump.run()
    finally:
        connection.close()


def _is_worker_alive() -> bool:
    tick = Tick.objects.filter(pk=1).first()
    if tick is None:
        return False
    silent_s = (clock.now() - tick.at).total_seconds()
    return silent_s < TICKS_OF_SILENCE * settings.TICK_S


# --- arguments ------------------------------------------------------------------------------------


def _assignment(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _login(text: str) -> tuple[str, str, int]:
    """user@address, user@address:port, user@[v6]:port; CommandError for anything else."""
    username, _, place = text.partition("@")
    address, colon, port = place.rpartition(":")
    if place.endswith("]") or not colon or (address.count(":") and not address.endswith("]")):
        address, port = place, "22"
    if not port.isdigit():
        raise CommandError(f"{port!r} in {text!r} is not a port")
    return username, address.strip("[]"), int(port)


def _file_text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the private key {path} cannot be read: {error}") from error


def _price(words: list[str] | None) -> PriceInput | None:
    if words is None:
        return None
    try:
        return PriceInput(amount=Decimal(words[0]), currency=words[1].upper(), unit=words[2])
    except InvalidOperation:
        raise CommandError(f"{words[0]!r} is not an amount") from None


# --- the result -----------------------------------------------------------------------------------


def _document(view: RunView) -> dict[str, Any]:
    """What was measured and what it is worth, as one JSON document."""
    run = view.run
    series: dict[tuple[str, str, str], list[tuple[float, bool]]] = {}
    for sample in view.samples:
        key = (sample.metric, sample.variant, sample.unit)
        series.setdefault(key, []).append((sample.value, "disturbed" in sample.flags))
    return {
        "run": str(run.pk),
        "state": run.state,
        "failure": None
        if view.failure is None
        else {"reason": view.failure[0], "detail": view.failure[1]},
        "host": run.host.name,
        "offer": run.offer.slug,
        "profile": run.profile,
        "url": f"{settings.PUBLIC_URL}/runs/{run.pk}/",
        "runner_s": run.runner_s,
        "overhead_s": run.overhead_s,
        "results": [
            {"metric": metric, "variant": variant, "unit": unit, **_summary(repeats)}
            for (metric, variant, unit), repeats in sorted(series.items())
        ],
        "warnings": view.warnings,
        "ranking": _place(run) if series else None,
    }


def _summary(repeats: list[tuple[float, bool]]) -> dict[str, Any]:
    """Number of repeats, how many were disturbed, and the median of those that count."""
    kept, _ = kept_repeats({"this run": repeats})
    disturbed = sum(is_disturbed for _, is_disturbed in repeats)
    return {"median": median(kept["this run"]), "repeats": len(repeats), "disturbed": disturbed}


def _place(run: Run) -> dict[str, Any] | None:
    """The offer's row of the default ranking and its place by score; None where not listed."""
    from backend.rankings.selectors import query_from, ranking

    query, _ = query_from({})
    listed = ranking(query)
    for row in listed.rows:
        if row.offer_id == run.offer.slug:
            names = (
                *("metric", "score", "score_ci95_low", "score_ci95_high", "interval_basis"),
                *("price", "currency", "period", "price_basis", "price_term", "cup"),
                *("value_per_cost", "rank", "rank_low", "rank_high", "flags", "missing"),
            )
            better = sum((other.score or 0) > (row.score or 0) for other in listed.rows)
            counts = {"count": listed.count, "place_by_score": better + 1}
            return {**{name: getattr(row, name) for name in names}, **counts}
    return None


def _lines(document: dict[str, Any]) -> list[str]:
    lines = [f"{document['host']} ({document['offer']}), profile {document['profile']}:"]
    lines += [
        f"  {found['metric']:30} {found['median']:>18,.2f} {found['unit']}"
        f"   ({found['variant']}, {found['repeats']} repeats"
        + (f", {found['disturbed']} disturbed)" if found["disturbed"] else ")")
        for found in document["results"]
    ]
    if (place := document["ranking"]) is not None:
        lines += _place_lines(place)
    lines += [f"  warning: {warning}" for warning in document["warnings"]]
    lines.append(f"  evidence: {document['url']}")
    return lines


def _place_lines(place: dict[str, Any]) -> list[str]:
    interval = "interval unknown"
    if place["score_ci95_low"] is not None:
        interval = (
            f"95 % interval {place['score_ci95_low']:,.2f} … {place['score_ci95_high']:,.2f}, "
            f"{place['interval_basis']}"
        )
    lines = [f"  score: {place['score']:,.2f} CMIPS ({interval})"]
    if place["price"] is None:
        lines.append(
            "  price: none known, so it has no rank by cost; state one with "
            "--price 49 EUR month (amount, currency, hour|month|year)"
        )
    else:
        basis = f"{place['price_basis']}, {place['price_term']}"
        lines.append(
            f"  price: {place['price']:.6f} {place['currency']} per {place['period']} ({basis})"
        )
    if place["rank"] is not None:
        lines.append(
            f"  place: {place['rank']} of {place['count']} by value per cost "
            f"(plausibly {place['rank_low']} … {place['rank_high']})"
        )
    elif "disturbed" in place["flags"].split():
        lines.append("  place: none, every repeat was disturbed by other work on this machine")
    else:
        lines.append(f"  place: {place['place_by_score']} of {place['count']} by score")
    if "unstable" in place["flags"].split():
        lines.append("  the repeats spread more than they should: measure again when it is quiet")
    return lines
