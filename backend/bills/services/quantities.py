"""Quantities in units of several hours: hours, or blocks of them."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from backend.bills.calc.classes import hours_of_unit
from backend.bills.calc.periods import DAY, LONGEST_H
from backend.bills.services.amounts import money

# Hours cost at most this share of their quantity × the price of a block, times the size of the block;
# blocks cost more, unless a discount leaves less than a tenth.
MOST_OF_HOURS = 1.1


def is_in_hours(columns: Mapping[str, pa.Array], quantity: pa.Array, billed: pa.Array) -> pa.Array:
    """True by line where a unit such as "10 Hours" has a quantity of hours and not of blocks.

    Exports of Azure differ. Where a line has no price, a machine decides that cannot run for longer than
    its day; lines that leave it open follow the others of their file.
    """
    units = pc.dictionary_encode(columns["unit"])
    sizes = [hours_of_unit(unit) for unit in units.dictionary.to_pylist()]
    size = pa.array(sizes, pa.float64()).take(units.indices)
    is_block = pc.greater(size, 1)
    if not pc.any(is_block).as_py():
        return is_block
    amount = pc.cast(quantity, pa.float64())
    is_hours = pa.nulls(len(amount), pa.bool_())
    if "unit_price" in columns:
        listed = pc.multiply(amount, pc.cast(money(columns["unit_price"]), pa.float64()))
        cost = pc.cast(billed, pa.float64())
        is_priced = pc.and_(pc.greater(cost, 0), pc.greater(listed, 0))
        share = pc.divide(cost, pc.if_else(is_priced, listed, 1.0))
        is_hours = pc.if_else(is_priced, pc.less(pc.multiply(share, size), MOST_OF_HOURS), None)
    if "resource" in columns:
        day = LONGEST_H[DAY]
        fits = pc.and_(pc.greater(pc.multiply(amount, size), day), pc.less_equal(amount, day))
        fits = pc.and_(fits, pc.not_equal(columns["resource"], ""))
        is_hours = pc.coalesce(is_hours, pc.if_else(fits, True, None))
    others = pc.any(pc.and_(is_block, pc.fill_null(is_hours, False))).as_py()
    return pc.and_(is_block, pc.fill_null(is_hours, others))
