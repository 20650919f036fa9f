"""The document of a requirement that the parameters of an address stand for."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.rankings.calc.requirement_document import MOST_SERVERS, RequirementDocument

# A list of fleets has no place for the offers that cannot do it.
FIELDS = tuple(name for name in RequirementDocument.model_fields if name != "infeasible_limit")

Params = Mapping[str, Sequence[str]]


def document_from(params: Params) -> dict[str, Any]:
    """The document that parameters of an address stand for; what is no field of it is a filter.

    `target` is metric:amount, or a metric whose amount is the value of `amount` at the same position;
    several, also separated by commas.
    """
    last = {name: values[-1].strip() for name, values in params.items() if values}
    document: dict[str, Any] = {
        name: last[name] for name in FIELDS if last.get(name) and name not in {"targets", "filters"}
    }
    kinds = [part.strip() for value in params.get("kinds", ()) for part in value.split(",")]
    document["kinds"] = [kind for kind in kinds if kind]
    for name in ("region", "region_group"):
        document[name] = [value for value in params.get(name, ()) if value.strip()]
    for name in document.keys() & {"mixed", "burstable"}:
        words = {"1": True, "true": True, "on": True, "0": False, "false": False}
        document[name] = words.get(document[name].lower(), document[name])
    for name in ("max_servers", "limit"):
        text = document.get(name, "")
        if text.isascii() and text.isdigit() and len(text) <= len(str(MOST_SERVERS)):
            document[name] = int(text)
    document["targets"] = dict(target_pairs(params))
    document["filters"] = {
        name: [value for value in values if value.strip()]
        for name, values in params.items()
        if name not in {*FIELDS, "target", "amount"}
    }
    return document


def target_pairs(params: Params) -> list[tuple[str, str]]:
    """(metric, amount) of each target as typed; a metric without an amount is left out."""
    amounts = list(params.get("amount", ()))
    pairs = []
    for index, value in enumerate(params.get("target", ())):
        beside = amounts[index].strip() if index < len(amounts) else ""
        for part in value.split(","):
            metric, colon, amount = (word.strip() for word in part.partition(":"))
            if colon or beside:
                pairs.append((metric, amount if colon else beside))
    return pairs
