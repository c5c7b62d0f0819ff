"""Quotas and credentials."""
