"""One folder a provider; modules directly in here are shared by all of them."""
