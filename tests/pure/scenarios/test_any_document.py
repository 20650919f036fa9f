"""Whatever a document says, it has a result that is JSON, or its faults are told by pointer."""

import copy
import json
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.series import series
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.work import check_work
from tests.pure.scenarios.documents import Document
from tests.pure.scenarios.test_document import ALL

ODD = st.sampled_from(
    [
        *(None, True, "", "x", "0", "1", "-1", "1e-99", "1e17", "999999999", "0.000000001"),
        *(0, 1, 2, -1, 7, 10**6, 10**18, 10**400, 2**63, 0.5, -0.0, 1e300, float("inf")),
        *(Decimal("NaN"), Decimal("1E+999999"), Decimal("0.1"), Decimal("1e-30"), "24:00", "00:00"),
        *([], {}, [None], [[]], [{}], {"a": 1}, ["1", "2"], "peak", "optimal", "30d", "calendar"),
        *("\0", "\ud800", "2026-01-01T00:00:00+00:00", "Europe/Dublin", "month", "hour"),
        *("reserved", "burst", "base", "all", "step", "hpa", "trace", "monthly", "savings"),
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A document of the worked ones, with up to three values changed or taken away."""
    document = copy.deepcopy(draw(st.sampled_from(ALL)))
    document["options"].append({**copy.deepcopy(document["options"][0]), "name": "two"})
    for _ in range(draw(st.integers(0, 3))):
        at: Any = document
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(at[key], dict | list) and at[key] and draw(st.integers(0, 3)):
                at = at[key]
                continue
            if draw(st.booleans()) or isinstance(at, list):
                at[key] = copy.deepcopy(draw(ODD))  # it may be changed in turn
            else:
                del at[key]
            break
    return document


def answered(document: Document) -> tuple[dict[str, Any], list[str]]:
    """The result and series of a document, or the places of its faults."""
    try:
        check_work(document)
        found = simulate(document)
        return found | {"series": series(document, most_points=50)}, []
    except InvalidDocument as error:
        return {}, [place for place, _ in error.errors]


@given(documents())
def test_document_has_a_result_or_faults(document: Document) -> None:
    found, faults = answered(document)
    assert bool(found) is not bool(faults)
    assert all(place == "" or place.startswith("/") for place in faults)
    json.dumps(found, allow_nan=False)
    for option in found.get("options", ()):
        assert Decimal(option["cost_total"]) >= 0
        assert 0 <= option["unserved_share"] <= 1
