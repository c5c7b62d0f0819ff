"""Client quotas: how much a user or client may use, and how long it waits when that was more."""
