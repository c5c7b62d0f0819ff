"""The files of one log: segments, written, rolled, truncated, removed and synced."""
