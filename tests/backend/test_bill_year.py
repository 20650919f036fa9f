"""A year of hourly lines whose truth is known, in a smaller form than `./rackrate bench bills`."""

from tests.bench.bills import generate, read

HOURLY_LINES = 30
LINES = HOURLY_LINES * 8_760


def test_year_of_lines_gives_its_truth_exactly(tmp_path):
    path = tmp_path / "year.csv"
    truth = generate(path, LINES)
    assert truth["unreadable"] == [1, [250_001]]
    measured = read(path)
    for name, expected in truth.items():
        assert measured["answer"][name] == expected, name
