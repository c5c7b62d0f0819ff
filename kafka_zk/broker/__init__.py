"""One broker: its parts put together, the order in which they start and stop."""
