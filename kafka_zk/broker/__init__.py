"""Builds the broker out of its parts and keeps the order of start and stop."""
