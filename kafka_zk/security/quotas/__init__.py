"""Client quotas: limits per user and client id, and throttling."""
