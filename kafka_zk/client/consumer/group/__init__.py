"""Membership of a consumer group: the coordinator, rebalances, committed positions."""
