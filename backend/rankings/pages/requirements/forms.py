"""The form of a requirement. It shows what was typed; the reader of the document judges it."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from django import forms
from django.utils.safestring import SafeString

from backend.catalog.models import OfferKind
from backend.catalog.selectors.price_choice import TERMS
from backend.foundation.units import HOURS_PER_MONTH
from backend.measure.metrics import METRICS
from backend.rankings.calc.fleets import Rule, rule_of
from backend.rankings.selectors.parameters import RANKING_METRICS
from backend.rankings.selectors.requirement_document import target_pairs
from backend.site import state, words
from backend.site.forms import with_chosen
from backend.site.language import _, lazy

# Lines for targets in an empty form; a filled one has a free line more.
LINES = 2
RULES = {
    Rule.TOTAL: lazy("all servers together"),
    Rule.AT_LEAST: lazy("each at least"),
    Rule.AT_MOST: lazy("each at most"),
}
Errors = Iterable[tuple[str, str]]


def _number(label: str, help_text: str = "", **attributes: str) -> forms.CharField:
    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off", **attributes})
    return forms.CharField(required=False, label=label, help_text=help_text, widget=widget)


class _Choices(forms.MultipleChoiceField):
    """Boxes to tick; what is none of them is refused by the reader of the document."""

    def valid_value(self, value: str) -> bool:
        # Django's own refusal would stand beside that of the document's reader, in other words.
        return True


@dataclass(frozen=True)
class TargetLine:
    """A target: the choice of the metric, its amount, and what is wrong with it."""

    number: int
    metric: SafeString
    amount: SafeString
    errors: Sequence[str]


class RequirementForm(forms.Form):
    """Targets as `lines`, sizes, limits and the terms of the price."""

    vcpu = _number(lazy("vCPUs"), lazy("All servers together."))
    ram_gib = _number(lazy("Memory, GiB"), lazy("All servers together."))
    disk_gb = _number(lazy("Disk, GB"), lazy("All servers together; what is missing is bought."))
    egress_gb_per_month = _number(lazy("Traffic out, GB per month"), lazy("Total to the internet."))
    max_servers = _number(lazy("Servers at most"), inputmode="numeric")
    hours_per_month = _number(lazy("Hours per month"), placeholder=str(HOURS_PER_MONTH))
    currency = forms.CharField(required=False, label=lazy("Currency"))
    term = forms.CharField(required=False, label=lazy("Payment option"))
    kinds = _Choices(
        required=False,
        label=lazy("Kinds of server (none chosen: all)"),
        choices=[(kind, words.kind(kind)) for kind in OfferKind.values],
        widget=forms.CheckboxSelectMultiple,
    )
    region_group = forms.CharField(required=False, label=lazy("Region"))
    burstable = forms.BooleanField(
        required=False, label=lazy("Include burstable types, which cannot hold their speed")
    )
    mixed = forms.BooleanField(required=False, label=lazy("Mix several types in one fleet"))

    numbers = ("vcpu", "ram_gib", "disk_gb", "egress_gb_per_month", "max_servers")
    terms = ("region_group", "hours_per_month", "currency", "term")

    def __init__(
        self,
        given: state.Params,
        *,
        currencies: Sequence[str],
        scored: Set[str],
        metric: str,
        errors: Errors = (),
    ) -> None:
        values = {name: given.get(name, [""])[-1] for name in (*self.numbers, *self.terms)}
        values["currency"] = values["currency"].upper() or "USD"
        values["term"] = values["term"] or state.DEFAULTS["term"]
        # An address of the API has them with commas, a form as a field for each.
        kinds = [word for text in given.get("kinds", []) for word in text.split(",") if word]
        ticks = {
            name: given.get(name, [""])[-1].lower() in {"1", "true", "on"}
            for name in ("mixed", "burstable")
        }
        data = {**values, "kinds": kinds, **ticks}
        super().__init__(data=data, auto_id="%s", label_suffix="")
        offered = {
            "currency": [(code, code) for code in currencies],
            "term": [(code, words.term(code)) for code in TERMS],
            "region_group": [("", _("Anywhere")), *words.REGION_GROUPS.items()],
        }
        for name, choices in offered.items():
            self.fields[name].widget = forms.Select(choices=with_chosen(choices, values[name]))
        self.other_errors: list[tuple[str, str]] = []
        wrong: dict[str, list[str]] = {}
        self.full_clean()
        for pointer, detail in errors:
            self._show_error(pointer, detail, wrong)
        self.lines = _lines(target_pairs(given), wrong, scored, metric)

    def _show_error(self, pointer: str, detail: str, wrong: dict[str, list[str]]) -> None:
        """Puts an error beside the field that its pointer names."""
        parts = pointer.split("/")[1:]
        name = parts[0] if parts else ""
        if name in self.fields:
            self.add_error(name, detail)
        elif name == "targets":
            wrong.setdefault(parts[1] if len(parts) > 1 else "", []).append(detail)
        else:
            name = parts[1] if name == "filters" and len(parts) > 1 else name
            self.other_errors.append((words.parameter(name)[1], detail))

    def chosen(self, names: Sequence[str]) -> list[forms.BoundField]:
        return [self[name] for name in names]

    @property
    def number_fields(self) -> list[forms.BoundField]:
        """Sizes and limits."""
        return self.chosen(self.numbers)

    @property
    def term_fields(self) -> list[forms.BoundField]:
        """Fields for the basis of the prices."""
        return self.chosen(self.terms)


def _lines(
    pairs: Sequence[tuple[str, str]], wrong: Mapping[str, list[str]], scored: Set[str], first: str
) -> list[TargetLine]:
    free = max(1, LINES - len(pairs))
    typed = [*pairs, *[("", "")] * free]
    # A metric to begin with: an empty menu would not say what a target is.
    if not pairs:
        typed[0] = (first, "")
    # What is wrong with the targets as such belongs to the amount without a metric, if there is one.
    flagged = next((n for n, (metric, amount) in enumerate(typed) if amount and not metric), 0)
    lines = []
    for number, (metric, amount) in enumerate(typed):
        errors = [*wrong.get("", ())] if number == flagged else []
        errors += wrong.get(metric, ()) if metric and amount else ()
        shown = _input(amount, number + 1, is_wrong=bool(errors))
        lines.append(TargetLine(number + 1, _select(metric, number + 1, scored), shown, errors))
    return lines


def _select(metric: str, number: int, scored: Set[str]) -> SafeString:
    # A target without any figure would exclude every server.
    offered = [key for key in RANKING_METRICS if key in scored or key == metric]
    choices = [("", _("choose a metric")), *((key, _metric_words(key)) for key in offered)]
    # What was typed stays visible beside its error, also a metric that is none.
    widget = forms.Select(choices=with_chosen(choices, metric))
    return widget.render("target", metric, attrs={"id": f"target_{number}"})


def _metric_words(key: str) -> str:
    """Metric with its unit, and whether servers reach it together."""
    metric = METRICS[key]
    return f"{metric.label}: {metric.unit}, {RULES[rule_of(metric)]}"


def _input(amount: str, number: int, *, is_wrong: bool) -> SafeString:
    name = f"amount_{number}"
    attributes = {"id": name, "inputmode": "decimal", "autocomplete": "off"}
    if is_wrong:
        attributes |= {"aria-invalid": "true", "aria-describedby": f"{name}_error"}
    return forms.TextInput(attrs=attributes).render("amount", amount)
