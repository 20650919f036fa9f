"""Fields that only forms send, folded into the parameters that every other door understands.

where=vcpu>=4 price<300   → vcpu__gte=4, price__lt=300
provider=aws&not=provider → provider!=aws
sort=price&also=-score    → sort=price,-score
w.cmips_score=2           → weights=cmips_score:2
at=provider=aws%26q=x        is the list on which boxes were ticked: provider=aws, q=x
open=mix                     has a panel of the form drawn, which is left out else
remember=1                   is for the cookie of the columns, and says nothing of the list
"""

from collections.abc import Mapping, Sequence

from django.http import QueryDict

from backend.rankings.pages.ranking.conditions import conditions
from backend.rankings.selectors.parameters import canonical_names
from backend.site import state

WEIGHT = "w."
NAMES = frozenset({"where", "not", "also", "at", "open", "remember"})


def is_form_only(name: str) -> bool:
    """True if a field is none of the vocabulary of pages and API."""
    return name in NAMES or name.startswith(WEIGHT)


def fold(given: Mapping[str, Sequence[str]]) -> tuple[state.Params, list[tuple[str, str]]]:
    """The parameters that all fields ask for together, and what is wrong with a field.

    Conditions in error are left out as a whole.
    """
    # Without scripts a box cannot change the form's address, so the list travels as a field of its own.
    at = QueryDict("&".join(given.get("at", [])))
    own = {n: values for n, values in canonical_names(given).items() if not is_form_only(n)}
    # What the form states itself comes later and wins over the list that it was drawn on.
    params = {name: values for name, values in at.lists() if not is_form_only(name)} | own
    errors: list[tuple[str, str]] = []
    try:
        for name, text in conditions(" ".join(given.get("where", []))).items():
            params[name] = [text]
    except ValueError as error:
        errors.append(("where", str(error)))
    _turn_round(params, given.get("not", []))
    _weigh(params, given)
    for key in filter(None, map(str.strip, given.get("also", []))):
        sort = state.value(params, "sort") or state.DEFAULTS["sort"]
        params["sort"] = [state.with_key(sort, key)]
    return params, errors


def _turn_round(params: state.Params, names: Sequence[str]) -> None:
    """Ticks of a menu that is set to `all but these`."""
    for name in names:
        if name in state.CATEGORIES and state.values(params, name):
            params[f"{name}!"] = params.pop(name)
            # Empty and not missing: missing would leave the values of a saved view in force.
            params[name] = [""]


def _weigh(params: state.Params, given: Mapping[str, Sequence[str]]) -> None:
    """Weights of a form; it shows every metric, so one that it leaves blank has none."""
    names = [name for name in given if name.startswith(WEIGHT)]
    if names:
        stated = [(name.removeprefix(WEIGHT), given[name][-1].strip()) for name in names]
        params["weights"] = [",".join(f"{key}:{weight}" for key, weight in stated if weight)]
