"""CPU credits: what a burstable machine does once it has used up those that it earned.

In the mode "standard" it is slowed to its share. In the mode "unlimited" it runs on, and the provider
charges for it beside the price of the machine.
"""

from typing import TypeVar

import numpy as np

from backend.domain.amounts import Floats

STANDARD = "standard"
UNLIMITED = "unlimited"
CREDIT_MODES = (STANDARD, UNLIMITED)
FloatOrArray = TypeVar("FloatOrArray", float, Floats)


def credit_flag(mode: str) -> str:
    """The flag of figures that were measured in the mode, and of offers sold in it only."""
    return f"credit_{mode}"


CREDIT_FLAGS = frozenset(map(credit_flag, CREDIT_MODES))


def sustained_ratios(
    scores: Floats, vcpus: Floats, baselines: Floats, scores_per_vcpu: Floats
) -> Floats:
    """The shares of measured scores that machines hold under load without credits; NaN is unknown.

    A machine holds min(measured, baseline × vCPU × score per vCPU at full speed): a figure that was
    slowed already is not slowed twice. `baselines` are shares of each vCPU.
    """
    held = baselines * vcpus * scores_per_vcpu
    return np.minimum(1.0, np.where(np.isnan(held), baselines, held / scores))


def surplus_per_hour(
    vcpus: FloatOrArray, baselines: FloatOrArray, prices_per_vcpu_hour: FloatOrArray
) -> FloatOrArray:
    """The charge for an hour of full load in the mode "unlimited"."""
    return (1.0 - baselines) * vcpus * prices_per_vcpu_hour
