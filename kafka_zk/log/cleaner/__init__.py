"""Compaction: the latest record of each key stays, the others go."""
