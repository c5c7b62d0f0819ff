"""A log's leader epochs and producer state, in memory and on disk."""
