"""Several files of one bill as one."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal

from backend.bills.calc.estate import Group, MachineKey, MachineUsage, Unreadable
from backend.foundation.errors import InvalidValue
from backend.foundation.units import EXACT


def join_usage(parts: Sequence[MachineUsage]) -> MachineUsage:
    """Usage of all files; the shortest period counts."""
    by_hour: dict[MachineKey, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    by_resource: dict[MachineKey, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for part in parts:
        for machine, hours in part.by_hour.items():
            for hour, ran in hours.items():
                by_hour[machine][hour] += ran
        for machine, names in part.by_resource.items():
            for name, ran in names.items():
                by_resource[machine][name] += ran
    return MachineUsage(
        by_hour=by_hour,
        by_resource=by_resource,
        first=min((part.first for part in parts if part.first), default=None),
        last=max((part.last for part in parts if part.last), default=None),
        step=min(part.step for part in parts),
        has_even_months=all(part.has_even_months for part in parts),
        is_priced_by_month=all(part.is_priced_by_month for part in parts),
        notes=sum((Counter(part.notes) for part in parts), Counter()),
    )


def join_unreadable(parts: Iterable[tuple[str, Unreadable]]) -> Unreadable:
    """Unreadable lines of all files, by their names."""
    whole = Unreadable()
    for name, part in parts:
        named = tuple((line, f"{name}: {why}") for line, why in part.named)
        whole = Unreadable(
            lines=whole.lines + part.lines,
            amount=EXACT.add(whole.amount, part.amount),
            named=(*whole.named, *named),
        )
    return whole


def refuse_repeated_months(files: Sequence[tuple[str, Sequence[Group]]]) -> None:
    """InvalidValue where two files have a month with as many lines and the same amount."""
    seen: dict[tuple[str, str, int, Decimal], str] = {}
    for name, groups in files:
        months: dict[tuple[str, str], tuple[int, Decimal]] = {}
        for group in groups:
            lines, billed = months.get((group.month, group.currency), (0, Decimal(0)))
            months[group.month, group.currency] = (
                lines + group.sums.lines,
                EXACT.add(billed, group.sums.billed),
            )
        for (month, currency), sums in months.items():
            before = seen.setdefault((month, currency, *sums), name)
            if before != name:
                raise InvalidValue(
                    "/file",
                    f"{before} and {name} have the same lines of {month}: import each month once",
                )
