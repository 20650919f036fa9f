"""A search over everything that has a page; above the apps whose rows it reads."""
