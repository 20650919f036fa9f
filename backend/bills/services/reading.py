"""Reads a bill of any size with little memory: lines that say the same are summed batch by batch.

Names of accounts and resources are only compared, never kept: resources as salted hashes that live
as long as the reading.
"""

import datetime as dt
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import compress
from operator import not_
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from backend.bills.calc.classes import DETAILS, BillCharge, ChargeKind, charge_of
from backend.bills.calc.estate import (
    ZERO,
    Group,
    MachineKey,
    MachineUsage,
    Sums,
    Unreadable,
    hour_of,
    machine_key,
    moment_of,
)
from backend.bills.calc.formats import HETZNER, PLAIN, BillFormat
from backend.bills.calc.moments import moment, shows_day_first
from backend.bills.calc.notes import BillNote
from backend.bills.calc.periods import (
    DAY,
    LONGEST_H,
    MONTH,
    is_calendar_months,
    is_even_months,
    is_whole_months,
    step_of,
    step_that_holds,
)
from backend.bills.calc.unit_prices import PriceIs
from backend.bills.services.amounts import MONEY, credit_amounts, currency_codes, money
from backend.bills.services.batch import Batch
from backend.bills.services.commitments import spread_over_use
from backend.bills.services.hetzner import normalize
from backend.bills.services.quantities import is_in_hours
from backend.bills.services.tables import batches
from backend.bills.services.unit_prices import priced, sum_lines
from backend.foundation.errors import InvalidValue
from backend.foundation.units import HOURS_PER_MONTH

# Columns whose words say what a line charges for.
WORDS = (
    "provider",
    "service",
    "family",
    "region",
    "description",
    "meter",
    "charge",
    "class",
    "pricing",
    "status",
    "commitment",
    "usage",
    "operation",
    "system",
    "software",
    "unit",
    "details",
    "machine",
)
# Columns that name a commitment: only that they do is kept.
COMMITMENTS = ("reservation", "plan", "commitment")
# ASCII's own separator of units, which no word of a bill holds.
SEPARATOR = "\x1f"
COUNT = pa.decimal128(20, 6)
MOST_MACHINES = 10**14  # fit into it
NOTHING = ("NULL", "null", "None")


@dataclass
class Span:
    """From the first moment to the last; falsy while there is none."""

    first: dt.datetime | None = None
    last: dt.datetime | None = None

    def __bool__(self) -> bool:
        return self.first is not None

    def take(self, hours: NDArray[np.int64]) -> None:
        """Extend it to these hours since 1970."""
        if hours.size:
            first, last = moment_of(int(hours.min())), moment_of(int(hours.max()))
            self.first = min(self.first or first, first)
            self.last = max(self.last or last, last)


@dataclass
class Reading:
    """Sums of a file; grows batch by batch."""

    format: BillFormat
    sums: dict[str, Sums] = field(default_factory=lambda: defaultdict(Sums))
    """By the joined month, currency and words of lines."""
    charges: dict[str, BillCharge] = field(default_factory=dict)
    by_hour: dict[MachineKey, dict[int, float]] = field(default_factory=dict)
    by_resource: dict[MachineKey, dict[str, float]] = field(default_factory=dict)
    unreadable: Unreadable = field(default_factory=Unreadable)
    used: Span = field(default_factory=Span)
    """When lines of use begin."""
    whole: Span = field(default_factory=Span)
    """When any line begins."""
    machine_starts: set[int] = field(default_factory=set)
    """Hours since 1970 at which machine lines begin."""
    midnights: set[int] = field(default_factory=set)
    """Hours since 1970 at which lines of use begin a day."""
    lengths: Counter[int] = field(default_factory=Counter)
    """Machine lines by how many hours their period has, where a column says when it ends."""
    longest_h: float = 0
    """The most hours of one machine on one line."""
    long_lines: int = 0
    """Machine lines of more hours than a day can hold."""
    even_months: set[bool] = field(default_factory=set)
    """True for long lines that count a month as 730 hours, False for those of the calendar."""
    notes: Counter[BillNote] = field(default_factory=Counter)
    prices: dict[MachineKey, tuple[Decimal, Decimal]] = field(
        default_factory=lambda: defaultdict(lambda: (ZERO, ZERO))
    )
    """Prices of a plain table: of machines if its amounts are of one unit, and if they are of the
    line."""
    moments: dict[str, dt.datetime | None] = field(default_factory=dict)
    is_day_first: bool | None = None
    """True if dates such as 5/1/26 have the day first; None until one of them shows it."""
    salt: str = ""
    """Salt of the hashes of names: the same for all files of a bill, and for no two bills."""
    price_is: PriceIs = PriceIs.UNKNOWN
    is_price_of_unit: bool = False
    """True where the amounts of a plain table were read as those of one unit."""

    def bad_line(self, number: int, why: str, amount: Decimal = ZERO) -> None:
        """Counts a line that cannot be read."""
        self.unreadable = self.unreadable.with_line(number, why, amount)

    def groups(self) -> Iterator[Group]:
        """All that could be read."""
        for key, sums in self.sums.items():
            month, currency, words = _split_tag(key)
            yield Group(
                month=month,
                currency=currency,
                service=words["service"] or self.format.name,
                region=words["region"],
                charge=self.charge(key),
                sums=sums,
            )

    def charge(self, key: str) -> BillCharge:
        """Charge of the lines of a key."""
        charge = self.charges.get(key)
        if charge is None:
            words = _split_tag(key)[2]
            words["unit"] = words["unit"] or self.format.unit
            charge = self.charges[key] = charge_of(words, self.format.provider)
        return charge

    @property
    def usage(self) -> MachineUsage:
        """Hours of machines by clock hour and by machine."""
        span, notes, step = self.used or self.whole, Counter(self.notes), self._guess_step()
        if (needed := step_that_holds(self.longest_h)) > step:
            step = needed
            if step >= MONTH:
                notes[BillNote.MONTH_ON_A_DAY] += self.long_lines
        return MachineUsage(
            self.by_hour,
            self.by_resource,
            span.first,
            span.last,
            step,
            has_even_months=step >= MONTH and self._has_even_months,
            is_priced_by_month=self.format.is_priced_by_month,
            notes=+notes,
        )

    @property
    def _has_even_months(self) -> bool:
        return self.even_months == {True} or (self.format is PLAIN and not self.even_months)

    def _guess_step(self) -> dt.timedelta:
        """Length of a period as the lines of machines write it."""
        if self.lengths:
            # Of most lines: one that is longer than its like does not make a bill by the hour monthly.
            middle = sorted(self.lengths.elements())[self.lengths.total() // 2]
            return step_that_holds(middle)
        starts = [moment_of(hour) for hour in self.machine_starts]
        if not starts:
            starts = [moment for moment in self.moments.values() if moment is not None]
        step = step_of(starts)
        if step >= MONTH:
            # Machines of the first of a month alone do not say: other days in the bill do.
            step = step_of(moment_of(hour) for hour in self.midnights)
        return min(step, DAY) if self.format.is_daily else step


def _split_tag(key: str) -> tuple[str, str, dict[str, str]]:
    month, currency, *words = key.split(SEPARATOR)
    return month, currency, dict(zip(WORDS, words, strict=True))


def bill_read(
    file: BinaryIO,
    *,
    slug: str | None = None,
    salt: str = "",
    price_is: PriceIs = PriceIs.UNKNOWN,
) -> Reading:
    """Read a bill's file to its end; `slug` is its format where it is not to be recognised.

    InvalidValue names what is wrong with the file; lines that cannot be read are counted instead.
    """
    # The format is recognised by lines of which some may be bad, before there is a reading to count
    # them in.
    early: list[tuple[int, str]] = []
    reading: Reading | None = None

    def bad_line(number: int, why: str) -> None:
        if reading is None:
            early.append((number, why))
        else:
            reading.bad_line(number, why)

    with ExitStack() as opened:
        form, parts = batches(file, slug, bad_line, opened)
        reading = Reading(form, salt=salt, price_is=price_is)
        for number, why in early:
            reading.bad_line(number, why)
        for batch in parts:
            _take(reading, normalize(batch) if form is HETZNER else batch)
    return reading


def _take(reading: Reading, batch: Batch) -> None:
    columns = {name: _clean_column(column) for name, column in batch.columns.items()}
    if "credits" in columns:
        # Google says only there that a commitment paid for a line.
        is_committed = pc.match_substring(columns["credits"], "COMMITTED_USAGE_DISCOUNT")
        columns["pricing"] = pc.if_else(is_committed, "commitments", "")
    columns["currency"] = currency_codes(columns["currency"])
    if reading.format is PLAIN:
        batch, columns = _without_sums(reading, batch, columns)
        columns, reading.is_price_of_unit = priced(columns, reading.price_is)
    starts = pc.dictionary_encode(columns["start"])
    _note_order(reading, columns)
    months, hours = _times(reading, starts.dictionary.to_pylist())
    at = starts.indices.to_numpy(zero_copy_only=False)
    billed, promotions = money(columns["billed"]), None
    if "credits" in columns:
        lowered_by, promotions = credit_amounts(columns["credits"])
        billed = pc.cast(pc.add(billed, lowered_by), MONEY)
    has_time, has_amount = hours[at] >= 0, pc.is_valid(billed).to_numpy(zero_copy_only=False)
    is_good = has_time & has_amount & _has_quantity(columns)
    _name_bad_lines(reading, batch, columns, billed=billed, has_time=has_time, is_good=is_good)
    good = pa.array(is_good)
    if not pc.any(good).as_py():
        return
    columns = {name: column.filter(good) for name, column in columns.items()}
    at, billed = at[is_good], billed.filter(good)
    quantity = _quantity(columns)
    if quantity is not None and "unit" in columns:
        is_hours = is_in_hours(columns, quantity, billed)
        reading.notes[BillNote.HOURS_NOT_BLOCKS] += pc.sum(is_hours).as_py() or 0
        columns["unit"] = pc.if_else(is_hours, "Hours", columns["unit"])
    month_of = pa.array(months).take(pa.array(at))
    keys = pc.dictionary_encode(_keys(columns, month_of))
    _sum(reading, columns, keys, billed, quantity)
    _sum_unit_and_line_prices(reading, columns, keys)
    if promotions is not None:
        _sum_promotions(reading, columns, month_of, promotions.filter(good))
    names = keys.dictionary.to_pylist()
    is_use = np.array([reading.charge(name).is_usage for name in names])
    start_hours = hours[at]
    reading.whole.take(start_hours)
    used_hours = start_hours[is_use[keys.indices.to_numpy(zero_copy_only=False)]]
    reading.used.take(used_hours)
    reading.midnights.update(np.unique(used_hours[used_hours % 24 == 0]).tolist())
    if quantity is not None:
        _count_machines(reading, columns, keys, quantity, start_hours)


def _sum_unit_and_line_prices(
    reading: Reading, columns: Mapping[str, pa.Array], keys: pa.DictionaryArray
) -> None:
    """Add each line of a plain table to its machine's two sums: its amount as a price of one unit, and
    as that of the whole line. Which is meant shows once list prices are beside them."""
    if reading.format is not PLAIN or "of_unit" not in columns:
        return
    for code, of_unit, of_line in zip(
        keys.indices.to_pylist(),
        columns["of_unit"].to_pylist(),
        columns["of_line"].to_pylist(),
        strict=True,
    ):
        name = keys.dictionary[code].as_py()
        machine = machine_key(reading.charge(name), _split_tag(name)[2]["region"])
        unit_sum, line_sum = reading.prices[machine]
        reading.prices[machine] = unit_sum + (of_unit or ZERO), line_sum + (of_line or ZERO)
    if reading.is_price_of_unit:
        reading.notes[BillNote.PRICE_OF_A_UNIT] += len(keys)


def _sum_promotions(
    reading: Reading, columns: Mapping[str, pa.Array], months: pa.Array, amounts: pa.Array
) -> None:
    """Credits that are given and end are no price of what they paid for: they have groups of their own."""
    rows = np.flatnonzero(pc.not_equal(amounts, ZERO).to_numpy(zero_copy_only=False))
    if not rows.size:
        return
    given = {
        name: columns[name].take(pa.array(rows))
        for name in ("currency", "service", "region")
        if name in columns
    }
    given["charge"] = pa.array(["promotion"] * rows.size)
    keys = pc.dictionary_encode(_keys(given, months.take(pa.array(rows))))
    _sum(reading, given, keys, amounts.take(pa.array(rows)), None, has_lines=False)


def _clean_column(column: pa.Array) -> pa.Array:
    text = pc.utf8_trim_whitespace(pc.fill_null(column, ""))
    return pc.if_else(pc.is_in(text, pa.array(NOTHING)), "", text)


def _note_order(reading: Reading, columns: Mapping[str, pa.Array]) -> None:
    """The order of dates with slashes; InvalidValue where it shows too late."""
    if reading.is_day_first is not None:
        return
    texts = [
        text
        for name in ("start", "end")
        if name in columns
        for text in pc.unique(columns[name]).to_pylist()
    ]
    reading.is_day_first = shows_day_first(texts)
    if reading.is_day_first and any("/" in text for text in reading.moments):
        raise InvalidValue(
            "/file",
            "its dates have the day first, which its beginning does not show: write 2026-10-31",
        )


def _times(reading: Reading, texts: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Month and hour since 1970 of each different start; hour −1 where it is no date."""
    months, hours = [], []
    for text in texts:
        # Millions of lines begin at a few hundred times, so each is read once.
        if text not in reading.moments:
            reading.moments[text] = moment(text, is_day_first=bool(reading.is_day_first))
        start = reading.moments[text]
        months.append("" if start is None else f"{start:%Y-%m}")
        hours.append(-1 if start is None else hour_of(start))
    return months, np.array(hours, dtype=np.int64)


def _has_quantity(columns: Mapping[str, pa.Array]) -> NDArray[np.bool_]:
    """False for lines whose hours or machines are stated by what is no number."""
    is_good = pa.array([True] * len(columns["start"]), pa.bool_())
    for name in ("quantity", "count"):
        if name in columns:
            is_stated = pc.not_equal(columns[name], "")
            is_number = pc.is_valid(money(columns[name]))
            is_good = pc.and_(is_good, pc.or_(pc.invert(is_stated), is_number))
    good: NDArray[np.bool_] = is_good.to_numpy(zero_copy_only=False)
    return good


def _quantity(columns: Mapping[str, pa.Array]) -> pa.Array | None:
    """In the line's unit; machines of which only the number is stated ran for a whole month."""
    quantity = money(columns["quantity"]) if "quantity" in columns else None
    if "count" in columns:
        hours = pa.scalar(HOURS_PER_MONTH, pa.decimal128(5, 0))
        # Arrow refuses a product of decimals whose digits may exceed 38: those of the count are cut
        # to fit.
        count = money(columns["count"])
        # More machines than there are say as little as a text.
        count = pc.if_else(pc.less(pc.abs(count), MOST_MACHINES), count, None)
        of_count = pc.cast(pc.multiply(pc.cast(count, COUNT), hours), MONEY)
        quantity = of_count if quantity is None else pc.coalesce(quantity, of_count)
    return None if quantity is None else pc.fill_null(quantity, ZERO)


def _without_sums(
    reading: Reading, batch: Batch, columns: Mapping[str, pa.Array]
) -> tuple[Batch, dict[str, pa.Array]]:
    """The lines of a plain table but for those that sum others, which are named."""
    is_kept = [not is_sum for is_sum in sum_lines(columns["machine"], columns["billed"])]
    for number in compress(batch.lines, map(not_, is_kept)):
        reading.bad_line(number, "it sums other lines, and is left out")
    numbers = list(compress(batch.lines, is_kept))
    kept = pa.array(is_kept, pa.bool_())
    return replace(batch, lines=numbers), {name: of.filter(kept) for name, of in columns.items()}


def _name_bad_lines(
    reading: Reading,
    batch: Batch,
    columns: Mapping[str, pa.Array],
    *,
    billed: pa.Array,
    has_time: NDArray[np.bool_],
    is_good: NDArray[np.bool_],
) -> None:
    for row in np.flatnonzero(~is_good).tolist():
        number, amount = batch.lines[row], billed[row].as_py()
        if amount is not None:
            said = [columns[name][row].as_py() for name in ("quantity", "count") if name in columns]
            why = f"{' or '.join(map(repr, filter(None, said)))} is no number"
            if not has_time[row]:
                why = f"{columns['start'][row].as_py()!r} is no date"
            reading.bad_line(number, why, amount)
        else:
            amounts = [
                columns[name][row].as_py() for name in ("billed", "credits") if name in columns
            ]
            reading.bad_line(number, f"{' with credits '.join(map(repr, amounts))} is no amount")


def _keys(columns: Mapping[str, pa.Array], months: pa.Array) -> pa.Array:
    words = [columns.get(name, "") for name in WORDS]
    if "details" in columns:
        words[WORDS.index("details")] = _type_only(columns["details"])
    named = [columns[name] for name in COMMITMENTS if name in columns]
    if named:
        has_any = pc.not_equal(pc.binary_join_element_wise(*named, ""), "")
        words[WORDS.index("commitment")] = pc.if_else(has_any, "yes", "")
    return pc.binary_join_element_wise(months, columns["currency"], *words, SEPARATOR)


def _type_only(details: pa.Array) -> pa.Array:
    """The machine type named in a document of a column: the rest differs by line."""
    encoded = pc.dictionary_encode(details)
    kept = [
        " ".join(match[0] for pattern in DETAILS if (match := pattern.search(text)))
        for text in encoded.dictionary.to_pylist()
    ]
    return pa.array(kept, pa.string()).take(encoded.indices)


def _sum(
    reading: Reading,
    columns: Mapping[str, pa.Array],
    keys: pa.DictionaryArray,
    billed: pa.Array,
    quantity: pa.Array | None,
    *,
    has_lines: bool = True,
) -> None:
    effective, unused = spread_over_use(columns, billed)
    parts = {"key": keys.indices, "billed": billed, "effective": effective, "unused": unused}
    if quantity is not None:
        parts["quantity"] = quantity
    if "listed" in columns:
        parts["listed"] = money(columns["listed"])
    table = pa.table(parts)
    asked = [(name, "sum") for name in parts if name != "key"] + [("billed", "count")]
    summed = table.group_by("key", use_threads=False).aggregate(asked)
    for row in summed.to_pylist():
        reading.sums[keys.dictionary[row["key"]].as_py()] += Sums(
            billed=row["billed_sum"],
            effective=row["effective_sum"],
            listed=row.get("listed_sum"),
            quantity=row.get("quantity_sum") or ZERO,
            lines=row["billed_count"] if has_lines else 0,
            unused=row["unused_sum"] or ZERO,
        )


def _count_machines(
    reading: Reading,
    columns: Mapping[str, pa.Array],
    keys: pa.DictionaryArray,
    quantity: pa.Array,
    hours: NDArray[np.int64],
) -> None:
    """Machine hours by clock hour and by machine."""
    names = keys.dictionary.to_pylist()
    charges = [reading.charge(name) for name in names]
    per_unit = np.array([float(charge.hours_per_unit) for charge in charges])
    index = keys.indices.to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(per_unit[index] > 0)
    if not rows.size:
        return
    ran = quantity.take(pa.array(rows)).cast(pa.float64()).to_numpy(zero_copy_only=False)
    ran = ran * per_unit[index[rows]]
    machines: dict[MachineKey, int] = {}
    number = [
        machines.setdefault(machine_key(charge, _split_tag(name)[2]["region"]), len(machines))
        if charge.kind is ChargeKind.MACHINE
        else -1
        for charge, name in zip(charges, names, strict=True)
    ]
    _note_periods(reading, columns, rows, ran, hours[rows])
    whose = np.array(number)[index[rows]]
    keys_by_number = list(machines)
    table = {"machine": whose, "hours": ran, "at": hours[rows]}
    if "resource" in columns:
        table["name"] = columns["resource"].take(pa.array(rows))
    whole = pa.table(table)
    _add(reading.by_hour, keys_by_number, whole, "at")
    if "name" in table:
        named = whole.filter(pc.not_equal(whole["name"], ""))
        hashed = _hash_column(named["name"].combine_chunks(), reading.salt)
        named = named.set_column(named.column_names.index("name"), "name", hashed)
        _add(reading.by_resource, keys_by_number, named, "name")


def _note_periods(
    reading: Reading,
    columns: Mapping[str, pa.Array],
    rows: NDArray[np.int64],
    ran: NDArray[np.float64],
    starts: NDArray[np.int64],
) -> None:
    """How long the periods of machine lines are, and whether their hours fit into them."""
    at = pa.array(rows)
    reading.machine_starts.update(np.unique(starts).tolist())
    if "end" in columns:
        ends = pc.dictionary_encode(columns["end"].take(at))
        moments = [
            moment(text, is_day_first=bool(reading.is_day_first))
            for text in ends.dictionary.to_pylist()
        ]
        ends_at = np.array(
            [-1 if end is None else math.ceil(end.timestamp() / 3600) for end in moments]
        )
        lengths = ends_at[ends.indices.to_numpy(zero_copy_only=False)] - starts
        values, counts = np.unique(lengths[lengths > 0], return_counts=True)
        reading.lengths.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    is_single = np.zeros(len(rows), dtype=bool)
    if "resource" in columns:
        named = pc.not_equal(columns["resource"].take(at), "")
        is_single = named.to_numpy(zero_copy_only=False)
    # One machine cannot run for longer than time passes; lines without a name may be of many.
    is_long = ran > LONGEST_H[DAY]
    for row in np.flatnonzero(is_long).tolist():
        start = moment_of(int(starts[row]))
        is_month = is_whole_months(float(ran[row]), start)
        if is_single[row] or (is_month and _is_only_start(reading, start)):
            reading.longest_h = max(reading.longest_h, float(ran[row]))
            reading.long_lines += 1
        # A person who fills in a table takes 730 hours for a month, unless its hours say otherwise.
        is_even = is_even_months(float(ran[row]))
        is_calendar = is_calendar_months(float(ran[row]), start)
        reading.even_months.add(not is_calendar if reading.format is PLAIN else is_even)
    single = ran[is_single & ~is_long]
    reading.longest_h = max(reading.longest_h, float(single.max(initial=0.0)))


def _is_only_start(reading: Reading, start: dt.datetime) -> bool:
    """True where all machine lines of a month begin at once."""
    months = [f"{moment_of(hour):%Y-%m}" for hour in reading.machine_starts]
    return months.count(f"{start:%Y-%m}") == 1


def _add(
    sums: dict[MachineKey, dict[Any, float]], machines: list[MachineKey], table: pa.Table, by: str
) -> None:
    # In the order of the lines: sums of floats depend on it, and the same bill must always give the
    # same.
    grouped = table.group_by(["machine", by], use_threads=False).aggregate([("hours", "sum")])
    for machine, of, hours in zip(
        *(grouped[name].to_pylist() for name in ("machine", by, "hours_sum")), strict=True
    ):
        known = sums.setdefault(machines[machine], {})
        known[of] = known.get(of, 0.0) + hours


def _hash_column(names: pa.Array, salt: str) -> pa.Array:
    encoded = pc.dictionary_encode(names)
    hashed = [
        hashlib.blake2b(f"{salt}{name}".encode(), digest_size=8).hexdigest()
        for name in encoded.dictionary.to_pylist()
    ]
    return pa.array(hashed, pa.string()).take(encoded.indices)
