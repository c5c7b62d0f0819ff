"""Delegation tokens: short-lived secrets that log their owner in."""
