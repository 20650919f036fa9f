"""Short texts in one array answer as a list of them does."""

from hypothesis import given
from hypothesis import strategies as st

from backend.rankings.selectors.texts import Texts

SLUGS = st.text("abAB-_01", min_size=1, max_size=6)
ALL = st.lists(SLUGS, unique=True).map(sorted)


@given(ALL, SLUGS, SLUGS)
def test_texts_answer_as_a_list_does(slugs: list[str], asked: str, word: str) -> None:
    texts = Texts.of(slugs)
    assert list(texts) == slugs
    assert [texts[row] for row in range(len(texts))] == slugs
    assert list(texts[1:3]) == slugs[1:3]
    for slug in (*slugs, asked):
        row = texts.index_of_sorted(slug)
        assert row == (slugs.index(slug) if slug in slugs else None)
    word = word.lower()
    assert texts.containing(word).tolist() == [word in slug.lower() for slug in slugs]


def test_word_that_no_slug_can_hold_is_nowhere() -> None:
    assert Texts.of(["a-1", "b-2"]).containing("ü").tolist() == [False, False]
    assert Texts.of(["a-1", "b-2"]).index_of_sorted("a-1\0") is None
