"""Reads ranges of offsets planned beforehand: no group, no subscription, no reset."""
