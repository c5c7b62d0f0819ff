"""Consumer lag: exact, on the broker that has the records."""
