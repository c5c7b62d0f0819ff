"""Following: fetch from the leader, truncate where histories differ, append what is missing."""
