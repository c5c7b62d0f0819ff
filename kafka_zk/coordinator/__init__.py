"""Who keeps groups and producers in order: the group coordinator, and producer ids for idempotence."""
