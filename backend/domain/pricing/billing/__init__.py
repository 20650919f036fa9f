"""What running servers cost under each billing rule: pure functions of server lifetimes.

Amounts are exact (fractions of Decimal inputs) and are rounded by nobody here. Times are whole
seconds of UTC since 1970. `rules.RULES` is the table of all rules by name.
"""
