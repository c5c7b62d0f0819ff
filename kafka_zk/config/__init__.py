"""Declared configuration: keys, defaults, validation, and who reads each key."""
