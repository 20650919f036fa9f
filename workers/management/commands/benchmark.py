"""Benchmark a machine and show what it is worth."""

import json
import logging
import os
import sys
from argparse import ArgumentTypeError
from decimal import Decimal, InvalidOperation
from functools import partial
from getpass import getpass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.benchmarks.models import ENDED, Host, HostState, Run, RunState, Worker
from backend.benchmarks.selectors.hosts import fingerprint, hosts_visible
from backend.benchmarks.selectors.runs import RunView, Silence, run_view
from backend.benchmarks.services.hosts import host_approve, host_local
from backend.benchmarks.services.runs import run_cancel, run_create
from backend.benchmarks.services.workers import workers_alive
from backend.catalog.models import OfferKind
from backend.catalog.services.prices import PriceInput, price_observation_create
from backend.foundation.errors import DomainError
from backend.measure.probes import CHOICES, INVENTORY
from backend.measure.profiles import LISTS, OTHER_PARAMETERS, PARAMETERS, PROFILES
from workers.engine import report
from workers.engine.host_scan import scan_host
from workers.engine.in_process import StandIn, follow
from workers.engine.ssh_hosts import SshHosts

ACTOR = "command"
PRICE_SOURCE = "stated by its owner"
# Looking more often would be foreign work beside what is measured on this very machine.
LOOK_S = 2.0
SILENCE_STEP_S = 10
BAR_CHARS = 30


class UnknownHost(CommandError):
    """No host of the workspace has that name."""


class Command(BaseCommand):
    help = (
        "Benchmark this machine (local), a host by its name, or another machine as ssh would log in "
        "to it (an alias of ~/.ssh/config, or user@address[:port]), and show its score, price and place."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "host",
            help="local, the name of a host, an alias of ~/.ssh/config, or user@address[:port]",
        )
        parser.add_argument("--profile", choices=list(PROFILES), default="quick")
        parser.add_argument(
            "--probe",
            action="append",
            choices=[INVENTORY, *CHOICES],
            help="measure only this (may be given several times)",
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            type=_assignment,
            metavar="NAME=VALUE",
            help=f"a parameter of the run (several times; lists with commas): {_known()}",
        )
        parser.add_argument(
            "--peer", metavar="NAME", help="host at the other end of the network tests"
        )
        parser.add_argument(
            "--label",
            action="append",
            default=[],
            type=_label,
            metavar="NAME=TEXT",
            help="what the run is called by, such as kernel=6.18 (several times)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        workspace_argument(parser)
        parser.add_argument("--quiet", action="store_true", help="no progress, only the result")
        parser.add_argument(
            "--price",
            nargs=3,
            metavar=("AMOUNT", "CURRENCY", "UNIT"),
            help="what a machine of your own costs, such as 49 EUR month",
        )
        self._add_ssh_arguments(parser)

    def _add_ssh_arguments(self, parser: CommandParser) -> None:
        ssh = parser.add_argument_group("a machine that is not known yet")
        ssh.add_argument("--identity", type=Path, metavar="FILE", help="private key to log in with")
        ssh.add_argument("--config", type=Path, metavar="FILE", help="instead of ~/.ssh/config")
        passphrase = ssh.add_mutually_exclusive_group()
        passphrase.add_argument(
            "--passphrase-file", type=Path, metavar="FILE", help="of a private key that has one"
        )
        passphrase.add_argument(
            "--passphrase-env", metavar="NAME", help="environment variable with the passphrase"
        )
        ssh.add_argument(
            "--fingerprint", metavar="SHA256:…", help="the host key that you expect it to have"
        )
        ssh.add_argument(
            "--jump-fingerprint",
            action="append",
            default=[],
            metavar="SHA256:…",
            help="likewise of the machine that it is jumped through (several times, the nearest to "
            "the host first)",
        )
        ssh.add_argument("--name", help="name of the host (default: its address)")
        ssh.add_argument("--kind", choices=OfferKind.values, default=OfferKind.DEDICATED)

    def handle(self, *args: Any, **options: Any) -> None:
        self.workspace = workspace_option(options)
        self._is_quiet: bool = options["quiet"]
        # Before anything is made: a slip in the price must not leave a host behind.
        price = _price(options["price"])
        if (
            self._is_terminal() and not settings.LOG_FILE
        ):  # the bar says what the engine's log would
            logging.getLogger("workers").setLevel(logging.WARNING)
        try:
            host = self._host(options)
            parameters = dict(options["set"])
            if options["peer"] is not None:
                parameters["peer"] = str(self._named(options["peer"]).pk)
            if price is not None:
                price_observation_create(offer=host.offer, price=price, source=PRICE_SOURCE)
            run = run_create(
                host=host,
                profile=options["profile"],
                probes=options["probe"],
                parameters=parameters,
                labels=dict(options["label"]),
                actor=ACTOR,
            )
        except DomainError as error:
            raise CommandError(str(error)) from error
        if host.worker and not (_is_here(host.worker) or _is_alive(host.worker)):
            self.stderr.write(
                f"{host.name} has no worker (WORKER_ID {host.worker}): waiting for it"
            )
        view, document = self._follow(run)
        if options["json"]:
            self.stdout.write(json.dumps(document, default=str))
        else:
            self.stdout.write("\n".join(report.lines(document)))
        if view.run.state != RunState.DONE:
            why = ": ".join(view.failure or ("asked for",))
            raise CommandError(f"the run {ENDED[RunState(view.run.state)]}: {why}")

    # --- the host ---------------------------------------------------------------------------

    def _host(self, options: dict[str, Any]) -> Host:
        name = options["host"]
        try:
            return self._trust(self._named(name), options["fingerprint"])
        except UnknownHost:
            hosts = self._ssh_hosts(options)
            there = hosts.login(name)
            if "@" not in name and not there.is_configured:
                # A bare word that no file mentions is a mistyped name of a host rather than an
                # address to log in to.
                raise
            return hosts.host(there, name=options["name"])

    def _named(self, name: str) -> Host:
        """This machine, or a host by its name or id."""
        workspace = self.workspace
        if name == "local":
            return host_local(workspace=workspace, worker_id=_local_worker())
        try:
            host = hosts_visible(workspace).filter(Q(name=name)).first()
            host = host or hosts_visible(workspace).filter(pk=name).first()
        except ValidationError:
            host = None
        if host is None:
            raise UnknownHost(
                f"no host is named {name!r}; use local, an alias of ~/.ssh/config, or "
                "user@address[:port]"
            )
        return host

    def _ssh_hosts(self, options: dict[str, Any]) -> SshHosts:
        expected = {0: options["fingerprint"]} | dict(enumerate(options["jump_fingerprint"], 1))

        def approve(host: Host, machine: int) -> Host:
            flag = "--fingerprint" if machine == 0 else "--jump-fingerprint"
            return self._trust(host, expected.get(machine), flag)

        return SshHosts(
            workspace=self.workspace,
            actor=ACTOR,
            kind=options["kind"],
            identity=options["identity"],
            config=options["config"],
            passphrase=partial(self._passphrase, options),
            warn=lambda text: self.stderr.write(text, style_func=str),
            approve=approve,
        )

    def _passphrase(self, options: dict[str, Any], key: Path) -> str:
        """Never an argument, which every process of the machine can read."""
        if (path := options["passphrase_file"]) is not None:
            try:
                # Editors end a file with a line feed; blanks before it may belong to the
                # passphrase.
                return str(path.read_text().rstrip("\r\n"))
            except (OSError, UnicodeDecodeError) as error:
                raise CommandError(f"the passphrase in {path} cannot be read: {error}") from error
        if (name := options["passphrase_env"]) is not None:
            if name not in os.environ:
                raise CommandError(f"--passphrase-env {name}: no such variable is set")
            return os.environ[name]
        if not sys.stdin.isatty():
            # Nobody is there to type it: getpass would take it from what the script reads.
            raise CommandError(
                f"the private key {key} has a passphrase: give it by --passphrase-file or "
                "--passphrase-env, or add the key to an SSH agent"
            )
        return getpass(f"Passphrase of {key}: ")

    def _trust(self, host: Host, expected: str | None, flag: str = "--fingerprint") -> Host:
        """The host with a key that somebody approved; nothing runs on it before that."""
        if host.state == HostState.TRUSTED:
            return host
        scan_host(str(host.pk))
        host.refresh_from_db()
        if host.scan_error:
            raise CommandError(host.scan_error)
        shown = fingerprint(host.scanned_key)
        # Whoever says what to expect is not invited to trust what was presented instead.
        if expected is not None and expected != shown:
            raise CommandError(
                f"{host.name} presents the host key {shown}, and {expected} was expected; nothing "
                "was run"
            )
        if expected is None and not self._is_approved(host, shown):
            raise CommandError(
                f"{host.name} presents the host key {shown}, which is not approved; nothing was "
                f"run. If it is the right one, add {flag} {shown}"
            )
        return host_approve(host=host, fingerprint_sha256=shown, actor=ACTOR)

    def _is_approved(self, host: Host, shown: str) -> bool:
        # Nobody is there to compare the key: a script has to name the fingerprint that it expects.
        if not self._is_terminal():
            return False
        changed = " (CHANGED since it was approved)" if host.host_key else ""
        answer = input(f"{host.name} presents the host key {shown}{changed}. Trust it? [y/N] ")
        return answer.strip().lower() in {"y", "yes"}

    # --- the run ----------------------------------------------------------------------------

    def _is_terminal(self) -> bool:
        return bool(self.stderr.isatty())

    def _warn(self, text: str) -> None:
        """Below the bar, which has no end of line."""
        self.stderr.write("\n" * self._is_terminal() + text, style_func=str)

    def _follow(self, run: Run) -> tuple[RunView, dict[str, Any]]:
        """Show the run until it ends; without a live worker its steps are done here."""
        shown = ""

        def end(stand_in: StandIn) -> tuple[RunView, dict[str, Any]] | None:
            nonlocal shown
            run.refresh_from_db()
            if not run.is_finished:
                stand_in.look()
            view = run_view(run)
            if not self._is_quiet:
                shown = self._show(view, shown)
            return (view, report.document(view)) if run.is_finished else None

        return follow(
            end,
            cancel=lambda: run_cancel(run=run, actor=ACTOR),
            warn=self._warn,
            every_s=LOOK_S,
        )

    def _show(self, view: RunView, shown: str) -> str:
        """Draw the bar on a terminal, else a line for every new stage; returns what is shown."""
        text = f"{view.stage}: {view.probe} {view.variant}" if view.probe else view.stage
        if view.run.is_finished:
            text = view.stage
        elif view.silence:
            text = _silence_line(view.silence)
        if self._is_terminal():
            filled = round(view.progress_ratio * BAR_CHARS)
            left = "" if view.remaining_s is None else f"about {view.remaining_s:.0f} s left"
            bar = "#" * filled + "." * (BAR_CHARS - filled)
            # Fixed widths, so that each line covers all of the one before.
            said = f"{text:40.40} {left:20.20}" if left else f"{text:61.61}"
            line = f"\r[{bar}] {view.progress_ratio:4.0%}  {said}"
            # Django would write the error output in red.
            self.stderr.write(line, style_func=str, ending="\n" if view.run.is_finished else "")
            self.stderr.flush()
        elif text != shown:
            self.stderr.write(f"{view.progress_ratio:4.0%}  {text}", style_func=str)
        return text


def _silence_line(silence: Silence) -> str:
    """It changes only every SILENCE_STEP_S, as a log takes a line for each change."""
    silent_s = silence.silent_s // SILENCE_STEP_S * SILENCE_STEP_S
    line = f"no sign of the host for {silent_s:.0f} s, given up at {silence.ends_at:%H:%M:%S} UTC"
    return f"{line}: {silence.error}" if silence.error else line


def _is_here(worker: Worker) -> bool:
    return worker.pk == settings.WORKER_ID


def _is_alive(worker: Worker) -> bool:
    return workers_alive().filter(pk=worker.pk).exists()


def _local_worker() -> str:
    """The machine that `local` means: this one, or, where no worker runs, the only one with any."""
    alive = [worker.pk for worker in workers_alive()]
    if settings.WORKER_ID in alive or not alive:
        return str(settings.WORKER_ID)
    if len(alive) > 1:
        raise CommandError(
            f"no worker runs on this machine ({settings.WORKER_ID}); start the command on one that "
            f"has a worker ({', '.join(alive)}), or name a host"
        )
    return str(alive[0])


# --- arguments ------------------------------------------------------------------------------------


def _known() -> str:
    """The parameters of a run with their limits, for the help."""
    numbers = (
        f"{name} ({parameter.label}: {parameter.low:.12g} … {parameter.high:.12g}"
        f"{' ' * bool(parameter.unit)}{parameter.unit})"
        for name, parameter in PARAMETERS.items()
    )
    # argparse fills its help texts in by %.
    return ", ".join((*numbers, *OTHER_PARAMETERS)).replace("%", "%%")


def _assignment(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    # One value of a list, such as a single depth, is a list too.
    if name in LISTS and not value.startswith("["):
        return name, [_value(item) for item in value.split(",")]
    return name, _value(value)


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ArgumentTypeError(f"{text!r} is not NAME=TEXT")
    return name, value


def _value(text: str) -> object:
    # What people write on a command line; JSON knows true and false only.
    if text in {"yes", "no"}:
        return text == "yes"
    try:
        return json.loads(text)
    except ValueError:
        return text


def _price(words: list[str] | None) -> PriceInput | None:
    if words is None:
        return None
    try:
        return PriceInput(amount=Decimal(words[0]), currency=words[1].upper(), unit=words[2])
    except InvalidOperation:
        raise CommandError(f"{words[0]!r} is not an amount") from None
