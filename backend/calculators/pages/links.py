"""The calculator of shared links: lines of links and flows, whose values share their place."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from django import forms

from backend.calculators.calc.links import (
    Chain,
    ChainDocument,
    FlowDocument,
    FlowResult,
    Segment,
    chain_shares,
)
from backend.calculators.calc.presets import PRESETS
from backend.calculators.pages.fields import (
    MB,
    PERCENT,
    CalculatorForm,
    Given,
    choice,
    first,
    number,
    speeds,
    states,
)
from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.site import figures
from backend.site.language import _, count_words, lazy, localize
from backend.site.number_fields import RATE_MB_PER_S
from backend.site.plots import Axis, Mark, Plot

# Of links and of flows each: more than a chain has, and few enough for one address.
MOST_LINES = 20
LONGEST_NAME = 60
# As many as there are colours; further flows are drawn as one.
MOST_MARKS = 6
JOINS = {
    "bond": "bond",
    "multipath": lazy("multipath, each I/O"),
    "multipath_default": "multipath, 1,000 I/Os",
}
_link = partial(number, Segment)
_flow = partial(number, FlowDocument)


class ChainLine(CalculatorForm):
    """A line of the form."""

    title = ""
    """The field that names the line."""
    content: tuple[str, ...] = ()
    """Fields that make it more than an empty one."""

    def __init__(self, data: Mapping[str, str] | None, index: int) -> None:
        """With what was typed; None makes a free line."""
        super().__init__(data)
        # Names repeat in every line, so their ids need the line's number.
        self.auto_id = f"%s_{index}"

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if self.title in given and not given[self.title]:
            self.add_error(self.title, _("A name is needed."))
        return given

    @property
    def is_blank(self) -> bool:
        return not any(self.data.get(name, "").strip() for name in self.content)


class LinkLine(ChainLine):
    """A link, or several that are joined."""

    link = states(
        "/name", forms.CharField(label=lazy("Link"), required=False, max_length=LONGEST_NAME)
    )
    kind = forms.ChoiceField(
        label=lazy("Kind"),
        required=False,
        # Disks may be the last link of a chain; their own empty choice would be a second one.
        choices=[*speeds("link", lazy("its own speed")), *speeds("disk", "")[1:]],
    )
    speed = _link(
        "/capacity_bytes_per_s",
        lazy("Speed of one, MB/s"),
        unit=MB,
        units=RATE_MB_PER_S,
        placeholder=lazy("of its kind"),
    )
    links = _link("/count", lazy("How many"))
    join = choice("/aggregation", lazy("Joined as"), JOINS.items())
    usable = _link("/usable_ratio", "Usable, %", unit=PERCENT)

    title = "link"
    content = ("link", "kind", "speed")

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if given.get("speed") is None and not given.get("kind") and "speed" not in self.errors:
            self.add_error("speed", _("A speed or a kind is needed."))
        return given

    def document(self) -> dict[str, Any]:
        """The link; a speed that is stated goes before that of its kind."""
        kind = PRESETS.get(self.cleaned_data["kind"])
        filled = {"capacity_bytes_per_s": kind.bytes_per_s} if kind else {}
        return filled | super().document()


class FlowLine(ChainLine):
    """Equal flows over some of the links, or over all of them."""

    flow = states(
        "/name", forms.CharField(label=lazy("Flow"), required=False, max_length=LONGEST_NAME)
    )
    flows = _flow("/count", lazy("How many"))
    asks = _flow(
        "/demand_bytes_per_s",
        lazy("Each asks for, MB/s"),
        unit=MB,
        units=RATE_MB_PER_S,
        placeholder=lazy("all it can get"),
    )
    over = states(
        "/path",
        forms.CharField(
            label=lazy("Over"),
            required=False,
            max_length=1000,
            widget=forms.TextInput(attrs={"placeholder": lazy("all links"), "autocomplete": "off"}),
        ),
        # Both are what people write: a, b, c and a > b > c.
        lambda names: list(filter(None, map(str.strip, names.replace(">", ",").split(",")))),
    )

    title = "flow"
    content = ("flow", "flows", "asks", "over")


class MoveForm(CalculatorForm):
    """Amount to move over each flow."""

    move = number(
        ChainDocument,
        "/transfer_bytes",
        lazy("Time to move, MB"),
        lazy("Over each flow, at its rate."),
        unit=MB,
    )


L = TypeVar("L", bound=ChainLine)


class LinksForm:
    """The whole of it: the lines that say something, and a free one of each sort."""

    names = (*LinkLine.base_fields, *FlowLine.base_fields, *MoveForm.base_fields)

    def __init__(self, given: Given) -> None:
        self.other_errors: list[str] = []
        self.links, self.free_link = self._lines("links", LinkLine, given)
        self.flows, self.free_flow = self._lines("flows", FlowLine, given)
        self.total = MoveForm(first(given, MoveForm.base_fields))

    def _lines(self, sort: str, kind: type[L], given: Given) -> tuple[list[L], L]:
        """The lines that say something, and a free one. The values of a line are those at its place
        under each name."""
        columns = {name: given.get(name, ()) for name in kind.base_fields}
        count = max(map(len, columns.values()))
        typed = [
            kind({name: column[n] for name, column in columns.items() if n < len(column)}, n + 1)
            for n in range(count)
        ]
        # Numbered before blank ones are left out, so that ids stay those of the lines that were sent.
        lines = [line for line in typed if not line.is_blank]
        if len(lines) > MOST_LINES:
            self.other_errors.append(
                _(
                    "{count} {kind} are too many: at most {most}.",
                    count=len(lines),
                    kind=sort,
                    most=MOST_LINES,
                )
            )
        return lines[:MOST_LINES], kind(None, count + 1)

    def solve(self) -> Chain | None:
        """The shares; None where something is wrong or nothing flows, which the lines then say."""
        filled = [*self.links, *self.flows, self.total]
        if not all(line.is_valid() for line in filled) or self.other_errors or not self.flows:
            return None
        links = [line.document() for line in self.links]
        flows = [line.document() for line in self.flows]
        names = [link["name"] for link in links]
        document = {
            "schema": 1,
            "links": links,
            "flows": [{**flow, "path": flow.get("path") or names} for flow in flows],
            **self.total.document(),
        }
        try:
            return chain_shares(ChainDocument.read(document))
        except InvalidDocument as error:
            for pointer, detail in error.errors:
                self._report(pointer, detail)
            return None

    def _report(self, pointer: str, detail: str) -> None:
        """Puts a refusal beside the field of the line that its pointer names."""
        sort, index, field = pointer.split("/")[1:4]
        lines: Sequence[ChainLine] = self.links if sort == "links" else self.flows
        lines[int(index)].refuse(InvalidValue(f"/{field}", detail))

    @property
    def problems(self) -> list[str]:
        """Everything that has to be changed, with its place: a wide line may hide its end."""
        named = [
            *((_("Link {n}, ", n=n), line) for n, line in enumerate(self.links, 1)),
            *((_("Flow {n}, ", n=n), line) for n, line in enumerate(self.flows, 1)),
            ("", self.total),
        ]
        lines = [
            f"{prefix}{line.fields[name].label}: {error}"
            for prefix, line in named
            for name, errors in line.errors.items()
            for error in errors
        ]
        return [*self.other_errors, *lines]


@dataclass(frozen=True)
class FlowRow:
    """Rate of each of `count` equal flows, in MB/s; limited by nothing = as much as it asks for."""

    name: str
    count: int
    asks: float | None
    rate: float
    together: float
    limited_by: str
    transfer_s: float | None


def calculate(given: Given) -> dict[str, Any]:
    """The part of the page; without a summary where something is wrong or nothing flows."""
    form = LinksForm(given)
    chain = form.solve()
    if chain is None:
        return {"form": form}
    asked = [line.cleaned_data["asks"] for line in form.flows]
    flows = _flow_rows(chain, [None if value is None else float(value) for value in asked])
    return {
        "form": form,
        "summary": _summary(chain, flows),
        "flows": flows,
        "move": form.total.cleaned_data["move"],
        "document": json.dumps(chain.document.model_dump(by_alias=True), indent=1),
        "plot": _plot(chain, flows) if chain.document.links else None,
    }


def _full_links(chain: Chain) -> list[str]:
    return [link.name for link in chain.shares.links if link.utilisation >= 1]


def _flow_rows(chain: Chain, asked: Sequence[float | None]) -> list[FlowRow]:
    """The flows, in their order; `asked` is what each was stated to want, in MB/s."""
    full = _full_links(chain)
    return [
        FlowRow(
            name=flow.name,
            count=flow.count,
            # As it was stated: the chain has capped it where a flow cannot use more than one link.
            asks=demand,
            rate=share.rate_bytes_per_s / MB,
            together=flow.count * share.rate_bytes_per_s / MB,
            limited_by=_limit_words(share, full),
            transfer_s=share.transfer_s,
        )
        for flow, share, demand in zip(chain.document.flows, chain.shares.flows, asked, strict=True)
    ]


def _limit_words(share: FlowResult, full: Sequence[str]) -> str:
    # A bottleneck that is not full is the share of one link in a bond, which a single flow cannot exceed.
    if share.bottleneck is None or share.bottleneck in full:
        return share.bottleneck or ""
    return _("one of the links of {bottleneck}", bottleneck=share.bottleneck)


def _summary(chain: Chain, flows: Sequence[FlowRow]) -> str:
    full = _full_links(chain)
    first_part = (
        count_words("{links} is full", "{links} are full", len(full), links=", ".join(full))
        if full
        else _("No link full")
    )
    least = min(
        (flow for flow in flows if flow.limited_by), default=None, key=lambda flow: flow.rate
    )
    if least is None:
        return _("{first}: every flow gets what it asks for", first=first_part)
    return _(
        "{first}; {name} gets {rate} MB/s{each}",
        first=first_part,
        name=least.name,
        rate=figures.figure(least.rate),
        each=_(" each") if least.count > 1 else "",
    )


def _plot(chain: Chain, flows: Sequence[FlowRow]) -> Plot:
    """Each link as a bar of what the flows take of it, in percent; a chain has a link or more."""
    names = [link.name for link in chain.document.links]
    capacities = [link.capacity_bytes_per_s / MB for link in chain.document.links]
    taken = [
        (
            row.name,
            [
                # None and not zero where a flow does not pass: the table then says nothing instead of 0.
                100 * row.together / capacity if name in flow.path else None
                for name, capacity in zip(names, capacities, strict=True)
            ],
        )
        for row, flow in zip(flows, chain.document.flows, strict=True)
    ]
    if len(taken) > MOST_MARKS:
        # One colour is kept for all others together, so that a bar still adds up to what is taken.
        rest = [values for _name, values in taken[MOST_MARKS - 1 :]]
        others = [_sum(column) for column in zip(*rest, strict=True)]
        taken = [*taken[: MOST_MARKS - 1], (_("other flows"), others)]
    uses = chain.shares.links
    shares = "; ".join(
        _(
            "{name} {percent}% of {capacity}",
            name=name,
            percent=localize(f"{100 * use.utilisation:.0f}"),
            capacity=_("{speed} MB/s", speed=figures.figure(capacity)),
        )
        for name, use, capacity in zip(names, uses, capacities, strict=True)
    )
    return Plot(
        id="plot-links",
        title=_("What the flows take of each link"),
        x_label="",
        x_kind="category",
        x=names,
        y=Axis(_("% of the link"), most=100),
        marks=[Mark(name, values, "bar") for name, values in taken],
        is_stacked=True,
        extra={
            _("taken, MB/s"): [figures.figure(use.used_bytes_per_s / MB) for use in uses],
            _("of, MB/s"): [figures.figure(capacity) for capacity in capacities],
        },
        summary=_("Stacked bars of how full each link is: {shares}.", shares=shares),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
