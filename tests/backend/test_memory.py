"""Memory that a web process gives back, and what would keep it."""

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest
from django.conf import settings

from backend.benchmarks.services.current_data import current_stamp
from backend.rankings.selectors import ranking as rankings
from backend.rankings.selectors.basis_table import BasisTable
from backend.rankings.selectors.cache import StampedCache
from backend.rankings.selectors.ranking import query_from, ranking

MIB = 2**20
# Small blocks lie behind large ones, as answers lie behind the arrays that they are made from.
LEFT = """
import resource, time
from django.core.signals import request_finished
from backend.config.memory import GIVE_BACK_AFTER_S, keep_blocks_for_a_while
def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
{call}
bytearray(20_000_000)
before = rss()
kept = [(bytearray(500_000), bytes(1000)) for _ in range(200)]
small = [one for _, one in kept]
del kept
print(rss() - before)
request_finished.send(None)
time.sleep(4 * GIVE_BACK_AFTER_S)
print(rss() - before)
"""


@pytest.mark.parametrize(
    ("call", "is_given_back"), [("keep_blocks_for_a_while()", True), ("pass", False)]
)
def test_blocks_are_given_back_after_a_request(call: str, *, is_given_back: bool) -> None:
    program = [sys.executable, "-c", LEFT.format(call=call)]
    left = subprocess.run(
        program, capture_output=True, check=True, text=True, cwd=settings.BASE_DIR
    )
    before, after = map(int, left.stdout.split())
    # Until then they are there to be used again.
    assert before > 50 * MIB
    assert (after < 10 * MIB) is is_given_back


def tables() -> Iterator[BasisTable]:
    # By its type: to ask a proxy whose object is gone for its class is an error.
    return (one for one in gc.get_objects() if type(one) is BasisTable)


def test_table_that_nobody_holds_goes_without_the_collector(
    demo: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, _ = query_from({"metric": ["cmips_score"], "sort": ["-value_per_cost"]})
    monkeypatch.setattr(rankings, "_cache", StampedCache(10_000_000))
    gc.collect()
    others = weakref.WeakSet(tables())
    gc.disable()
    try:
        listed = ranking(query, workspace_slug="default", stamp=current_stamp())
        assert list(listed.everyone)
        known = [weakref.ref(one) for one in tables() if one not in others]
        assert known
        del listed
        monkeypatch.undo()
        assert not [one for one in known if one() is not None]
    finally:
        gc.enable()
