"""JSON of the API: another encoder than the framework's, and the same documents."""

import datetime as dt
import json
from decimal import Decimal
from uuid import UUID

import pytest
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.renderers import JSONRenderer

from backend.catalog.models import OfferKind
from backend.core.rest.renderers import JsonRenderer

SUMMER = dt.timezone(dt.timedelta(hours=2))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.datetimes(timezones=st.just(dt.UTC))
    | st.dates()
    | st.uuids(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def both(value: object, media_type: str = "application/json") -> tuple[bytes, bytes]:
    return tuple(  # type: ignore[return-value]
        renderer.render(value, media_type, {}) for renderer in (JsonRenderer(), JSONRenderer())
    )


@given(VALUES)
def test_documents_read_as_those_of_the_framework(value):
    ours, theirs = both([value])
    assert json.loads(ours) == json.loads(theirs)


@pytest.mark.parametrize(
    "value",
    [
        "Größe, 東京, 🚀",
        "ends\u2028here\u2029and\nhere",
        'a "quoted" \\ text with \x00 and \x1f',
        Decimal("0.10000000000000000000000000001"),
        dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC),
        dt.datetime(2026, 3, 29, 1, 30, 0, 120_000, tzinfo=SUMMER),
        dt.date(2026, 2, 28),
        dt.timedelta(seconds=90),
        UUID("0f0e0d0c-0b0a-0908-0706-050403020100"),
        gettext_lazy("price"),
        OfferKind.VPS,
        (1, 2.5, None, True),
        {"price": 0.1, "most": 9_007_199_254_740_993, "none": None},
        {1: "keys that are", None: "no text"},
        2**64,
        -(2**70),
        [[[[]]], {}],
        None,
    ],
    ids=lambda value: type(value).__name__,
)
def test_bytes_are_those_of_the_framework(value):
    ours, theirs = both(value)
    assert ours == theirs


def test_nested_beyond_the_encoder_is_written_all_the_same():
    value: object = "core"
    for _ in range(300):
        value = [value]
    ours, theirs = both(value)
    assert ours == theirs == b"[" * 300 + b'"core"' + b"]" * 300


def test_indent_is_kept_for_whoever_reads_it():
    ours, theirs = both({"price": 1}, "application/json; indent=4")
    assert ours == theirs == b'{\n    "price": 1\n}'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_unknown(value):
    assert JsonRenderer().render({"score": value}, "application/json", {}) == b'{"score":null}'


def test_what_is_no_json_is_an_error():
    with pytest.raises(TypeError, match="not JSON serializable"):
        JsonRenderer().render({"price": object()}, "application/json", {})
