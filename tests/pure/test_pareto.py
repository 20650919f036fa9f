from hypothesis import given
from hypothesis import strategies as st

from backend.rankings.calc.pareto import pareto_indexes

points = st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=30)


def test_undominated_keeps_equal_points_and_sorts_by_the_first_coordinate():
    # (2, 1) beats (3, 1) in cost; (1, 2) and (2, 1) each win in one coordinate.
    assert pareto_indexes([(3, 1), (2, 1), (1, 2), (2, 1)]) == [2, 1, 3]


@given(points)
def test_undominated_equals_the_definition_by_brute_force(points):
    def dominates(one, other):
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    front = [i for i, mine in enumerate(points) if not any(dominates(p, mine) for p in points)]
    assert pareto_indexes(points) == sorted(front, key=lambda i: (points[i], i))
