"""How many examples a property gets whose every example writes to the database and reads it back."""

import hypothesis

# Each run draws others, so that what one run leaves out the next ones find.
FEW = hypothesis.settings().max_examples // 4
