"""A worker that is killed while it reads a list: a real process, a real kill."""

import datetime as dt
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.db import connection

from backend.catalog.models import PriceFeed, PriceObservation
from backend.core import clock
from tests.fakes.price_faults import slow
from tests.workers.feeds import enable
from workers.pricelists import fetching

ROOT = Path(__file__).resolve().parents[2]
WORKER = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "backend.config.settings"
import django
django.setup()
from workers.pricelists.fetching import fetch_due
fetch_due()
"""


def environment(server):
    """That of a worker on the test's own database."""
    place = connection.settings_dict
    address = f"{place['HOST']}:{place['PORT']}/{place['NAME']}"
    return {
        **os.environ,
        "DATABASE_URL": f"postgresql://{place['USER']}:{place['PASSWORD']}@{address}",
        "PRICE_ENDPOINTS": f"linode={server.url}",
    }


@pytest.mark.django_db(transaction=True)
def test_list_is_read_again_after_the_lease_when_its_worker_was_killed(price_server, queued):
    feed = enable("linode")
    pause = threading.Event()
    price_server.fault("/v4/regions", slow(pause))
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER], cwd=ROOT, env=environment(price_server)
    )
    try:
        while "/v4/regions" not in price_server.paths():
            assert worker.poll() is None
            pause.wait(0.02)
        feed.refresh_from_db()
        assert feed.lease_until > clock.now() + dt.timedelta(minutes=25)
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        pause.set()
    # Nobody takes it over while the lease holds, and nothing was published.
    assert fetching.fetch_due() == 0
    assert not PriceObservation.objects.exists()
    PriceFeed.objects.update(lease_until=clock.now())
    assert fetching.fetch_due() == 1
    feed.refresh_from_db()
    assert PriceObservation.objects.count() == feed.summary["priced"] == 4
    assert (feed.lease_until, feed.failures) == (None, 0)
