"""The European Central Bank, which publishes exchange rates."""
