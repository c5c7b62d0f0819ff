"""Declared configuration: what may be set, what it means when it is not, and who reads it."""
