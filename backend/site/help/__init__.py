"""The parts of the site and the meaning of its words."""
