"""Serving: what clients and followers ask of a led partition, and those of them who wait."""
