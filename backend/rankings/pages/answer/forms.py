"""The one line that asks what is needed."""

from collections.abc import Iterable, Sequence, Set

from django import forms

from backend.rankings.selectors.answer import CHEAPEST, GOALS, NEEDS, OPTIONS, VALUE
from backend.site import state, words
from backend.site.basis_form import BasisForm
from backend.site.forms import with_chosen
from backend.site.language import _, lazy

GOAL_WORDS = {VALUE: lazy("Best value"), CHEAPEST: lazy("Lowest price")}
NUMBER = {"inputmode": "decimal", "placeholder": lazy("any")}


class NeedForm(BasisForm):
    """Size, part of the world, budget and metric; every other parameter belongs to the ranking."""

    names = frozenset({*NEEDS, *OPTIONS, "region_group", "currency", "period", "metric"})

    def __init__(
        self,
        params: state.Params,
        *,
        currencies: Sequence[str],
        scored: Set[str],
        errors: Iterable[tuple[str, str]] = (),
    ) -> None:
        super().__init__(
            params,
            currencies=currencies,
            scored=scored,
            more={
                "goal": (_("Looking for"), {}),
                "vcpu": (_("Min. vCPUs"), NUMBER),
                "ram": (_("Min. memory (GiB)"), NUMBER),
                "region_group": (_("Region"), {}),
                "budget": (_("Max. price"), NUMBER),
            },
            errors=errors,
        )
        # The line asks for a size and a budget; the term belongs to the ranking's own form.
        del self.fields["term"]
        groups = [("", _("Anywhere")), *words.REGION_GROUPS.items()]
        chosen = state.value(params, "region_group")
        # An address may ask for a region that the form does not offer; a menu without it would show
        # another.
        if chosen not in dict(groups):
            groups.append((chosen, words.category("region_group", chosen)))
        self.fields["region_group"].widget = forms.Select(choices=groups)
        goal = state.value(params, "goal") or VALUE
        self.fields["goal"].widget = forms.Select(
            choices=with_chosen([(code, GOAL_WORDS[code]) for code in GOALS], goal)
        )
        self.order_fields(
            ["goal", "vcpu", "ram", "region_group", "budget", "currency", "period", "metric"]
        )
