"""Terms of a price, the months that bills are cut by, and the tables of discounts and tiers.

The rules themselves are in `scenarios.calc.bills`; tests/oracles/billing has each a second time,
for single servers.
"""
