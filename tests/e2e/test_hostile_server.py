"""Hosts that lie, each differently: what they make us keep, hold and show is bounded, and others are measured.

Eight seconds of it; `./rackrate test --deep tests/e2e/test_hostile_server.py` takes a minute.
"""

import os
import re
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client, override_settings

from tests.conftest import IS_DEEP
from tests.e2e.chaos_form import NOTES
from tests.e2e.conftest import trusted_host
from tests.e2e.hostile import MODES, HostileSshd
from tests.e2e.stack import eventually
from tests.e2e.truth import assert_whole, ended

pytestmark = [pytest.mark.serial, pytest.mark.native]

SECONDS = 60 if IS_DEEP else 8
LEASE_S = 30
REPEATS = 10
MB = 1_000_000
MAX_GROWTH_BYTES = 5 * MB
MAX_WORKER_BYTES = 300 * MB
MAX_PAGE_S = 1.0


def database_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def largest_worker(group: int) -> int:
    """The most memory that any process of the group ever had."""
    peaks = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(entry.name)) == group:
                peak = re.search(r"VmHWM:\s+(\d+) kB", (entry / "status").read_text())
                peaks.append(int(peak[1]) * 1024 if peak else 0)
        except (OSError, ProcessLookupError):
            continue
    return max(peaks)


def page_seconds(path: str, client: Client) -> float:
    """Time of this process: others on the machine do not count."""
    began = time.process_time()
    assert client.get(path).status_code == 200
    return time.process_time() - began


def test_hostile_hosts_fill_nothing_and_slow_nobody(make_stack, make_host, begin, tmp_path):
    stack = make_stack(LEASE_S)
    _, honest = make_host("honest")
    servers, runs = [], {}
    with ExitStack() as stops:  # each is stopped, even if another one fails to
        for number, (mode, lie) in enumerate(MODES.items()):
            (tmp_path / f"hostile{number}").mkdir()
            servers.append(HostileSshd(tmp_path / f"hostile{number}"))
            servers[-1].lie = lie
            stops.callback(servers[-1].stop)
            servers[-1].start()
            host = trusted_host(servers[-1], f"hostile {number}")
            runs[mode] = begin(host, repeats=REPEATS, seconds=0.2)
        before = database_bytes()
        own = begin(honest, repeats=REPEATS)
        eventually(lambda: all(server.read_count for server in servers), "a reading of each host")
        time.sleep(SECONDS)
        eventually(ended(own), "the honest host's run")
        growth = database_bytes() - before
        worker = largest_worker(stack.pid("worker"))
        with override_settings(PUBLIC_READ=True, SECURE_SSL_REDIRECT=False):
            client = Client()
            page_seconds(f"/runs/{own.pk}/", client)  # the first one reads the templates
            pages = {mode: page_seconds(f"/runs/{run.pk}/", client) for mode, run in runs.items()}
    NOTES.append(
        f"{len(MODES)} hostile hosts for {SECONDS} s: database +{growth / MB:.1f} MB, worker at most "
        f"{worker / MB:.0f} MB, slowest run page {max(pages.values()):.2f} s of CPU"
    )
    assert_whole(own, repeats=REPEATS)
    assert growth <= MAX_GROWTH_BYTES
    assert worker <= MAX_WORKER_BYTES
    assert max(pages.values()) <= MAX_PAGE_S, pages
