"""What the parts of the site are for, and what its words mean."""
