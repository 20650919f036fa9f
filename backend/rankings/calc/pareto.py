"""Pareto fronts: what nothing else beats."""

from collections.abc import Sequence
from operator import le
from typing import Any


def pareto_indexes(points: Sequence[tuple[Any, ...]]) -> list[int]:
    """Indexes of the points that no other one dominates, in ascending order of the points.

    Lower is better in every coordinate. One point dominates another when it is nowhere higher and
    somewhere lower, so equal points stay or go together.
    """
    front: list[tuple[Any, ...]] = []
    indexes: list[int] = []
    # In this order a point can only be dominated by one before it.
    for index in sorted(range(len(points)), key=points.__getitem__):
        point = points[index]
        for position, other in enumerate(front):
            if all(map(le, other, point)):
                if other == point:
                    indexes.append(index)
                # What dominates one point often dominates the next.
                front.insert(0, front.pop(position))
                break
        else:
            front.append(point)
            indexes.append(index)
    return indexes
