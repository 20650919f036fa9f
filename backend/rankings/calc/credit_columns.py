"""Scores and charges of many machines with CPU credits (measure.credits) under load."""

from typing import TypeVar

import numpy as np

from backend.money.amounts import Floats

FloatOrArray = TypeVar("FloatOrArray", float, Floats)


def ratios_without_credits(
    scores: Floats, vcpus: Floats, baselines: Floats, scores_per_vcpu: Floats
) -> Floats:
    """The shares of measured scores that machines hold under load without credits; NaN is unknown.

    A machine holds min(measured, baseline × vCPU × score per vCPU at full speed): a figure that was
    slowed already is not slowed twice. `baselines` are shares of each vCPU.
    """
    at_baseline = baselines * vcpus * scores_per_vcpu
    return np.minimum(1.0, np.where(np.isnan(at_baseline), baselines, at_baseline / scores))


def surplus_per_hour(
    vcpus: FloatOrArray, baselines: FloatOrArray, prices_per_vcpu_hour: FloatOrArray
) -> FloatOrArray:
    """The charge for an hour of full load in the mode "unlimited"."""
    return (1.0 - baselines) * vcpus * prices_per_vcpu_hour
