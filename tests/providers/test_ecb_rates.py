"""Exchange rates of the ECB: each form, and every way in which it may be wrong."""

import datetime as dt
import io
import zipfile
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.providers.ecb import rates as ecb
from backend.providers.ecb.rates import ParsedRate, SkippedRate, WhyNot, parse

SPACE = 'xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"'
FRIDAY, THURSDAY = dt.date(2026, 10, 30), dt.date(2026, 10, 29)
DAILY = """<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
\t<gesmes:subject>Reference rates</gesmes:subject>
\t<gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
\t<Cube>
\t\t<Cube time='2026-10-30'>
\t\t\t<Cube currency='USD' rate='1.1172'/>
\t\t\t<Cube currency='JPY' rate='175.68'/>
\t\t\t<Cube currency='IDR' rate='18633.26'/>
\t\t</Cube>
\t</Cube>
</gesmes:Envelope>"""
CSV = """Date,USD,JPY,BGN,
2026-10-30,1.1172,175.68,N/A,
2026-10-29,1.1150,,1.9558,
"""


def xml(*days):
    """(day, {currency: rate}) as the ECB writes it."""
    cubes = "".join(
        f'<Cube time="{day}">'
        + "".join(f'<Cube currency="{code}" rate="{rate}"/>' for code, rate in rates)
        + "</Cube>"
        for day, rates in days
    )
    return f"<Envelope {SPACE}><Cube>{cubes}</Cube></Envelope>"


def rates(text):
    return {
        (rate.date, rate.currency): rate.units_per_eur
        for rate in parse(text)
        if isinstance(rate, ParsedRate)
    }


def reasons(text):
    return [(row.currency, row.reason) for row in parse(text) if isinstance(row, SkippedRate)]


def test_daily_xml_is_read_exactly():
    assert rates(DAILY) == {
        (FRIDAY, "USD"): Decimal("1.1172"),
        (FRIDAY, "JPY"): Decimal("175.68"),
        (FRIDAY, "IDR"): Decimal("18633.26"),
    }
    assert reasons(DAILY) == []


def test_xml_of_many_days_keeps_each_day_apart():
    text = xml(("2026-10-30", [("USD", "1.1172")]), ("2026-10-29", [("USD", "1.1150")]))
    assert rates(text) == {
        (FRIDAY, "USD"): Decimal("1.1172"),
        (THURSDAY, "USD"): Decimal("1.1150"),
    }


def test_csv_is_read_and_missing_rates_are_left_out_with_a_reason():
    assert rates(CSV) == {
        (FRIDAY, "USD"): Decimal("1.1172"),
        (FRIDAY, "JPY"): Decimal("175.68"),
        (THURSDAY, "USD"): Decimal("1.1150"),
        (THURSDAY, "BGN"): Decimal("1.9558"),
    }
    assert reasons(CSV) == [("BGN", WhyNot.MISSING), ("JPY", WhyNot.MISSING)]


@pytest.mark.parametrize("text", ["\ufeff" + CSV, CSV.replace("\n", "\r\n"), CSV + "\n\n"])
def test_csv_is_read_with_marks_other_line_ends_and_blank_lines(text):
    assert rates(text) == rates(CSV)


def test_csv_without_the_comma_at_the_end_is_read_whole():
    assert rates("Date,USD,JPY\n2026-10-30,1.1172,175.68\n") == {
        (FRIDAY, "USD"): Decimal("1.1172"),
        (FRIDAY, "JPY"): Decimal("175.68"),
    }


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", WhyNot.MISSING),
        ("N/A", WhyNot.MISSING),
        ("n/a", WhyNot.NOT_A_NUMBER),
        ("1,1172", WhyNot.NOT_A_NUMBER),
        ("-1.1", WhyNot.NOT_A_NUMBER),
        ("1e3", WhyNot.NOT_A_NUMBER),
        ("NaN", WhyNot.NOT_A_NUMBER),
        ("١", WhyNot.NOT_A_NUMBER),
        ("0", WhyNot.ZERO),
        ("0.000", WhyNot.ZERO),
        ("1.12345678901", WhyNot.TOO_PRECISE),
        ("12345678901", WhyNot.TOO_LARGE),
    ],
)
def test_cell_that_is_no_rate_has_its_reason(written, reason):
    assert reasons(xml(("2026-10-30", [("USD", written), ("JPY", "175.68")]))) == [("USD", reason)]


def test_rate_at_the_limits_of_what_is_kept_is_read():
    text = xml(("2026-10-30", [("USD", "1.12345678900000"), ("JPY", "0009999999999.1")]))
    assert list(rates(text).values()) == [Decimal("1.123456789"), Decimal("9999999999.1")]


def test_doubled_rate_counts_once_and_two_different_rates_not_at_all():
    text = xml(
        ("2026-10-30", [("USD", "1.1"), ("USD", "1.10"), ("JPY", "1"), ("JPY", "2")]),
        ("2026-10-29", [("CHF", "N/A"), ("CHF", "0.9")]),
    )
    assert rates(text) == {(FRIDAY, "USD"): Decimal("1.1"), (THURSDAY, "CHF"): Decimal("0.9")}
    assert reasons(text) == [
        ("USD", WhyNot.DUPLICATE),
        ("JPY", WhyNot.AMBIGUOUS),
        ("CHF", WhyNot.DUPLICATE),
    ]


BILLION_LAUGHS = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">
<!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]><Envelope>&lol2;</Envelope>"""
FILE_ENTITY = """<!DOCTYPE x [<!ENTITY xxe SYSTEM "file:///etc/passwd">]><x>&xxe;</x>"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BILLION_LAUGHS, "line 1: a document type is not read"),
        (FILE_ENTITY, "a document type is not read"),
        ('<!DOCTYPE x SYSTEM "http://evil.example/x.dtd"><x/>', "a document type is not read"),
        ("<html><body>Maintenance</body></html>", "holds no day"),
        (f"<Envelope {SPACE}><Cube/></Envelope>", "holds no day"),
        (DAILY.replace("2002-08-01/eurofxref", "2099-01-01/other"), "holds no day"),
        (DAILY[: len(DAILY) // 2], "not XML"),
        (DAILY + "<more/>", "not XML: junk"),
        ("<a>&unknown;</a>", "not XML: undefined entity"),
        ("<a>\x00</a>", "not XML"),
        (xml(("30.10.2026", [])), "'30.10.2026' is not a day"),
        (xml(("2026-02-30", [])), "'2026-02-30' is not a day"),
        (xml(("2026-10-30", [("usd", "1")])), "'usd' is not a three-letter code"),
        (f'<E {SPACE}><Cube currency="USD" rate="1"/></E>', "stands before any day"),
        ("", "no header that begins with Date"),
        ("Datum,USD\n", "no header that begins with Date"),
        ("PK\x03\x04", "no header"),
        ("Date,USD,US\n", "line 1: 'US' is not a three-letter code"),
        ("Date,USD,\n2026-10-30,1.1\n", "line 2: 2 of 3 columns"),
        ("Date, USD, \n30 October 2026, 1.1172, \n", "line 2: '30 October 2026' is not a day"),
        ('Date,USD,\n2026-10-30,"1.1"x,\n', "line 2"),
        ("Date,USD,\n20261030,1.1,\n", "is not a day"),
    ],
)
def test_text_of_another_format_is_refused_with_the_position(text, words):
    with pytest.raises(InvalidValue, match=words) as caught:
        parse(text)
    assert caught.value.field.startswith("rates")


def test_text_beyond_the_limit_is_refused_unread(monkeypatch):
    monkeypatch.setattr(ecb, "LARGEST_TEXT", 100)
    with pytest.raises(InvalidValue, match="longer than 100"):
        parse(DAILY)


@given(st.text(alphabet="<>/CubetimrancyDse=\"' 0123456789.-,\nN/A&;!", max_size=200))
def test_any_text_is_read_or_refused(text):
    for prefix in ("", "Date,USD,\n", f"<Cube {SPACE}>"):
        try:
            found = parse(prefix + text)
        except InvalidValue:
            continue
        assert all(row.units_per_eur > 0 for row in found if isinstance(row, ParsedRate))


def _zipped(*texts: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, text in enumerate(texts):
            archive.writestr(f"{number}.csv", text)
    return content.getvalue()


def test_file_is_read_plain_or_from_the_one_file_in_an_archive():
    assert ecb.text_of(b"Date,USD") == "Date,USD"
    assert ecb.text_of(_zipped("Date,USD")) == "Date,USD"


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (_zipped("a", "b"), "an archive of 2 files instead of one"),
        (_zipped("Date,USD")[:30], "not an archive that can be read"),
    ],
    ids=["not text", "two files", "cut archive"],  # an archive holds the time at which it was made
)
def test_file_is_refused_when_it_is_none_of_rates(content, detail):
    with pytest.raises(InvalidValue, match=detail):
        ecb.text_of(content)


@pytest.mark.parametrize("is_packed", [False, True])
def test_file_is_refused_when_it_is_too_long(monkeypatch, is_packed):
    monkeypatch.setattr(ecb, "LARGEST_TEXT", 1000)
    with pytest.raises(InvalidValue, match="longer than"):
        ecb.text_of(_zipped("x" * 1001) if is_packed else b"x" * 1001)
