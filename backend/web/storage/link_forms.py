"""Links and flows of a chain as lines of a GET form: the values of a line share their place."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from django import forms

from backend.domain.contention import Flow
from backend.domain.errors import InvalidValue
from backend.domain.storage import PRESETS, Chain, Segment, chain_shares
from backend.web.shared.forms import WriteForm
from backend.web.shared.language import _, lazy
from backend.web.shared.number_fields import RATE_MB_PER_S
from backend.web.storage.fields import MB, MOST_MB_PER_S, Given, first, number, speeds, whole

# Of links and of flows each: more than a chain has, and few enough for one address.
MOST_LINES = 20
MOST_MB = 10**12
MOST_COUNT = 10**9
LONGEST_NAME = 60
JOINS = {
    "bond": "bond",
    "multipath": lazy("multipath, each I/O"),
    "multipath_default": "multipath, 1,000 I/Os",
}
L = TypeVar("L", bound="ChainLine")


class ChainLine(WriteForm):
    """A line; `said` are the fields that make it more than an empty one."""

    said: tuple[str, ...] = ()

    def __init__(self, data: Mapping[str, str] | None, index: int) -> None:
        """With what was typed; None makes a free line."""
        super().__init__(data)
        # Names repeat in every line, so their ids need the line's number.
        self.auto_id = f"%s_{index}"

    @property
    def is_blank(self) -> bool:
        return not any(self.data.get(name, "").strip() for name in self.said)


class LinkLine(ChainLine):
    """A link, or several that are joined."""

    link = forms.CharField(label=lazy("Link"), required=False, max_length=LONGEST_NAME)
    kind = forms.ChoiceField(
        label=lazy("Kind"),
        required=False,
        # Disks may be the last link of a chain; their own empty choice would be a second one.
        choices=[*speeds("link", lazy("its own speed")), *speeds("disk", "")[1:]],
    )
    speed = number(
        lazy("Speed of one, MB/s"),
        0,
        MOST_MB_PER_S,
        units=RATE_MB_PER_S,
        placeholder=lazy("of its kind"),
    )
    links = whole(lazy("How many"), 1, 1000, placeholder="1")
    join = forms.ChoiceField(
        label=lazy("Joined as"),
        required=False,
        choices=list(JOINS.items()),
    )
    usable = number("Usable, %", Decimal("0.01"), 100, placeholder="100")

    said = ("link", "kind", "speed")
    pointers = {
        "/name": "link",
        "/capacity_bytes_per_s": "speed",
        "/link_bytes_per_s": "speed",
        "/count": "links",
        "/aggregation": "join",
        "/usable_ratio": "usable",
    }

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if "link" in given and not given["link"]:
            self.add_error("link", _("A name is needed."))
        if given.get("speed") is None and not given.get("kind") and "speed" not in self.errors:
            self.add_error("speed", _("A speed or a kind is needed."))
        return given

    def segment(self) -> Segment:
        """The link; a speed that is stated goes before that of its kind."""
        given = self.cleaned_data
        stated, usable = given["speed"], given["usable"]
        return Segment(
            name=given["link"],
            link_bytes_per_s=PRESETS[given["kind"]].bytes_per_s
            if stated is None
            else float(stated * MB),
            count=given["links"] or 1,
            aggregation=given["join"] or "bond",
            usable_ratio=1.0 if usable is None else float(usable / 100),
        )


class FlowLine(ChainLine):
    """Equal flows over some of the links, or over all of them."""

    flow = forms.CharField(label=lazy("Flow"), required=False, max_length=LONGEST_NAME)
    flows = whole(lazy("How many"), 1, MOST_COUNT, placeholder="1")
    asks = number(
        lazy("Each asks for, MB/s"),
        0,
        MOST_MB_PER_S,
        units=RATE_MB_PER_S,
        placeholder=lazy("all it can get"),
    )
    over = forms.CharField(
        label=lazy("Over"),
        required=False,
        max_length=1000,
        widget=forms.TextInput(attrs={"placeholder": lazy("all links"), "autocomplete": "off"}),
    )

    said = ("flow", "flows", "asks", "over")
    pointers = {
        "/name": "flow",
        "/count": "flows",
        "/demand_bytes_per_s": "asks",
        "/path": "over",
    }

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if "flow" in given and not given["flow"]:
            self.add_error("flow", _("A name is needed."))
        return given

    def flow_over(self, names: Sequence[str]) -> Flow:
        """The flows; `names` are the links that they pass unless they say which."""
        given = self.cleaned_data
        # Both are what people write: a, b, c and a > b > c.
        stated = [name.strip() for name in given["over"].replace(">", ",").split(",")]
        asked = given["asks"]
        return Flow(
            name=given["flow"],
            count=given["flows"] or 1,
            demand_bytes_per_s=None if asked is None else float(asked * MB),
            path=tuple(filter(None, stated)) or tuple(names),
        )


class MoveForm(WriteForm):
    """Amount to move over each flow."""

    move = number(lazy("Time to move, MB"), 0, MOST_MB, lazy("Over each flow, at its rate."))


class LinksForm:
    """The whole of it: the lines that say something, and a free one of each sort."""

    names = (*LinkLine.base_fields, *FlowLine.base_fields, *MoveForm.base_fields)

    def __init__(self, given: Given) -> None:
        self.other_errors: list[str] = []
        links, flows = list(LinkLine.base_fields), list(FlowLine.base_fields)
        typed = [LinkLine(line, n + 1) for n, line in enumerate(_lines(given, links))]
        # Numbered before blank ones are left out, so that ids stay those of the lines that were sent.
        self.links = self._rows_of("links", [line for line in typed if not line.is_blank])
        asked = [FlowLine(line, n + 1) for n, line in enumerate(_lines(given, flows))]
        self.flows = self._rows_of("flows", [line for line in asked if not line.is_blank])
        self.free_link = LinkLine(None, len(typed) + 1)
        self.free_flow = FlowLine(None, len(asked) + 1)
        self.total = MoveForm(first(given, ["move"]))

    def _rows_of(self, sort: str, lines: list[L]) -> list[L]:
        if len(lines) > MOST_LINES:
            self.other_errors.append(
                _(
                    "{count} {kind} are too many: at most {most}.",
                    count=len(lines),
                    kind=sort,
                    most=MOST_LINES,
                )
            )
        return lines[:MOST_LINES]

    def solve(self) -> Chain | None:
        """The shares; None where something is wrong or nothing flows, which the lines then say."""
        filled = [*self.links, *self.flows, self.total]
        if not all(line.is_valid() for line in filled) or self.other_errors or not self.flows:
            return None
        segments = [line.segment() for line in self.links]
        names = [segment.name for segment in segments]
        flows = [line.flow_over(names) for line in self.flows]
        try:
            return chain_shares(segments, flows, transfer_bytes=self.transfer_bytes)
        except InvalidValue as error:
            self._report(error)
            return None

    @property
    def transfer_bytes(self) -> int | None:
        """Bytes to move, None = nothing stated."""
        move = self.total.cleaned_data["move"]
        return None if move is None else int(move * MB)

    def _report(self, error: InvalidValue) -> None:
        """Puts a refusal beside the field of the line that its pointer names."""
        sort, index, field = error.field.split("/")[1:4]
        lines: Sequence[ChainLine] = self.links if sort == "links" else self.flows
        lines[int(index)].refuse(InvalidValue(f"/{field}", error.detail))

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


def _lines(given: Given, names: Sequence[str]) -> list[dict[str, str]]:
    """The values of each line: those at its place under each name."""
    count = max((len(given.get(name, ())) for name in names), default=0)
    return [
        {name: given[name][index] for name in names if index < len(given.get(name, ()))}
        for index in range(count)
    ]
