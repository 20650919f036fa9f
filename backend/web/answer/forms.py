"""The one line that asks what is needed."""

from collections.abc import Iterable, Sequence

from django import forms

from backend.rankings.selectors.answer import NEEDS
from backend.web.shared import state, words
from backend.web.shared.basis_form import BasisForm
from backend.web.shared.language import _, lazy

NUMBER = {"inputmode": "decimal", "placeholder": lazy("any")}


class NeedForm(BasisForm):
    """Size, part of the world, budget and metric; every other parameter belongs to the ranking."""

    names = frozenset({*NEEDS, "region_group", "currency", "period", "metric"})

    def __init__(
        self,
        params: state.Params,
        *,
        currencies: Sequence[str],
        errors: Iterable[tuple[str, str]] = (),
    ) -> None:
        super().__init__(
            params,
            currencies=currencies,
            more={
                "vcpu": (_("At least, vCPU"), NUMBER),
                "ram": (_("At least, GiB"), NUMBER),
                "region_group": ("In", {}),
                "budget": (_("At most"), NUMBER),
            },
            errors=errors,
        )
        # The line asks for a size and a budget; the term belongs to the ranking's own form.
        del self.fields["term"]
        groups = [("", _("the world")), *words.REGION_GROUPS.items()]
        chosen = state.value(params, "region_group")
        # An address may ask for a region that the form does not offer; a menu without it would show
        # another.
        if chosen not in dict(groups):
            groups.append((chosen, words.category("region_group", chosen)))
        self.fields["region_group"].widget = forms.Select(choices=groups)
        self.order_fields(["vcpu", "ram", "region_group", "budget", "currency", "period", "metric"])
