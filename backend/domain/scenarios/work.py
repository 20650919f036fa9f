"""How much a scenario asks to be reckoned, told from its document before anything is."""

from collections.abc import Mapping
from typing import Any

from backend.domain.errors import InvalidDocument
from backend.domain.pricing.billing.lifetimes import DAY_S
from backend.domain.scenarios.policies import pace
from backend.domain.scenarios.reading import exact
from backend.domain.scenarios.uncertainty import GRID

MOST_WORK = 120_000_000
"""Steps of all options and passes; a year of minutes for 200 offers is 105,120,000."""


def check_work(document: object) -> None:
    """Raises InvalidDocument for more work than MOST_WORK."""
    if not isinstance(document, Mapping):
        return
    steps, options, passes = _steps(document), _options(document), _passes(document)
    if steps * options * passes > MOST_WORK:
        detail = (
            f"{steps:,} steps × {options:,} options × {passes:,} passes are more than "
            f"{MOST_WORK:,}: take longer steps, fewer options or no uncertainty"
        )
        raise InvalidDocument([("/horizon/step_s", detail)])


def _object(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    return value if isinstance(value, Mapping) else {}


def _options(document: Mapping[str, Any]) -> int:
    options = document.get("options")
    return len(options) if isinstance(options, list | tuple) else 0


def _steps(document: Mapping[str, Any]) -> int:
    """Steps of the horizon, a month taken for 31 days; 0 where the document does not say."""
    horizon = _object(document, "horizon")
    length_s = exact(horizon.get("step_s", 60))
    days = exact(horizon.get("days")) or (exact(horizon.get("months")) or 0) * 31
    return int(days * DAY_S / length_s) if length_s and length_s > 0 and days > 0 else 0


def _passes(document: Mapping[str, Any]) -> int:
    """How often each option is run: as stated, and on a grid of each input that is uncertain."""
    uncertainty, policy = _object(document, "uncertainty"), _object(document, "policy")
    grids = bool(uncertainty) + bool(uncertainty.get("boot_cv") and policy.get("warmup_s"))
    kind = policy.get("kind")
    return (1 + 2 * GRID * grids) * (pace(kind) if isinstance(kind, str) else 1)
