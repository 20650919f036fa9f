"""Demand over time → servers → bill, for many offers and plans from one trajectory.

Arrays have one entry a step. Demand is float64; servers are the smallest unsigned integers that
hold them; money is exact (fractions of Decimal inputs) until it is shown.
"""
