"""What prices ask for as arrays, against the quotes that they are made of."""

from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.catalog.selectors.price_choice import Quote
from backend.money.pricing.effective import Charge
from backend.rankings.selectors.coded import CodedBuilder
from backend.rankings.selectors.quote_column import QuoteColumn

AMOUNTS = st.sampled_from(
    [Decimal(text) for text in ("0.1", "0.10", "1E-18", "1E+2", "100", "0", "7.000000000000000001")]
)
CHARGES = st.builds(
    Charge,
    AMOUNTS,
    st.sampled_from(("hour", "month")),
    st.sampled_from(("", "1y")),
    st.none() | AMOUNTS,
    st.none() | AMOUNTS,
    st.sampled_from(("", "n1")),
)
QUOTES = st.lists(st.builds(Quote, CHARGES, st.sampled_from(("USD", "EUR")), st.booleans()))


def column(quotes: list[Quote]) -> QuoteColumn:
    built = CodedBuilder()
    for quote in quotes:
        built.append(quote)
    return QuoteColumn.of(built.coded())


def same(made: QuoteColumn, quotes: list[Quote]) -> bool:
    """Whether rows are these quotes, exactly and as arrays have them."""
    read = [made.value(row) for row in range(len(quotes))]
    amounts = made.charges.amount[made.codes].tolist()
    return (
        read == quotes
        and amounts == [float(quote.charge.amount) for quote in quotes]
        and made.meets(lambda shape: shape.is_tax_unknown).tolist()
        == [quote.is_tax_unknown for quote in quotes]
        and made.meets(lambda shape: shape.has_setup).tolist()
        == [bool(quote.charge.setup_amount) for quote in quotes]
    )


@given(QUOTES)
def test_rows_are_the_quotes_that_they_were_made_of(quotes: list[Quote]) -> None:
    assert same(column(quotes), quotes)
    backwards = column(quotes).at(np.arange(len(quotes))[::-1])
    assert same(backwards, quotes[::-1])


@given(QUOTES, QUOTES)
def test_columns_follow_each_other_and_keep_each_quote_once(
    first: list[Quote], second: list[Quote]
) -> None:
    # Rows are taken out of a table before others come.
    kept = column(first).at(np.arange(0, len(first), 2))
    both = kept.concat(column(second))
    assert same(both, first[::2] + second)
    # Of one that is written in two ways there may be two.
    written = {repr(quote) for quote in first + second}
    assert len(set(first[::2] + second)) <= len(both.amounts) <= len(written)


def test_amount_is_read_as_it_was_written() -> None:
    quote = Quote(Charge(Decimal("1.50"), "hour", "1y", Decimal("2.0")), "USD", False)
    charge = column([quote]).value(0).charge
    assert (str(charge.amount), str(charge.setup_amount)) == ("1.50", "2.0")
    assert charge.monthly_cap is None
