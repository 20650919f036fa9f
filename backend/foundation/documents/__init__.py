"""Documents that go over the wire: one model gives reader, defaults, ranges, schema and words."""
