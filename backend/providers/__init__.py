"""A folder per provider; modules directly in here are shared by all of them."""
