"""Validates a produced batch before its append, and describes the result."""
