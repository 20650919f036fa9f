"""The form above the ranking. It shows what is in force; the ranking's own parser judges it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from django import forms

from backend.catalog.selectors.price_choice import TERMS
from backend.rankings.pages.ranking.remembered import remember
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.listing import value_counts
from backend.rankings.selectors.parameters import RANKING_METRICS
from backend.rankings.selectors.query import CONTRACT
from backend.rankings.selectors.ranking import Ranking
from backend.site import columns, state, words
from backend.site.forms import with_chosen
from backend.site.language import _, lazy
from backend.site.metric_field import MetricSelect, metrics_offered

Choices = list[tuple[str, str]]
Errors = Mapping[str, str]

MAIN_MENUS = ("provider", "kind", "region_group")
MORE_MENUS = ("region", "vcpu_kind", "arch", "disk_kind", "source", "price_term", "flags")
# Of a menu; the rarest beyond them are asked for in the conditions box.
MOST_OPTIONS = 60
BASIS = ("list", CONTRACT, "disk", "ip", "egress")
BASIS_WORDS = {
    "list": (lazy("List price, without automatic discounts"), ""),
    CONTRACT: (lazy("After the discounts of your contract"), ""),
    "disk": (lazy("Disk, total"), "GB"),
    "ip": (lazy("Public IPv4"), "addresses"),
    "egress": (lazy("Traffic out"), lazy("GB per month")),
}


class RankingForm(forms.Form):
    """Selectors and search; every field is text, so that only one place judges values."""

    metric = forms.CharField(required=False, label=lazy("Metric"))
    period = forms.CharField(required=False, label=lazy("Cost per"))
    currency = forms.CharField(required=False, label=lazy("Currency"))
    term = forms.CharField(required=False, label=lazy("Payment option"))
    hours_per_month = forms.CharField(
        required=False,
        label=lazy("Hours per month"),
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
    )
    q = forms.CharField(
        required=False,
        label=lazy("Search"),
        widget=forms.TextInput(
            attrs={
                "type": "search",
                "placeholder": lazy("name, region, CPU…"),
                "autocomplete": "off",
            }
        ),
    )
    measured = forms.CharField(required=False, label=lazy("Measured here"))

    def __init__(
        self,
        params: state.Params,
        *,
        currencies: Sequence[str],
        scored: Set[str],
        errors: Errors | None = None,
    ) -> None:
        # As data and not as initial values: what is in force may be in error, and has to show both.
        values = {name: state.value(params, name) for name in self.base_fields}
        super().__init__(data=values, auto_id="%s", label_suffix="")
        choices: dict[str, Choices] = {
            "period": [(name, name) for name in ("hour", "month", "year")],
            "currency": [(code, code) for code in currencies],
            "term": [(code, words.term(code)) for code in TERMS],
            "measured": [("any", "any"), ("1", "yes"), ("0", _("no, published"))],
        }
        for name, offered in choices.items():
            # A select over a text field: a ChoiceField would judge the value a second time, in
            # other words.
            self.fields[name].widget = forms.Select(choices=with_chosen(offered, values[name]))
        self.fields["metric"].widget = MetricSelect(scored, values["metric"])
        self.full_clean()
        for name, detail in (errors or {}).items():
            # Others are beside fields that templates draw by themselves.
            if name in self.fields:
                self.add_error(name, detail)


# --- menus of categories ----------------------------------------------------------------------


@dataclass(frozen=True)
class MenuOption:
    """A value of a category, and how many offers have it under the other filters."""

    code: str
    label: str
    count: int
    is_on: bool


@dataclass(frozen=True)
class Menu:
    """The values of one category; `is_not`: those that are ticked are left out."""

    name: str
    label: str
    options: Sequence[MenuOption]
    is_not: bool

    @property
    def summary(self) -> str:
        """The choice, for the closed menu."""
        chosen = ", ".join(str(option.label) for option in self.options if option.is_on)
        if not chosen:
            return _("All")
        return _("not {chosen}", chosen=chosen) if self.is_not else chosen


def menus(names: Iterable[str], params: state.Params, ranked: Ranking) -> list[Menu]:
    """Menus with the values that the rows hold, and those in force even when no row has them."""
    return [_menu(name, params, ranked) for name in names]


def _counts(name: str, ranked: Ranking) -> Counter[str]:
    counts: Counter[str] = Counter()
    # Of whole cells first: there are thousands of rows and few different cells.
    for cell, count in value_counts(ranked.rows, name).items():
        for code in (cell or "").split() if name == "flags" else [cell] if cell else []:
            counts[code] += count
    return counts


def _menu(name: str, params: state.Params, ranked: Ranking) -> Menu:
    counts = remember(ranked, ("counts", name), lambda: _counts(name, ranked))
    # A menu shows one of both; where an address has both, the values that are asked for.
    is_not = name not in params and f"{name}!" in params
    chosen = dict.fromkeys(state.values(params, f"{name}!" if is_not else name), 0)
    offered = {code for code, _ in counts.most_common(MOST_OPTIONS)} | set(chosen)
    options = [
        MenuOption(code, words.category(name, code), counts[code], code in chosen)
        # By code, so that a box keeps its place when counts change.
        for code in sorted(offered)
    ]
    return Menu(name, COLUMN[name].filter_label, options, is_not)


# --- bounds, basis and weights ----------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """The fields of both bounds of a column."""

    name: str
    label: str
    kind: str
    low: str
    high: str
    low_error: str
    high_error: str


def ranges(params: state.Params, errors: Errors) -> list[tuple[str, list[Range]]]:
    """Groups of columns with a field for each bound."""
    return [
        (title, [_range(name, params, errors) for name in names]) for title, names in columns.BOUNDS
    ]


def _range(name: str, params: state.Params, errors: Errors) -> Range:
    low, high = f"{name}__gte", f"{name}__lte"
    return Range(
        name=name,
        label=COLUMN[name].filter_label,
        kind="decimal" if COLUMN[name].kind.is_numeric else "text",
        low=state.value(params, low),
        high=state.value(params, high),
        low_error=errors.get(low, ""),
        high_error=errors.get(high, ""),
    )


@dataclass(frozen=True)
class BasisPart:
    """Something that a price may hold beside the machine; `amount_name` is empty for none."""

    code: str
    label: str
    unit: str
    is_on: bool
    amount_name: str
    amount: str
    error: str


def basis_parts(params: state.Params, errors: Errors, *, may_write: bool) -> list[BasisPart]:
    """Parts of a price to choose from, and those asked for; a contract only for who may see it."""
    included = state.values(params, "basis")
    amounts = state.AMOUNTS
    return [
        BasisPart(
            code=code,
            label=BASIS_WORDS[code][0],
            unit=BASIS_WORDS[code][1],
            is_on=code in included,
            amount_name=amounts.get(code, ""),
            amount=state.value(params, amounts.get(code, "")),
            error=errors.get(amounts.get(code, ""), ""),
        )
        for code in BASIS
        if may_write or code != CONTRACT
    ]


@dataclass(frozen=True)
class PriceField:
    """A figure that decides what a price comes to; `hint` stands in an empty field."""

    name: str
    label: str
    hint: str
    value: str
    error: str


PRICE_FIELDS = {
    "tax_rate": ("Tax (0.19 = 19%)", "net"),
    "hours_run": (lazy("Hours used per month"), "all"),
    "setup_months": (lazy("Set-up fee over months"), lazy("0 = not counted")),
}


def price_fields(params: state.Params, errors: Errors) -> list[PriceField]:
    """Tax, hours run and the months of a setup fee, as they are in force."""
    return [
        PriceField(name, label, hint, state.value(params, name), errors.get(name, ""))
        for name, (label, hint) in PRICE_FIELDS.items()
    ]


@dataclass(frozen=True)
class Weight:
    """The weight of one metric in a mix; empty for none."""

    key: str
    label: str
    weight: str


def weights(params: state.Params, scored: Set[str]) -> list[Weight]:
    """Every metric that can be part of a mix."""
    given = {
        key: weight or "1"
        for key, _, weight in (part.partition(":") for part in state.values(params, "weights"))
    }
    offered = [key for key in metrics_offered(scored, given) if key in RANKING_METRICS]
    keys = [*offered, *(key for key in given if key not in offered)]
    return [Weight(key, words.metric(key), given.get(key, "")) for key in keys]
